// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// What has been seen of a key and lists of several ids, as long as it stays open.
struct ListManners {
  /// It has found an id in a list.
  var areProved = false
  /// It overlooks ids in lists, or refuses them: it is asked for one id at a time.
  var areBad = false

  mutating func learn(from outcome: ListSearch.Outcome) {
    if outcome.provedLists { areProved = true }
    if outcome.mishandlesLists { areBad = true }
  }
}

/// What a registration or an assertion needs beside its request.
struct ListCeremony {
  let session: SecurityKey.Session
  let clientData: ClientData
  let plan: UserVerificationPlan
  let pin: PINSource
}

/// Lists of any length, on any key: which of many credentials is there is found out by silent probes, before a PIN or
/// a touch is asked for.
extension SecurityKey {
  /// The first of `ids` that is on the key, asked silently: no touch, no PIN. Nil only when the key has said of each of
  /// them that it is not there; an id longer than the key's own can be is not asked for. A key that is always to verify
  /// the person hides its credentials otherwise, so there the person is verified first, once.
  /// - Throws: ``SecurityKeyError``, or what `pin` throws.
  public func find(
    _ ids: [CredentialDescriptor], rpID: String, pin: PINProvider? = nil
  ) async throws -> CredentialDescriptor? {
    try await act { [self] in
      let session = try connect()
      guard let info = session.facts.info else {
        return try U2F(link: session.link).known(ids, SHA256.hash(Array(rpID.utf8)))
          .map { CredentialDescriptor(id: $0) }
      }
      let plan = try UserVerificationPlan.plan(info, .assert, .discouraged)
      let planner = planner(session, info)
      let size = probeSize(rpID, info)
      let probes = chunks(planner, planner.candidates(ids, baseSize: size), size)
      guard !probes.isEmpty else { return nil }
      guard info.isAlwaysVerifying else {
        let found = try search(probes, rpID, session, info)
        if let found { provenHere.insert(found) }
        return found
      }
      return try await withToken(plan, session, PINSource(pin), .getAssertion, rpID: rpID) { probe, _, token in
        try search(probes, rpID, session, info, token)
      }
    }
  }

  /// An assertion with a list of any length.
  func assert(
    _ request: AssertionRequest, _ ceremony: ListCeremony, hint: [UInt8]?
  ) async throws -> AssertionResponse {
    let session = ceremony.session
    guard let info = session.facts.info else { throw SecurityKeyError.fido2Needed }
    try freshTap(session)
    func ask(_ list: [CredentialDescriptor]) async throws -> AssertionResponse {
      var narrowed = request
      narrowed.allowList = list
      let (reply, prf) = try await verifying(
        ceremony.plan, session, ceremony.pin, usesProtocol: request.prfSalts != nil,
        sameKey: SameKey(rpID: request.rpID, credentials: list)
      ) { device, pin, builtIn in
        try device.getAssertion(
          narrowed, clientDataHash: ceremony.clientData.hash, pin: pin, builtInVerification: builtIn)
      }
      return try Self.response(reply, prf, ceremony.plan, ceremony.clientData, narrowed, session.facts)
    }
    // No list: whatever discoverable credential there is.
    guard !request.allowList.isEmpty else { return try await ask([]) }
    let planner = planner(session, info)
    let probeSize = probeSize(request.rpID, info)
    var ids = planner.candidates(request.allowList, baseSize: probeSize)
    if let hint, let place = ids.firstIndex(of: CredentialDescriptor(id: hint)) {
      // Another key of the model may sit in the same socket: nobody is asked for a PIN on the strength of a hint.
      let mustAsk = ceremony.plan == .pin && !info.isAlwaysVerifying && !provenHere.contains(ids[place])
      do {
        if !mustAsk { return try await ask([ids[place]]) }
        if let found = try search([[ids[place]]], request.rpID, session, info) {
          provenHere.insert(found)
          return try await ask([found])
        }
        throw SecurityKeyError.notOnThisKey
      } catch SecurityKeyError.notOnThisKey {
        hints.remember(nil, of: request.rpID, on: mark(session.facts))
        ids.remove(at: place)
      } catch let error as SecurityKeyError {
        guard mustAsk, error.isAboutTheRequest else { throw error }
      }
    }
    guard !ids.isEmpty else { throw SecurityKeyError.notOnThisKey }

    let plan = planner.plan(
      ids, ceremonySize: ListRequest.assertionSize(request), probeSize: probeSize,
      probesFirst: ceremony.plan == .pin && !info.isAlwaysVerifying || listManners.areBad && ids.count > 1)
    var probes = chunks(planner, ids, probeSize)
    // The key has said no to all of them at once, and is asked for each.
    var isDoubted = false
    if plan.isOutright {
      do {
        let response = try await ask(ids)
        if ids.count > 1 { listManners.areProved = true }
        return response
      } catch let error as SecurityKeyError where ids.count > 1 {
        if error == .notOnThisKey, trustsLists(session, info) {
          guard try overlooksInLists(ids, request.rpID, session, info) else { throw error }
        } else if error != .notOnThisKey, !error.isAboutTheList {
          throw error
        }
        probes = ids.map { [$0] }
        isDoubted = true
      }
    }
    if info.isAlwaysVerifying {
      let (found, response) = try await withToken(
        ceremony.plan, session, ceremony.pin, .getAssertion, rpID: request.rpID
      ) { probe, agreement, token in
        guard let found = try search(probes, request.rpID, session, info, token) else {
          throw SecurityKeyError.notOnThisKey
        }
        return (found, try assert(request, ceremony, probe, agreement, token, found))
      }
      if isDoubted { listManners.areBad = true }
      if let response { return response }
      return try await ask([found])
    }
    var found: CredentialDescriptor?
    do throws(SecurityKeyError) {
      found = try search(probes, request.rpID, session, info)
      if found == nil, probes.contains(where: { $0.count > 1 }), try overlooksInLists(ids, request.rpID, session, info)
      {
        found = try search(ids.map { [$0] }, request.rpID, session, info)
      }
    } catch {
      // A key that takes no probes is asked outright.
      guard error.isAboutTheRequest, plan.fitsOne else { throw error }
      return try await ask(ids)
    }
    guard let found else { throw SecurityKeyError.notOnThisKey }
    provenHere.insert(found)
    if isDoubted { listManners.areBad = true }
    return try await ask([found])
  }

  /// A registration with an exclude list of any length.
  func register(_ request: RegistrationRequest, _ ceremony: ListCeremony) async throws -> RegistrationResponse {
    let session = ceremony.session
    guard let info = session.facts.info else { throw SecurityKeyError.fido2Needed }
    try freshTap(session)
    func ask(_ list: [CredentialDescriptor]) async throws -> RegistrationResponse {
      var narrowed = request
      narrowed.excludeList = list
      let reply = try await verifying(ceremony.plan, session, ceremony.pin) { device, pin, builtIn in
        try device.makeCredential(
          narrowed, clientDataHash: ceremony.clientData.hash, pin: pin, builtInVerification: builtIn)
      }
      return try Self.response(reply, ceremony.plan, ceremony.clientData, narrowed, session.facts)
    }
    let planner = planner(session, info)
    let probeSize = probeSize(request.rpID, info)
    var ids = planner.candidates(request.excludeList, baseSize: probeSize)
    if let hint = hints.lastCredential(of: request.rpID, on: mark(session.facts)), !info.isAlwaysVerifying,
      let place = ids.firstIndex(of: CredentialDescriptor(id: hint))
    {
      // Alone, so that a key which overlooks ids in lists (QUIRKS Q62) does not overlook this one.
      let known = try search([[ids.remove(at: place)]], request.rpID, session, info)
      guard known == nil else { throw SecurityKeyError.alreadyRegistered }
      hints.remember(nil, of: request.rpID, on: mark(session.facts))
    }
    guard !ids.isEmpty else { return try await ask([]) }
    // What a key overlooks in an exclude list it registers a second time, and nothing tells: such a key is asked first.
    let plan = planner.plan(
      ids, ceremonySize: ListRequest.registrationSize(request), probeSize: probeSize,
      probesFirst: ids.count > 1 && (listManners.areBad || !trustsLists(session, info)))
    let probes = chunks(planner, ids, probeSize)
    if plan.isOutright {
      do { return try await ask(ids) } catch SecurityKeyError.alreadyRegistered where !info.isAlwaysVerifying {
        // Some keys mean another relying party's credential (QUIRKS Q7).
        guard try search(probes, request.rpID, session, info) == nil else { throw SecurityKeyError.alreadyRegistered }
        return try await ask([])
      } catch let error as SecurityKeyError {
        guard ids.count > 1, error.isAboutTheList else { throw error }
      }
    }
    if info.isAlwaysVerifying {
      let response = try await withToken(
        ceremony.plan, session, ceremony.pin, [.makeCredential, .getAssertion], rpID: request.rpID
      ) { probe, _, token in
        guard try search(probes, request.rpID, session, info, token) == nil else {
          throw SecurityKeyError.alreadyRegistered
        }
        return try register(request, ceremony, probe, token)
      }
      if let response { return response }
      return try await ask([])
    }
    do throws(SecurityKeyError) {
      guard try search(probes, request.rpID, session, info) == nil else { throw .alreadyRegistered }
    } catch {
      // A key that takes no probes gets the list as it is.
      guard error.isAboutTheRequest, plan.fitsOne, !plan.isOutright else { throw error }
      return try await ask(ids)
    }
    return try await ask([])
  }

  // MARK: - Parts

  /// The credential has answered: here, and for the next time.
  func remember(_ id: [UInt8], of rpID: String, _ facts: KeyFacts) {
    provenHere.insert(CredentialDescriptor(id: id))
    hints.remember(id, of: rpID, on: mark(facts))
  }

  /// Where hints of this key are kept.
  func mark(_ facts: KeyFacts) -> KeyMark { KeyMark(place: endpoint.id, aaguid: facts.info?.aaguid) }

  /// `list` with the credential that answered last in front.
  static func hintFirst(_ list: [CredentialDescriptor], _ hint: [UInt8]?) -> [CredentialDescriptor] {
    guard let hint, let place = list.firstIndex(of: CredentialDescriptor(id: hint)) else { return list }
    return [list[place]] + list[..<place] + list[(place + 1)...]
  }

  private func planner(_ session: Session, _ info: AuthenticatorInfo) -> ListPlanner {
    ListPlanner(info, wireLimit: session.link.transport.maximumRequestByteCount)
  }

  private func probeSize(_ rpID: String, _ info: AuthenticatorInfo) -> Int {
    ListRequest.probeSize(rpID: rpID, token: info.isAlwaysVerifying ? pinProtocol(info) : nil)
  }

  private func chunks(
    _ planner: ListPlanner, _ ids: [CredentialDescriptor], _ size: Int
  ) -> [[CredentialDescriptor]] {
    listManners.areBad ? ids.map { [$0] } : planner.chunks(ids, baseSize: size)
  }

  /// Whether a key that is otherwise believed overlooks ids in lists (QUIRKS Q62), found out with an id that it has: one
  /// more command for a key that does not, and none where no id is known to be on it.
  private func overlooksInLists(
    _ ids: [CredentialDescriptor], _ rpID: String, _ session: Session, _ info: AuthenticatorInfo
  ) throws(SecurityKeyError) -> Bool {
    guard !listManners.areProved, !listManners.areBad, !info.isAlwaysVerifying, let decoy = ids.first,
      let hint = hints.lastCredential(of: rpID, on: mark(session.facts))
    else { return false }
    let witness = CredentialDescriptor(id: hint)
    let pair = [decoy, witness]
    guard !ids.contains(witness), planner(session, info).chunks(pair, baseSize: probeSize(rpID, info)).count == 1 else {
      return false
    }
    let probe = Probe(link: session.link, info: info)
    do throws(SecurityKeyError) {
      if try probe.knows(pair, rpID: rpID) != nil {
        listManners.areProved = true
        return false
      }
      guard try probe.knows([witness], rpID: rpID) != nil else {
        // It was there once; now it is no witness.
        hints.remember(nil, of: rpID, on: mark(session.facts))
        return false
      }
    } catch {
      guard error.isAboutTheRequest else { throw error }
      return false
    }
    listManners.areBad = true
    return true
  }

  /// Keys that overlook an id in a list have been seen among cards and older models. One that speaks CTAP 2.1 over USB,
  /// or has found an id in a list before, is believed, unless ``overlooksInLists(_:_:_:_:)`` tells otherwise: to ask
  /// such a key for each of a thousand ids would cost an honest one, and whoever waits for it, a thousand commands.
  private func trustsLists(_ session: Session, _ info: AuthenticatorInfo) -> Bool {
    listManners.areProved || info.speaksCTAP21 && session.facts.transport != "pcsc"
  }

  private func search(
    _ chunks: [[CredentialDescriptor]], _ rpID: String, _ session: Session, _ info: AuthenticatorInfo,
    _ token: PINToken? = nil
  ) throws(SecurityKeyError) -> CredentialDescriptor? {
    let search = ListSearch(
      probe: Probe(link: session.link, info: info), rpID: rpID, token: token,
      trustsLists: trustsLists(session, info))
    let outcome = try search.run(chunks)
    listManners.learn(from: outcome)
    return outcome.found
  }
}

extension AuthenticatorInfo {
  /// The person is verified in every ceremony, and silent probes without a token find nothing (QUIRKS Q46).
  var isAlwaysVerifying: Bool { option("alwaysUv") == true }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// How the person is verified: by the key's own reader, by PIN, or not at all; and what the failures mean.
extension SecurityKey {
  /// Runs `body` with the verification that `plan` asks for: the key's own reader first, the PIN when the key says so.
  /// - Parameter usesProtocol: the request needs key agreement even without a PIN.
  func verifying<R>(
    _ plan: UserVerificationPlan, _ session: Session, _ source: PINSource, usesProtocol: Bool = false,
    sameKey: SameKey? = nil, _ body: (FidoDevice, CheckedPIN?, _ builtIn: Bool) throws -> R
  ) async throws -> R {
    guard let info = session.facts.info else { throw SecurityKeyError.fido2Needed }
    let probe = Probe(link: session.link, info: info)
    if plan == .none {
      return try tapping(session) {
        try withDevice(session, usesProtocol: usesProtocol) { try once(body, $0, nil, false, session.link) }
      }
    }
    if plan == .builtIn {
      let result = try byReader(info, probe) {
        try tapping(session) {
          try withDevice(session, usesProtocol: usesProtocol) { try once(body, $0, nil, true, session.link) }
        }
      }
      if let result { return result }
    }
    return try await withPIN(session, source, sameKey: sameKey) { device, pin in
      try once(body, device, pin, false, session.link)
    }
  }

  /// Runs `body`, which asks the key's own reader, as often as the key likes. Nil when only the PIN is left.
  private func byReader<R>(_ info: AuthenticatorInfo, _ probe: Probe, _ body: () throws -> R) throws -> R? {
    let attempts = max(1, min(info.preferredPlatformUvAttempts ?? 3, 5))
    // Before CTAP 2.1 a key has no count of these tries.
    var tries = info.speaksCTAP21 ? (try? probe.uvRetries()) : nil
    for attempt in 1...attempts {
      eventSink.yield(.userVerificationNeeded(triesLeft: attempt == 1 ? nil : tries))
      do { return try body() } catch let error as SecurityKeyError {
        var wasDenied = false
        if error == .status(.operationDenied) {
          // A wrong finger costs a try. A "no" that somebody pressed on the key has the same status and costs none: it
          // is an answer, and nobody is asked twice.
          let left = tries == nil ? nil : try? probe.uvRetries()
          if let tries, let left, left >= tries { throw error }
          wasDenied = left == nil
          tries = left
        } else if BuiltInFailure(error) == .notRecognised, tries != nil {
          tries = try? probe.uvRetries()
        }
        switch BuiltInFailure(error) {
        case .notRecognised where attempt < attempts && !wasDenied: continue
        // Nobody knows which it was: where there is a PIN, whoever meant "no" does not give it.
        case .notRecognised where wasDenied && info.option("clientPin") != true: throw error
        case .notRecognised, .blocked:
          guard info.option("clientPin") == true else { throw error.asReaderFailure }
          return nil
        case nil: throw error
        }
      }
    }
    return nil
  }

  /// Runs `body` with one token for all that is in it, got by the key's own reader or by PIN as `plan` says.
  func withToken<R>(
    _ plan: UserVerificationPlan, _ session: Session, _ source: PINSource, _ permissions: PINToken.Permissions,
    rpID: String, _ body: (Probe, PINAgreement, PINToken) throws -> R
  ) async throws -> R {
    guard let info = session.facts.info else { throw SecurityKeyError.fido2Needed }
    let probe = Probe(link: session.link, info: info)
    func attempt(_ pin: CheckedPIN?) throws -> (PINAgreement, PINToken) {
      guard let version = pinProtocol(info) else { throw SecurityKeyError.notOffered("a PIN protocol") }
      session.link.begin()
      let agreement = try probe.agree(version)
      return (agreement, try probe.token(agreement, permissions, rpID: rpID, pin: pin))
    }
    if plan == .builtIn, info.option("pinUvAuthToken") == true,
      let (agreement, token) = try byReader(info, probe, { try attempt(nil) })
    {
      return try body(probe, agreement, token)
    }
    if info.forcePINChange == true { throw SecurityKeyError.pinChangeRequired }
    var pin = try await askForPIN(probe, info, source)
    func withPIN() throws -> R {
      let agreement: PINAgreement
      let token: PINToken
      do { (agreement, token) = try attempt(pin) } catch SecurityKeyError.pinInvalid { throw wrongPIN(probe) }
      return try body(probe, agreement, token)
    }
    while true {
      do {
        do { return try withPIN() } catch let error as SecurityKeyError where session.link.wantsNewTap(after: error) {
          try renew(session)
          // The token is gone with the tap, and nothing here proves that the key is the same: the PIN is asked for again.
          source.answer = nil
          pin = try await askForPIN(probe, info, source)
          return try withPIN()
        } catch SecurityKeyError.status(.pinAuthInvalid) {
          guard pinProtocol(info) == .two, info.pinUvAuthProtocols.contains(1) else {
            throw SecurityKeyError.status(.pinAuthInvalid)
          }
          try fallBackToProtocol1(probe, hasSentPIN: true)
          return try withPIN()
        }
      } catch let error as SecurityKeyError {
        note(error, source, probe)
        guard mayAskAgain(after: error) else { throw error }
        source.answer = nil
        source.lastWasWrong = true
        pin = try await askForPIN(probe, info, source)
      }
    }
  }

  /// Whether a wrong PIN is the person's to put right: there are tries that may be spent, and a person to ask.
  private func mayAskAgain(after error: SecurityKeyError) -> Bool {
    guard asksAgain, !lostATry, case .pinInvalid(let left?) = error else { return false }
    return left > pinTriesFloor
  }

  /// Runs `body` with the PIN, asked for once. A wrong one is reported with the tries that are left.
  /// - Parameter changesPIN: the act is what a key with a forced PIN change asks for.
  func withPIN<R>(
    _ session: Session, _ source: PINSource, changesPIN: Bool = false, sameKey: SameKey? = nil,
    _ body: (FidoDevice, CheckedPIN?) throws -> R
  ) async throws -> R {
    guard let info = session.facts.info else { throw SecurityKeyError.fido2Needed }
    let probe = Probe(link: session.link, info: info)
    if info.forcePINChange == true, !changesPIN { throw SecurityKeyError.pinChangeRequired }
    while true {
      let pin = try await askForPIN(probe, info, source)
      do {
        do { return try withDevice(session, usesProtocol: true, sendsPIN: true) { try body($0, pin) } } catch let error
          as SecurityKeyError where session.link.wantsNewTap(after: error)
        {
          try renew(session)
          // A PIN is for one key: only the same key gets it again.
          if let sameKey, try sameKey.isProven(by: probe) {
            provenHere.formUnion(sameKey.credentials)
          } else {
            source.answer = nil
          }
          let again = try await askForPIN(probe, info, source)
          return try withDevice(session, usesProtocol: true, sendsPIN: true) { try body($0, again) }
        }
      } catch let error as SecurityKeyError {
        note(error, source, probe)
        guard case .pinInvalid = error else { throw error }
        let error = wrongPIN(probe)
        guard mayAskAgain(after: error) else { throw error }
        source.answer = nil
        source.lastWasWrong = true
      }
    }
  }

  /// The same for an act that needs its PIN in one place only.
  func withPIN<R>(
    _ session: Session, _ provider: PINProvider?, changesPIN: Bool = false,
    _ body: (FidoDevice, CheckedPIN?) throws -> R
  ) async throws -> R {
    try await withPIN(session, PINSource(provider), changesPIN: changesPIN, body)
  }

  /// What a wrong PIN is reported as: with the tries that are left.
  private func wrongPIN(_ probe: Probe) -> SecurityKeyError {
    // Some keys report the last wrong PIN as an ordinary one (QUIRKS Q23).
    let left = try? probe.pinRetries()
    return left?.triesLeft == 0 ? .pinBlocked : .pinInvalid(triesLeft: left?.triesLeft)
  }

  /// Remembers the PIN that was sent last, when `error` says that the key has refused it.
  private func note(_ error: SecurityKeyError, _ source: PINSource, _ probe: Probe) {
    guard let sent = source.answer else { return }
    // Which of them a wrong PIN gives depends on how many there were before (CTAP 2.1 section 6.5.5.7.1).
    switch error {
    case .pinInvalid: break
    case .pinBlocked, .pinAuthBlocked:
      // A key that is blocked says so to any PIN, looking at none: only a try that is gone tells that it looked.
      guard let before = lastTries, let left = (try? probe.pinRetries())?.triesLeft, left < before else { return }
    default: return
    }
    refusedPINs.note(sent, by: mark(probe.info))
  }

  /// Where what is remembered of PINs belongs.
  func mark(_ info: AuthenticatorInfo) -> KeyMark { KeyMark(place: endpoint.id, aaguid: info.aaguid) }

  private func once<R>(
    _ body: (FidoDevice, CheckedPIN?, _ builtIn: Bool) throws -> R, _ device: FidoDevice, _ pin: CheckedPIN?,
    _ builtIn: Bool, _ link: KeyLink
  ) throws -> R {
    try watchingTouch(link) { try body(device, pin, builtIn) }
  }

  /// Says when the key has been touched, and calls a missed touch by its name.
  func watchingTouch<R>(_ link: KeyLink, _ body: () throws -> R) throws -> R {
    do {
      let result = try body()
      if link.touchWaitBegan != nil { eventSink.yield(.touched) }
      return result
    } catch let error as SecurityKeyError { throw late(error, link) }
  }

  /// Asks the person, once an act, after making sure that a try may be spent.
  private func askForPIN(
    _ probe: Probe, _ info: AuthenticatorInfo, _ source: PINSource
  ) async throws -> CheckedPIN {
    if let answer = source.answer { return answer }
    let tries = try probe.pinRetries()
    lastTries = tries?.triesLeft
    if let tries {
      if tries.triesLeft == 0 { throw SecurityKeyError.pinBlocked }
      if tries.needsPowerCycle { throw SecurityKeyError.pinAuthBlocked }
      if tries.triesLeft <= pinTriesFloor { throw SecurityKeyError.pinTriesLow(left: tries.triesLeft) }
    }
    guard let provider = source.provider else { throw SecurityKeyError.pinRequired }
    let minimum = PINRules(info).presentMinimumLength
    while true {
      let request = PINRequest(
        keyName: endpoint.name, triesLeft: tries?.triesLeft, minimumLength: minimum,
        lastWasWrong: source.lastWasWrong && source.repetitions == 0, lastWasRepeated: source.repetitions > 0,
        mayBeAnotherKey: wasLaidOnAgain && provenHere.isEmpty)
      let pin = try await CheckedPIN.ask(provider, request)
      guard !cancelSwitch.isPulled else { throw SecurityKeyError.transport(.cancelled) }
      guard refusedPINs.contains(pin, by: mark(info)) else {
        source.repetitions = 0
        source.answer = pin
        // From here on it is the PIN of the key that lies there.
        wasLaidOnAgain = false
        return pin
      }
      // A person may have mistyped; a program gives the same answer for ever.
      source.repetitions += 1
      guard asksAgain, source.repetitions < 3 else { throw SecurityKeyError.pinRepeated }
    }
  }

  /// Keys name a missed touch in many ways; after a long wait they all mean the same (QUIRKS Q25).
  func late(_ error: SecurityKeyError, _ link: KeyLink) -> SecurityKeyError {
    guard link.touchWait >= min(.seconds(8), timings.touch / 3) else { return error }
    switch error {
    case .status(.operationDenied), .status(.puatRequired), .status(.userActionTimeout), .status(.actionTimeout):
      return .transport(.timedOut)
    default: return error
    }
  }

  /// Runs `body` with libfido2's view of the key. A key that lists protocol 2 and answers it with PIN_AUTH_INVALID is
  /// asked once more with protocol 1 (QUIRKS Q35, Q36), unless that answer cost a PIN try.
  private func withDevice<R>(
    _ session: Session, usesProtocol: Bool, sendsPIN: Bool = false, _ body: (FidoDevice) throws -> R
  ) throws -> R {
    let device = try fido(session)
    guard usesProtocol, endpoint.onlyPINProtocol == nil, let info = session.facts.info, pinProtocol(info) == .two,
      info.pinUvAuthProtocols.contains(1)
    else {
      return try body(device)
    }
    let probe = Probe(link: session.link, info: info)
    do { return try body(device) } catch SecurityKeyError.status(.pinAuthInvalid) {
      try fallBackToProtocol1(probe, hasSentPIN: sendsPIN)
      return try body(try fido(session))
    }
  }

  /// From here on with protocol 1, unless protocol 2 has cost a PIN try, or nobody can tell whether it has.
  private func fallBackToProtocol1(_ probe: Probe, hasSentPIN: Bool) throws(SecurityKeyError) {
    let left = lastTries == nil ? nil : try probe.pinRetries()?.triesLeft
    if let tries = lastTries, let left, left < tries {
      lostATry = true
      throw .pinInvalid(triesLeft: left)
    }
    if hasSentPIN, left == nil {
      lostATry = true
      throw .status(.pinAuthInvalid)
    }
    avoidProtocol2()
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// Checks a capsule: everything that Seal's own verifiers check, and what they leave out.
public struct CapsuleVerifier: Sendable {
  /// What is known besides the file.
  public var context: CapsuleContext

  /// A verifier with what is known.
  public init(_ context: CapsuleContext) { self.context = context }

  /// Checks the capsule, together with what was known of the estate before.
  public func verify(_ capsule: Capsule) async -> CapsuleVerification {
    var run = CapsuleCheck(capsule, context)
    run.header()
    run.checkIdentities()
    let events = run.unite()
    run.pinHolders(events)
    let facts = await EventFacts.all(
      events, known: run.knownCount, identities: run.identities, pins: context.timestampPins,
      relyingPartyID: Seal.relyingPartyID)
    run.checkEvents(events, facts)
    run.checkEpochs()
    run.checkVault()
    run.checkReleases()
    run.summarise()
    run.sayWhatNothingCovers()
    return run.result()
  }
}

/// One verification of one capsule. Its parts are in files of their own.
struct CapsuleCheck {
  let capsule: Capsule
  let context: CapsuleContext
  var report = VerificationReport()
  var identities: [String: VerifiedIdentity] = [:]
  /// Digests that a link may name: of the capsule's events, and of those known before.
  var digests = Set<[UInt8]>()
  var admitted: [EstateEvent] = []
  var tokenTimes: [String: Int64] = [:]
  var missing: [EstateEvent] = []
  /// How many of the united events were known before: the first ones.
  var knownCount = 0
  /// The owner's statements that count, in log order.
  var statements: [(event: EstateEvent, body: EpochPublishedPayload)] = []
  var material: EpochMaterial?
  /// What the release rules look at, once the events are checked.
  var entries: [RecordEntry] = []

  init(_ capsule: Capsule, _ context: CapsuleContext) {
    self.capsule = capsule
    self.context = context
  }

  /// Bad under `--strict`, else worth knowing.
  mutating func soft(_ name: String, _ subject: String, _ explanation: String) {
    report.add(context.isStrict ? .bad : .warning, name, subject, explanation)
  }

  func name(of hash: String) -> String {
    capsule.identities[hash].map { $0.displayName } ?? String(hash.prefix(8))
  }

  mutating func header() {
    if capsule.isSimulated {
      report.add(.warning, "simulated", "capsule", "The capsule was made with virtual keys.")
    }
    // Seal's Python tool takes the relying party from the file: a file could then choose whose taps count.
    if capsule.relyingPartyID == Seal.relyingPartyID {
      report.add(.good, "relyingParty", "capsule", "The taps in it are for Seal.")
    } else {
      report.add(
        .bad, "relyingPartyMismatch", "capsule", "The capsule is for '\(capsule.relyingPartyID)', not for Seal.")
    }
    if capsule.identities[capsule.ownerHash] == nil {
      report.add(.bad, "ownerMissing", "capsule", "The owner is not among the identities.")
    }
    if capsule.identities[capsule.exportedBy] == nil {
      report.add(.note, "exporterUnknown", "capsule", "Whoever wrote the file is not among the identities.")
    }
  }

  mutating func checkIdentities() {
    for hash in capsule.identities.keys.sorted(by: utf8Order) {
      guard let identity = capsule.identities[hash] else { continue }
      let subject = identity.displayName
      if identity.rootHash != hash {
        report.add(.bad, "identityMisplaced", subject, "The identity stands under another root hash than its own.")
        continue
      }
      let record = context.directory[hash]
      let pinned = context.pins[hash]
      if let pinned, pinned != identity.publicKey {
        report.add(
          .bad, "publicKeyChanged", subject, "The root key is not the one that is pinned here. Meet again in person.")
        continue
      }
      if let record, record.publicKey != identity.publicKey {
        report.add(.bad, "publicKeyChanged", subject, "The root key is not the one in the directory known here.")
        continue
      }
      do {
        let verified = try VerifiedIdentity(
          capsule: identity, backups: record?.backups ?? [], revocations: record?.revocations ?? [])
        report.append(verified.report)
        identities[hash] = verified
      } catch { report.add(error, subject, "The root key:") }
      if hash == capsule.ownerHash, pinned == nil, context.demandsPinnedOwner {
        report.add(
          .bad, "ownerIsSomebodyElse", subject,
          "The owner is nobody named with --identity, and not pinned here. Give the identity of the owner.")
      } else if hash == capsule.ownerHash, pinned == nil, record != nil {
        report.add(
          .warning, "ownerNotPinned", subject,
          "The owner's root key is the one in the directory known here, and is not pinned: nobody has compared it.")
      } else if hash == capsule.ownerHash, pinned == nil {
        soft(
          "ownerNotPinned", subject,
          "The owner's root key is not pinned here, so this file alone does not show whose estate it is.")
      }
    }
  }

  /// The events of the file and those known before. What differs are entries of their own, also under one ID: whoever
  /// writes under the ID of another's entry must not hide it. Of the same entry, a later copy can only bring a token.
  mutating func unite() -> [EstateEvent] {
    var places: [String: [Int]] = [:]
    var events: [EstateEvent] = []
    func place(of event: EstateEvent) -> Int? { places[event.terms.id]?.first { events[$0].terms == event.terms } }
    func add(_ event: EstateEvent) {
      let isRival = places[event.terms.id] != nil
      places[event.terms.id, default: []].append(events.count)
      events.append(isRival ? event.asRival : event)
    }
    for event in context.known where place(of: event) == nil { add(event) }
    knownCount = events.count
    var present = Set<Int>()
    for entry in capsule.entries {
      let event = entry.event
      guard let index = place(of: event) else {
        if let other = places[event.terms.id]?.first {
          soft(
            "eventConflict", subject(event),
            "Another entry with this ID is known \(other < knownCount ? "here" : "in the file"). Each is looked at by itself."
          )
        }
        present.insert(events.count)
        add(event)
        continue
      }
      if !present.insert(index).inserted {
        report.add(.bad, "eventTwice", subject(event), "The file holds this event more than once.")
      }
      if events[index].signature != event.signature {
        // The copy that counts is another than the file's: the file's must be good too.
        if !event.hasValidSignature {
          report.add(
            .bad, "signatureDoesNotMatch", subject(event), "The device that it names did not sign the file's copy.")
        } else if !events[index].hasValidSignature {
          events[index].signature = event.signature
        }
      }
      if let token = event.timestampToken, token != events[index].timestampToken,
        events[index].timestampToken == nil || (!isVerified(events[index]) && isVerified(event))
      {
        events[index].timestampToken = token
      }
    }
    reportMissing(events.indices.filter { $0 < knownCount && !present.contains($0) }.map { events[$0] })
    return events
  }

  /// Whether its token is good, and by an authority that is trusted here.
  private func isVerified(_ event: EstateEvent) -> Bool {
    guard let token = event.timestampToken else { return false }
    return (try? TimestampToken(verifying: token, digest: event.digest, pins: context.timestampPins)) != nil
  }

  /// Says what the file lacks of what was known before.
  private mutating func reportMissing(_ events: [EstateEvent]) {
    missing = events
    let youngest = max(capsule.exportedAtEpoch, capsule.events.map(\.terms.occurredAtEpoch).max() ?? .min)
    for event in missing {
      let who = event.kind?.isOwnerKind ?? false ? "the owner" : name(of: event.terms.actorHash)
      // By its own word, which nobody signed: so this is said for a person, and the entry counts all the same.
      if event.terms.occurredAtEpoch > youngest {
        report.add(
          .warning, "fileOlder", subject(event),
          "The file lacks this entry of \(who)'s, which is known here and younger than everything in the file: it is simply older. "
            + "The entry was taken into account.")
        continue
      }
      soft(
        "eventMissing", subject(event),
        "The file lacks this entry of \(who)'s, which is known here: somebody may have left it out.")
    }
  }

  /// Whoever the owner's statements name as a key holder has the root key that they name: an identity in the file with
  /// another one writes nothing here.
  mutating func pinHolders(_ events: [EstateEvent]) {
    let owner = identities[capsule.ownerHash]
    var statements: [(position: LogPosition, body: EpochPublishedPayload)] = []
    for (index, event) in events.enumerated() where event.kind == .epochPublished {
      guard event.terms.actorHash == capsule.ownerHash, sameText(event.terms.estateID, capsule.estateID),
        index < knownCount || owner?.device(event.terms.actorDevicePublicKey) != nil, event.hasValidSignature,
        let body = try? EpochPublishedPayload(parsing: event.terms.payload)
      else { continue }
      statements.append((event.logPosition, body))
    }
    var keys: [String: [UInt8]] = [:]
    for (_, body) in statements.sorted(by: { $0.position < $1.position }) {
      for (holder, key) in zip(body.custodianHashes, body.custodianPublicKeys) { keys[holder] = key }
    }
    for (holder, key) in keys.sorted(by: { utf8Order($0.key, $1.key) }) {
      guard let identity = capsule.identities[holder], identity.publicKey != key else { continue }
      report.add(
        .bad, "holderKeyDiffers", name(of: holder),
        "The root key is not the one that the owner signed for this key holder. Nothing that it wrote counts.")
      identities[holder] = nil
    }
  }

  func subject(_ event: EstateEvent) -> String {
    "\(event.plainKind) \(event.id.prefix(8)) by \(name(of: event.terms.actorHash))"
      + " at \(UTCText.format(event.terms.occurredAtEpoch))"
  }

  func result() -> CapsuleVerification {
    CapsuleVerification(
      report: report, estateID: capsule.estateID, ownerHash: capsule.ownerHash, identities: identities,
      admitted: admitted, tokenTimes: tokenTimes, missing: missing, statement: statements.last?.body, material: material
    )
  }
}

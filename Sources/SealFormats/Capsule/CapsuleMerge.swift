// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// Why capsules cannot be united.
public enum MergeError: NamedError, Hashable {
  /// There is nothing to unite.
  case nothingToMerge
  /// They are not of one estate and one owner.
  case otherEstate
  /// They name two root keys for one identity.
  case publicKeyChanged(String)

  public var name: String {
    switch self {
    case .nothingToMerge: "nothingToMerge"
    case .otherEstate: "otherEstate"
    case .publicKeyChanged: "publicKeyChanged"
    }
  }

  public var message: String {
    switch self {
    case .nothingToMerge: "No capsule was given."
    case .otherEstate: "The capsules are not of one estate."
    case .publicKeyChanged(let hash): "The capsules name two root keys for the identity \(hash.prefix(8))."
    }
  }

  public var next: String {
    switch self {
    case .nothingToMerge, .otherEstate: "Give capsules of one estate."
    case .publicKeyChanged: "One of the capsules is forged: verify each by itself, and meet the person again."
    }
  }

  public var kind: FaultKind { self == .nothingToMerge ? .usage : .refused }
}

/// Unites what several capsules of one estate hold. Where they differ, what verifies wins over what does not, in
/// whatever order the files come; the result is verified as a whole afterwards.
public struct CapsuleMerge: Sendable {
  /// The union.
  public private(set) var capsule: Capsule
  /// What differed between the files, one line each.
  public private(set) var report = VerificationReport()
  /// How many events each file had that none before it had.
  public private(set) var added: [Int] = []

  private var places: [String: Int] = [:]
  /// Other copies of events, by ID, in the order in which they came.
  private var rivals: [String: [EstateEvent]] = [:]
  /// Other material of an epoch, by its number as text.
  private var rivalBlobs: [String: [[UInt8]]] = [:]

  /// Unites the capsules in the order given. Of two copies the one that verifies wins, else the first; a token that the
  /// first lacks is added; of two materials the one that the owner signed is kept, of two key tables the later epoch's.
  ///
  /// - Parameter context: what is known besides the files: backups and revocations count.
  /// - Throws: ``MergeError``.
  public init(_ capsules: [Capsule], context: CapsuleContext? = nil) throws(MergeError) {
    guard let first = capsules.first else { throw .nothingToMerge }
    capsule = first
    capsule.entries = []
    for next in capsules {
      guard sameText(next.estateID, first.estateID), next.ownerHash == first.ownerHash,
        next.relyingPartyID == first.relyingPartyID
      else { throw .otherEstate }
      try addIdentities(of: next)
      added.append(addEvents(of: next))
      addBlobs(of: next)
      capsule.isSimulated = capsule.isSimulated || next.isSimulated
      if next.exportedAtEpoch > capsule.exportedAtEpoch {
        capsule.exportedAtEpoch = next.exportedAtEpoch
        capsule.exportedBy = next.exportedBy
        capsule.stateAtExport = next.stateAtExport
      }
    }
    if !rivals.isEmpty || !rivalBlobs.isEmpty { settle(context) }
  }

  private mutating func addIdentities(of next: Capsule) throws(MergeError) {
    for (hash, identity) in next.identities.sorted(by: { utf8Order($0.key, $1.key) }) {
      guard let known = capsule.identities[hash] else {
        capsule.identities[hash] = identity
        continue
      }
      guard known.publicKey == identity.publicKey else { throw .publicKeyChanged(hash) }
      if !sameText(known.displayName, identity.displayName) {
        report.add(
          .warning, "nameConflict", known.displayName,
          "Another file calls this identity '\(identity.displayName)'. Nobody signs a name; the first one is kept.")
      }
      let new = identity.deviceEndorsements.filter { !known.deviceEndorsements.contains($0) }
      capsule.identities[hash]?.deviceEndorsements += new
    }
  }

  private mutating func addEvents(of next: Capsule) -> Int {
    var count = 0
    for entry in next.entries {
      guard let place = places[entry.event.id] else {
        places[entry.event.id] = capsule.entries.count
        capsule.entries.append(entry)
        count += 1
        continue
      }
      let held = capsule.entries[place].event
      if !held.isSameCopy(as: entry.event) {
        rivals[entry.event.id, default: []].append(entry.event)
      } else if held.timestampToken == nil {
        capsule.entries[place].event.timestampToken = entry.event.timestampToken
      }
    }
    return count
  }

  private mutating func addBlobs(of next: Capsule) {
    for (id, blob) in next.contentBlobs.sorted(by: { utf8Order($0.key, $1.key) }) {
      if capsule.contentBlobs[id, default: blob] != blob {
        report.add(
          .warning, "contentConflict", "content \(id.prefix(8))",
          "The files hold two contents under this ID. Nobody signs one; the first is kept.")
      } else {
        capsule.contentBlobs[id] = blob
      }
    }
    for (id, blob) in next.tableBlobs where capsule.tableBlobs[id] != blob {
      let known = capsule.tableBlobs[id].flatMap { try? KeyTable(parsing: $0) }
      if known == nil || (try? KeyTable(parsing: blob)).map({ $0.epoch > known?.epoch ?? 0 }) ?? false {
        capsule.tableBlobs[id] = blob
      }
    }
    for (number, blob) in next.epochBlobs where capsule.epochBlobs[number] != blob {
      if capsule.epochBlobs[number] == nil {
        capsule.epochBlobs[number] = blob
      } else {
        rivalBlobs[number, default: []].append(blob)
      }
    }
  }

  // MARK: Where the files differ

  private mutating func settle(_ context: CapsuleContext?) {
    var identities: [String: VerifiedIdentity] = [:]
    for (hash, identity) in capsule.identities where identity.rootHash == hash {
      let record = context?.directory[hash]
      identities[hash] = try? VerifiedIdentity(
        capsule: identity, backups: record?.backups ?? [], revocations: record?.revocations ?? [])
    }
    let standing = EventStanding(
      identities: identities, estateID: capsule.estateID, ownerHash: capsule.ownerHash,
      events: capsule.events + rivals.values.joined())
    for id in rivals.keys.sorted(by: utf8Order) { settleEvent(id, standing) }
    for number in rivalBlobs.keys.sorted(by: utf8Order) { settleBlob(number, standing) }
  }

  /// Of the copies under one ID, those that verify are kept, the owner's first: one that a key holder wrote under the ID of
  /// another's entry hides nothing.
  private mutating func settleEvent(_ id: String, _ standing: EventStanding) {
    guard let place = places[id] else { return }
    let held = capsule.entries[place].event
    let copies = [held] + (rivals[id] ?? [])
    var kept: [EstateEvent] = []
    for copy in copies where !kept.contains(where: { $0.terms == copy.terms }) && standing.stands(copy) {
      var best = copy
      if best.timestampToken == nil {
        best.timestampToken = copies.first { $0.terms == copy.terms && $0.timestampToken != nil }?.timestampToken
      }
      kept.append(best)
    }
    let isOwners = { (event: EstateEvent) in event.kind?.isOwnerKind == true }
    kept = kept.filter(isOwners) + kept.filter { !isOwners($0) }
    if let first = kept.first {
      if first != held { capsule.entries[place] = Capsule.Entry(first) }
      capsule.entries += kept.dropFirst().map { Capsule.Entry($0) }
    } else if held.timestampToken == nil {
      capsule.entries[place].event.timestampToken =
        copies.first { $0.terms == held.terms && $0.timestampToken != nil }?.timestampToken
    }
    // The same fields under two signatures are one event, however often it was signed.
    guard copies.contains(where: { $0.terms != copies[0].terms }) else { return }
    report.add(
      .warning, "eventConflict", "\(capsule.entries[place].event.plainKind) \(id.prefix(8))",
      "The files hold more than one entry under this ID; "
        + (kept.isEmpty
          ? "none verifies, and the first one is kept."
          : kept.count == 1 ? "the one that verifies is kept." : "those that verify are kept."))
  }

  private mutating func settleBlob(_ number: String, _ standing: EventStanding) {
    var newest: (position: LogPosition, digest: [UInt8])?
    for event in capsule.events where event.kind == .epochPublished && standing.stands(event) {
      guard let body = try? EpochPublishedPayload(parsing: event.terms.payload), String(body.epoch) == number else {
        continue
      }
      if let known = newest, event.logPosition < known.position { continue }
      newest = (event.logPosition, body.materialDigest)
    }
    let blobs = [capsule.epochBlobs[number]].compactMap { $0 } + (rivalBlobs[number] ?? [])
    let signed = newest.flatMap { statement in blobs.firstIndex { SHA256.hash($0) == statement.digest } }
    if let signed { capsule.epochBlobs[number] = blobs[signed] }
    report.add(
      .warning, "materialConflict", "epoch \(number)",
      "The files hold two materials for this epoch; "
        + (signed == nil ? "the owner signed neither." : "the one that the owner signed is kept."))
  }
}

extension Capsule {
  /// The capsule with what a verification of it knew besides: entries that it lacks, and the copy that counts in place
  /// of one under the same ID that does not.
  public func united(with verification: CapsuleVerification) -> Capsule {
    let counting = Dictionary(grouping: verification.admitted) { $0.terms.id }
    var out = self
    var present: [String: [EventTerms]] = [:]
    out.entries = entries.compactMap { entry in
      let event = entry.event
      guard let under = counting[event.terms.id] else { return entry }
      guard let best = under.first(where: { $0.terms == event.terms }),
        !(present[event.terms.id]?.contains(event.terms) ?? false)
      else { return nil }
      present[event.terms.id, default: []].append(event.terms)
      return best.isSameCopy(as: event) && event.timestampToken != nil ? entry : Entry(best)
    }
    out.entries += verification.missing.map { Entry($0) }
    return out
  }
}

/// Whether two texts are the same bytes: Swift takes some texts of different bytes for equal, and a hash does not.
func sameText(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }

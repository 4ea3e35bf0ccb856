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

/// Unites what several capsules of one estate hold. Nothing is verified here: the result is, afterwards.
public struct CapsuleMerge: Sendable {
  /// The union.
  public private(set) var capsule: Capsule
  /// What differed between the files, one line each.
  public private(set) var report = VerificationReport()
  /// How many events each file had that none before it had.
  public private(set) var added: [Int] = []

  private var places: [String: Int] = [:]

  /// Unites the capsules in the order given: where two differ, the first wins, but for a token that the first lacks, for
  /// material that is what the owner signed, and for the key table of a later epoch.
  ///
  /// - Throws: ``MergeError``.
  public init(_ capsules: [Capsule]) throws(MergeError) {
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
  }

  private mutating func addIdentities(of next: Capsule) throws(MergeError) {
    for (hash, identity) in next.identities {
      guard let known = capsule.identities[hash] else {
        capsule.identities[hash] = identity
        continue
      }
      guard known.publicKey == identity.publicKey else { throw .publicKeyChanged(hash) }
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
      if capsule.entries[place].event.terms != entry.event.terms {
        report.add(
          .warning, "eventConflict", "\(entry.event.terms.kind) \(entry.event.id.prefix(8))",
          "The files hold two events under this ID; the first one is kept.")
      } else if capsule.entries[place].event.timestampToken == nil {
        capsule.entries[place].event.timestampToken = entry.event.timestampToken
      }
    }
    return count
  }

  private mutating func addBlobs(of next: Capsule) {
    for (id, blob) in next.contentBlobs where capsule.contentBlobs[id] == nil { capsule.contentBlobs[id] = blob }
    for (id, blob) in next.tableBlobs where capsule.tableBlobs[id] != blob {
      let known = capsule.tableBlobs[id].flatMap { try? KeyTable(parsing: $0) }
      if known == nil || (try? KeyTable(parsing: blob)).map({ $0.epoch > known?.epoch ?? 0 }) ?? false {
        capsule.tableBlobs[id] = blob
      }
    }
    for (number, blob) in next.epochBlobs where capsule.epochBlobs[number] != blob {
      if capsule.epochBlobs[number] == nil {
        capsule.epochBlobs[number] = blob
        continue
      }
      report.add(
        .warning, "materialConflict", "epoch \(number)",
        "The files hold two materials for this epoch; the one that the owner signed is kept.")
      let digest = SHA256.hash(blob)
      let isSigned = capsule.entries.contains { entry in
        guard entry.event.kind == .epochPublished, entry.event.terms.actorHash == capsule.ownerHash,
          let body = try? EpochPublishedPayload(parsing: entry.event.terms.payload)
        else { return false }
        return String(body.epoch) == number && body.materialDigest == digest
      }
      if isSigned { capsule.epochBlobs[number] = blob }
    }
  }
}

/// Whether two texts are the same bytes: Swift takes some texts of different bytes for equal, and a hash does not.
func sameText(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }

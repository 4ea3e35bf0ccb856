// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// A capsule together with everything that this computer has seen of its estate before.
public struct EstateReading: Sendable {
  /// The file.
  public let capsule: Capsule
  /// What was known besides it.
  public let context: CapsuleContext
  /// The verdict on the union.
  public let verification: CapsuleVerification
  /// When each entry was first seen here; those of this capsule that are new were seen now.
  public let firstSeen: [String: Int64]
  /// Entries of this computer's that a virtual key touched for, by ID.
  public let simulated: Set<String>
  /// This computer had seen nothing of the estate before: it cannot know how old a claim really is.
  public let isFirstMeeting: Bool
  /// The latest time that this computer itself has seen an entry of this estate at; nil for none.
  public var latestSight: Int64? { firstSeen.values.max() }
  /// Why what is new could not be kept, when that was let pass.
  public let storeProblem: (any NamedError)?

  /// The owner's root key as the capsule or a pin has it; nil when the owner is not usable.
  public var ownerKey: [UInt8]? {
    verification.identities[capsule.ownerHash]?.rootKey.rawRepresentation
  }

  /// What the release rules look at, by this computer's times.
  ///
  /// - Parameter usingRecordTimes: claims that carry a verified, pinned token are taken at their stated time although
  ///   this computer saw them later.
  public func entries(usingRecordTimes: Bool = false) -> [RecordEntry] {
    let proven = usingRecordTimes ? verification.provenClaims : []
    return verification.entries(firstSeen: firstSeen.filter { !proven.contains($0.key) })
  }
}

extension LocalStore {
  /// What becomes of entries that are new.
  public enum Remembering: Sendable, Hashable {
    /// They are kept, or reading fails.
    case always
    /// They are kept where the store can be written.
    case whenPossible
    /// They are not.
    case never
  }

  /// Reads a capsule in the light of what is known here, and keeps what it brings.
  ///
  /// - Parameter context: what the person gave; it wins over what is stored, and must not contradict a pin.
  /// - Throws: ``StoreError``: `publicKeyChanged` when a given key contradicts a pin; ``FileError``.
  public func read(
    _ capsule: Capsule, _ given: CapsuleContext, remembering: Remembering
  ) async throws -> EstateReading {
    var context = given
    let people = try people()
    for (hash, pin) in people.pins {
      if let key = given.pins[hash], key != pin.publicKey {
        throw StoreError.publicKeyChanged(name: pin.displayName, rootHash: hash)
      }
      context.pins[hash] = pin.publicKey
    }
    // What ended stays so, whichever copy of a record was given.
    context.directory.merge(people.records) { $0.knowing($1) }
    let owner = capsule.ownerHash
    let key = context.pins[owner] ?? capsule.identities[owner]?.publicKey
    let history = try key.flatMap {
      try self.history(estateID: capsule.estateID, ownerHash: owner, ownerKey: $0)
    }
    context.known = history?.events ?? []
    let verified = await CapsuleVerifier(context).verify(capsule)

    var firstSeen = history?.firstSeen ?? [:]
    for event in verified.admitted where firstSeen[event.id] == nil { firstSeen[event.id] = context.now }
    var problem: (any NamedError)?
    let isUsable = verified.identities[owner]?.rootKey.rawRepresentation == key
    if remembering != .never, let key, isUsable, !verified.admitted.isEmpty {
      do {
        try await remember(
          verified.toBeKept, estateID: capsule.estateID, ownerHash: owner, ownerKey: key, seenAt: context.now,
          trustsClock: verified.allows(clock: context.now))
      } catch {
        guard remembering == .whenPossible, let named = error as? any NamedError else { throw error }
        problem = named
      }
    }
    return EstateReading(
      capsule: capsule, context: context, verification: verified, firstSeen: firstSeen,
      simulated: history?.simulated ?? [], isFirstMeeting: history == nil, storeProblem: problem)
  }
}

extension CapsuleVerification {
  /// What counts, as the store keeps it: with those tokens that were verified. Any other is nobody's word.
  var toBeKept: [EstateEvent] {
    admitted.map { event in
      var kept = event
      if tokenTimes[event.id] == nil { kept.timestampToken = nil }
      return kept
    }
  }

  /// Whether nothing to which the owner or a trusted authority has put a time is later than a clock that shows `now`. A key
  /// holder's word is not taken, who could hold up everybody's first sights with it.
  func allows(clock now: Int64) -> Bool {
    let owners = admitted.filter { $0.kind?.isOwnerKind ?? false }.map(\.terms.occurredAtEpoch)
    return max(owners.max() ?? .min, tokenTimes.values.max() ?? .min) <= now + EstateHistory.clockTolerance
  }
}

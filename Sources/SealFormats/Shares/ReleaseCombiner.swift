// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Puts an Estate Key together from the shares that taps brought (RELEASE.md section 3, "Combining").
public struct ReleaseCombiner: Sendable {
  /// The estate.
  public let estateID: String
  /// The owner's newest statement.
  public let statement: EpochPublishedPayload
  /// Its material.
  public let material: EpochMaterial

  /// A combiner for one epoch.
  public init(estateID: String, statement: EpochPublishedPayload, material: EpochMaterial) {
    self.estateID = estateID
    self.statement = statement
    self.material = material
  }

  /// The key, with the indexes of the shares that were used.
  public struct Combined: ~Copyable, Sendable {
    /// The Estate Key, 32 bytes.
    public let key: SecretBytes
    /// Which shares.
    public let indexes: [UInt8]
  }

  /// Combines the shares of all taps on the claim and the newest epoch, which the caller has verified, and the
  /// claimant's own share.
  ///
  /// A tap that brings no envelope for this bundle is passed over. A share that opens and is not one the owner issued
  /// ends the whole, naming its holder, as in Seal.
  /// - Throws: ``ShareError``: `badShare`, `notEnoughShares`, `recoveredKeyMismatch`.
  public func combine(
    claimID: String, taps: [EstateEvent], claimant: String, with bundle: borrowing PrivateBundle
  ) throws(ShareError) -> Combined {
    var shares = ShareList()
    let aad = SealAAD.releaseShare(estateID: estateID, epoch: statement.epoch, claimID: claimID)
    for event in taps where event.kind == .authorization {
      guard let body = try? AuthorizationPayload(parsing: event.terms.payload), body.claimID == claimID,
        body.epoch == statement.epoch
      else { continue }
      for envelope in body.shareForClaimant {
        guard let plaintext = try? Wrap.open(envelope, with: bundle, authenticating: aad) else { continue }
        let share = try share(plaintext, from: event.terms.actorHash)
        if !shares.indexes.contains(share.index) { shares.append(share) }
        break
      }
    }
    if let own = try? material.openShare(of: claimant, with: bundle), !shares.indexes.contains(own.index) {
      shares.append(own)
    }
    let needed = Int(clamping: max(1, statement.threshold))
    guard shares.count >= needed else { throw .notEnoughShares(have: shares.count, need: needed) }
    let used = shares.prefix(needed)
    let indexes = used.indexes.sorted()
    let key = try ShamirSharing.combine(used)
    guard SHA256.hash(key) == statement.estateKeyCommitment else { throw .recoveredKeyMismatch }
    return Combined(key: key, indexes: indexes)
  }

  /// A share whose index is known and whose commitment fits. The index is not tied to whoever tapped.
  private func share(_ plaintext: consuming SecretBytes, from holder: String) throws(ShareError) -> EstateShare {
    guard plaintext.count == EstateShare.size else {
      throw .badShare(holder: holder, reason: "it has \(plaintext.count) bytes, not 33")
    }
    let index = plaintext.withUnsafeBytes { $0[0] }
    guard index > 0, Int(index) <= statement.shareCommitments.count else {
      throw .badShare(holder: holder, reason: "its index is not one of the epoch's")
    }
    return try EstateShare(
      plaintext, holder: holder, index: UInt64(index), commitment: statement.shareCommitments[Int(index) - 1])
  }
}

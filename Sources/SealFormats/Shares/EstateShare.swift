// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// One share of an Estate Key: an index byte and 32 bytes. Kept in locked memory only.
public struct EstateShare: ~Copyable, Sendable {
  /// Bytes of a share with its index.
  public static let size = 33

  /// Index byte, then 32 bytes.
  public let bytes: SecretBytes
  /// From 1 to 255.
  public let index: UInt8

  /// From opened bytes, checked against the slot's index and commitment.
  ///
  /// - Throws: ``ShareError/badShare(holder:reason:)``.
  public init(
    _ bytes: consuming SecretBytes, holder: String, index: UInt64, commitment: [UInt8]
  ) throws(ShareError) {
    guard bytes.count == Self.size else {
      throw .badShare(holder: holder, reason: "it has \(bytes.count) bytes, not 33")
    }
    let first = bytes.withUnsafeBytes { $0[0] }
    guard first != 0, UInt64(first) == index else { throw .badShare(holder: holder, reason: "its index is another") }
    guard SHA256.hash(bytes) == commitment else { throw .badShare(holder: holder, reason: "its commitment is another") }
    self.bytes = bytes
    self.index = first
  }

  init(unchecked bytes: consuming SecretBytes, index: UInt8) {
    self.bytes = bytes
    self.index = index
  }

  /// SHA-256 of the 33 bytes: what the owner commits to.
  public var commitment: [UInt8] { SHA256.hash(bytes) }

  /// Wraps this share to each of a claimant's devices, for one claim.
  ///
  /// - Parameter epoch: that of the holder's newest statement, not the claim's.
  /// - Throws: ``WrapError/noRecipients``.
  public borrowing func wrapped(
    for claimant: VerifiedIdentity, estateID: String, epoch: UInt64, claimID: String, suite: Wrap.Suite = .best
  ) throws(WrapError) -> (envelopes: [WrapEnvelope], outcomes: [Wrap.Outcome]) {
    try Wrap.seal(
      bytes, to: claimant.devices,
      authenticating: SealAAD.releaseShare(estateID: estateID, epoch: epoch, claimID: claimID), suite: suite)
  }
}

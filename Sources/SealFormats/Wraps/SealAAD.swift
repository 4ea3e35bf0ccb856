// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// What AES-GCM authenticates beside the data: text that ties a ciphertext to its place (FORMATS.md 3c).
public enum SealAAD {
  /// An epoch's wraps: `share.<index>`, `estatekey.owner`, `table.<id>` and so on.
  public static func estate(estateID: String, epoch: UInt64, purpose: String) -> [UInt8] {
    Array("seal.estate.v1|\(estateID)|\(epoch)|\(purpose)".utf8)
  }

  /// A holder's share of an epoch.
  public static func share(estateID: String, epoch: UInt64, index: UInt64) -> [UInt8] {
    estate(estateID: estateID, epoch: epoch, purpose: "share.\(index)")
  }

  /// A holder's share on its way to a claimant. It has no purpose.
  public static func releaseShare(estateID: String, epoch: UInt64, claimID: String) -> [UInt8] {
    Array("seal.release.share.v1|\(estateID)|\(epoch)|\(claimID)".utf8)
  }
}

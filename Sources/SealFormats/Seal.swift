// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// The constants that bind everything here to Seal (FORMATS.md section 1).
public enum Seal {
  /// The relying party ID, permanent.
  public static let relyingPartyID = "sealmessenger.com"
  /// The relying party's name as shown to a person.
  public static let relyingPartyName = "Seal"
  /// The origin that a real client writes. No verifier of Seal's checks it.
  public static let origin = "https://sealmessenger.com"
  /// SHA-256 of the relying party ID, 32 bytes.
  public static let rpIdHash: [UInt8] = SHA256.hash(Array(relyingPartyID.utf8))
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// What a signature is made over: a preimage, its SHA-256, and the form in which that hash is a WebAuthn challenge.
///
/// It is only ever built from typed fields, through ``Statement``, so that nobody can be made to sign bytes of
/// somebody else's choosing.
public struct Commitment: Sendable, Hashable {
  /// The name without the leading `seal.`, for example `release.authorize.v1`.
  public let name: String
  /// What is hashed: the domain, then the fields.
  public let preimage: [UInt8]
  /// SHA-256 of the preimage, 32 bytes. A root credential signs it as the challenge; a device key signs it as a
  /// message, so ECDSA hashes it once more.
  public let digest: [UInt8]

  init(name: String, preimage: Preimage) {
    self.name = name
    self.preimage = preimage.bytes
    self.digest = SHA256.hash(preimage.bytes)
  }

  /// The digest as clientDataJSON carries it: base64url without padding, 43 characters.
  public var challenge: String { Base64.encode(digest, .url) }
}

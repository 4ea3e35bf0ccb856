// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// A secret encrypted to one bundle.
public struct WrapEnvelope: SealShape, Hashable {
  public static let shapeName = "wrap envelope"
  /// X25519 alone.
  public static let classical = "x25519"
  /// X25519 and ML-KEM-768.
  public static let hybrid = "x25519+mlkem768"

  /// `x25519` or `x25519+mlkem768`; kept as text, since an unknown one is skipped and not an error.
  public var suite: String
  /// The ephemeral X25519 key, 32 bytes.
  public var ephemeralPublicKey: [UInt8]
  /// The ML-KEM-768 ciphertext, 1,088 bytes, in the hybrid suite only.
  public var mlkemCiphertext: [UInt8]?
  /// AES-256-GCM: nonce (12), data, tag (16).
  public var ciphertext: [UInt8]

  /// All members at once.
  public init(suite: String, ephemeralPublicKey: [UInt8], mlkemCiphertext: [UInt8]?, ciphertext: [UInt8]) {
    self.suite = suite
    self.ephemeralPublicKey = ephemeralPublicKey
    self.mlkemCiphertext = mlkemCiphertext
    self.ciphertext = ciphertext
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    suite = try m.string("suite")
    ephemeralPublicKey = try m.base64("ephemeralPublicKey")
    mlkemCiphertext = try m.ifPresent("mlkemCiphertext") { name throws(FormatError) in try m.base64(name) }
    ciphertext = try m.base64("ciphertext")
  }

  public var json: JSONValue {
    .object([
      ("suite", .string(suite)), ("ephemeralPublicKey", .base64(ephemeralPublicKey)),
      ("mlkemCiphertext", mlkemCiphertext.map { .base64($0) }), ("ciphertext", .base64(ciphertext)),
    ])
  }
}

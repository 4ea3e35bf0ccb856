// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// A certificate of a P-256 key with every part that a packed attestation certificate has (WebAuthn level 3 section 8.2.1),
/// good until one of them is changed. It is signed with its own key.
struct TestCertificate {
  /// As in the certificate: 2 is version 3, and version 1 is left out.
  var version: UInt8? = 2
  /// Attribute types, by their last arc under 2.5.4, and what stands there.
  var subject: [(type: UInt8, text: String)] = [
    (6, "SE"), (10, "A maker of keys"), (11, "Authenticator Attestation"), (3, "Key 1"),
  ]
  /// The value of basicConstraints; nil leaves the extension out.
  var isAuthority: Bool? = false
  /// The content of the AAGUID extension; nil leaves it out.
  var model: [UInt8]? = Self.der(4, [UInt8](repeating: 0xaa, count: 16))
  var isModelCritical = false

  static func der(_ tag: UInt8, _ parts: [UInt8]...) -> [UInt8] {
    let contents = Array(parts.joined())
    let length: [UInt8] =
      contents.count < 128
      ? [UInt8(contents.count)] : [0x82, UInt8(contents.count >> 8), UInt8(contents.count & 0xff)]
    return [tag] + length + contents
  }

  private static let ecdsaWithSHA256 = der(0x30, [0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2])
  private static let ecPublicKey: [UInt8] = [0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]
  private static let p256: [UInt8] = [0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]
  /// id-fido-gen-ce-aaguid.
  private static let modelType: [UInt8] = [0x06, 11, 0x2b, 6, 1, 4, 1, 0x82, 0xe5, 0x1c, 1, 1, 4]
  private static let constraintsType: [UInt8] = [0x06, 3, 0x55, 0x1d, 0x13]

  private var extensions: [UInt8] {
    var out: [UInt8] = []
    if let isAuthority {
      let value = Self.der(0x30, isAuthority ? [1, 1, 0xff] : [])
      out += Self.der(0x30, Self.constraintsType, [1, 1, 0xff], Self.der(4, value))
    }
    if let model {
      out += Self.der(0x30, Self.modelType, isModelCritical ? [1, 1, 0xff] : [], Self.der(4, model))
    }
    return out.isEmpty ? [] : Self.der(0xa3, Self.der(0x30, out))
  }

  /// The whole, in DER.
  func encoded(_ key: borrowing P256.Signing.PrivateKey) throws(CryptoError) -> [UInt8] {
    let name = subject.flatMap {
      Self.der(0x31, Self.der(0x30, [6, 3, 0x55, 4, $0.type], Self.der(0x0c, Array($0.text.utf8))))
    }
    let valid = Self.der(0x30, Self.der(0x17, Array("200101000000Z".utf8)), Self.der(0x17, Array("400101000000Z".utf8)))
    let publicKey = Self.der(
      0x30, Self.der(0x30, Self.ecPublicKey, Self.p256), Self.der(3, [0], key.publicKey.x963Representation))
    let signed = Self.der(
      0x30, version.map { Self.der(0xa0, [2, 1, $0]) } ?? [], [2, 1, 1], Self.ecdsaWithSHA256, Self.der(0x30, name),
      valid,
      Self.der(0x30, name), publicKey, version == 2 ? extensions : [])
    return Self.der(0x30, signed, Self.ecdsaWithSHA256, Self.der(3, [0], try key.signature(for: signed)))
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// A credential, opened from its id.
final class OpenCredential {
  let id: [UInt8]
  let algorithm: COSEAlgorithm
  let protection: CredentialProtection
  let traits: CredentialTraits
  let key: CredentialKey
  /// The stored part, when the credential is discoverable.
  var stored: StoredCredential?

  init(
    id: [UInt8], algorithm: COSEAlgorithm, protection: CredentialProtection, traits: CredentialTraits,
    key: consuming CredentialKey
  ) {
    self.id = id
    self.algorithm = algorithm
    self.protection = protection
    self.traits = traits
    self.key = key
  }
}

/// credProtect (CTAP 2.1 section 12.1).
enum CredentialProtection: UInt8 {
  case optional = 1
  case optionalWithList = 2
  case required = 3
}

/// What was decided when the credential was made.
struct CredentialTraits: OptionSet {
  let rawValue: UInt8
  static let discoverable = CredentialTraits(rawValue: 1)
  static let hmacSecret = CredentialTraits(rawValue: 2)
  static let largeBlobKey = CredentialTraits(rawValue: 4)
}

/// Credential ids carry their private key, sealed by AES-256-GCM under the key's own secret and bound to the rpId:
/// so any number of credentials needs no storage, and an id of another key or another rpId opens nothing.
///
///     0x01 | nonce (12) | sealed: algorithm (2) credProtect (1) traits (1) length (1) private key, zero padding | tag (16)
enum CredentialHandle {
  private static let version: UInt8 = 1
  private static let overhead = 1 + 12 + 16
  private static let header = 5

  /// A new credential.
  /// - Parameter length: pad the id to this many bytes.
  static func create(
    _ algorithm: COSEAlgorithm, rpIdHash: [UInt8], protection: CredentialProtection, traits: CredentialTraits,
    length: Int, under secret: borrowing SecretBytes
  ) throws(CryptoError) -> OpenCredential {
    let key = try CredentialKey.generate(algorithm)
    let raw = try key.rawRepresentation()
    let size = max(header + raw.count, length - overhead)
    let alg = UInt16(bitPattern: Int16(clamping: algorithm.rawValue))
    let plain = SecretBytes(count: size) { out in
      out[0] = UInt8(alg >> 8)
      out[1] = UInt8(alg & 0xFF)
      out[2] = protection.rawValue
      out[3] = traits.rawValue
      out[4] = UInt8(clamping: raw.count)
      raw.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: out[header...]).copyMemory(from: $0) }
    }
    let nonce = Random.bytes(12)
    let sealed = try AES.GCM.seal(plain, using: secret, nonce: nonce, authenticating: [version] + rpIdHash)
    let id = [version] + nonce + sealed.ciphertext + sealed.tag
    return OpenCredential(id: id, algorithm: algorithm, protection: protection, traits: traits, key: key)
  }

  /// The credential of an id, or nil when the id is not of this key and rpId.
  static func open(_ id: [UInt8], rpIdHash: [UInt8], under secret: borrowing SecretBytes) -> OpenCredential? {
    guard id.count >= overhead + header, id[0] == version else { return nil }
    guard
      let plain = try? AES.GCM.open(
        Array(id[13..<(id.count - 16)]), tag: Array(id.suffix(16)), using: secret, nonce: Array(id[1..<13]),
        authenticating: [version] + rpIdHash)
    else { return nil }
    let head = plain.slice(0..<header).exposed()
    let alg = COSEAlgorithm(rawValue: Int64(Int16(bitPattern: UInt16(head[0]) << 8 | UInt16(head[1]))))
    guard let protection = CredentialProtection(rawValue: head[2]), header + Int(head[4]) <= plain.count else {
      return nil
    }
    let raw = plain.slice(header..<(header + Int(head[4])))
    guard let key = try? CredentialKey.restore(alg, raw) else { return nil }
    return OpenCredential(
      id: id, algorithm: alg, protection: protection, traits: CredentialTraits(rawValue: head[3]), key: key)
  }

  /// A secret of one credential for one use, 32 bytes.
  static func derive(_ use: String, _ id: [UInt8], from secret: borrowing SecretBytes) throws(CryptoError)
    -> SecretBytes
  {
    try HKDF.sha256(
      inputKeyMaterial: secret, salt: SHA256.hash(id), info: Array("sealkey virtual \(use)".utf8), outputByteCount: 32)
  }
}

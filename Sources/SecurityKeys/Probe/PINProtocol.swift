// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// A PIN/UV auth protocol, the platform's side (CTAP 2.1 sections 6.5.6 and 6.5.7).
enum PINProtocol: Int, Sendable {
  /// AES-256-CBC with a zero vector, HMAC cut to 16 bytes.
  case one = 1
  /// HKDF, AES-256-CBC with a random vector, the whole HMAC.
  case two = 2

  /// The key's first choice among the two; nil when it has neither.
  static func preferred(_ info: AuthenticatorInfo) -> PINProtocol? {
    info.pinUvAuthProtocols.lazy.compactMap(PINProtocol.init).first
  }

  /// What both sides know after key agreement.
  struct SharedSecret: ~Copyable {
    let hmacKey: SecretBytes
    let aesKey: SecretBytes
    let version: PINProtocol

    /// From the x coordinate of the agreement.
    init(_ z: borrowing SecretBytes, _ version: PINProtocol) throws(CryptoError) {
      self.version = version
      switch version {
      case .one:
        let key = SHA256.secretHash(z)
        hmacKey = key.clone()
        aesKey = key
      case .two:
        let salt = [UInt8](repeating: 0, count: 32)
        let hmac = try HKDF.sha256(
          inputKeyMaterial: z, salt: salt, info: Array("CTAP2 HMAC key".utf8), outputByteCount: 32)
        let aes = try HKDF.sha256(
          inputKeyMaterial: z, salt: salt, info: Array("CTAP2 AES key".utf8), outputByteCount: 32)
        hmacKey = hmac
        aesKey = aes
      }
    }

    borrowing func encrypt(_ plaintext: borrowing SecretBytes) throws(CryptoError) -> [UInt8] {
      switch version {
      case .one: return try AES.CBC.encrypt(plaintext, using: aesKey, iv: [UInt8](repeating: 0, count: 16))
      case .two:
        let iv = Random.bytes(16)
        return try iv + AES.CBC.encrypt(plaintext, using: aesKey, iv: iv)
      }
    }

    borrowing func decrypt(_ ciphertext: [UInt8]) throws(CryptoError) -> SecretBytes {
      switch version {
      case .one: return try AES.CBC.decrypt(ciphertext, using: aesKey, iv: [UInt8](repeating: 0, count: 16))
      case .two:
        guard ciphertext.count >= 16 else { throw .badLength(what: "ciphertext", count: ciphertext.count) }
        return try AES.CBC.decrypt(Array(ciphertext.dropFirst(16)), using: aesKey, iv: Array(ciphertext.prefix(16)))
      }
    }
  }

  /// pinUvAuthParam: 16 bytes in protocol 1, all 32 in protocol 2 (QUIRKS Q39).
  func authenticate(_ message: [UInt8], key: borrowing SecretBytes) -> [UInt8] {
    let code = HMAC.sha256(message, key: key)
    return self == .one ? Array(code.prefix(16)) : code
  }
}

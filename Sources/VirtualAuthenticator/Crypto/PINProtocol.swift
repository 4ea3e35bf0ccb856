// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// A key's side of a PIN/UV auth protocol (CTAP 2.1 sections 6.5.4, 6.5.6 and 6.5.7).
final class PINProtocol {
  /// 1 or 2.
  let number: Int
  /// The current pinUvAuthToken, 32 bytes.
  private(set) var token: SecretBytes
  private var keyAgreement: P256.KeyAgreement.PrivateKey

  init(_ number: Int) throws(CryptoError) {
    self.number = number
    token = SecretBytes.random(count: 32)
    keyAgreement = try P256.KeyAgreement.PrivateKey()
  }

  /// regenerate(): a new key agreement key.
  func regenerate() throws(CryptoError) { keyAgreement = try P256.KeyAgreement.PrivateKey() }

  /// resetPinUvAuthToken().
  func resetToken() { token = SecretBytes.random(count: 32) }

  /// getPublicKey().
  var publicKey: CBORValue {
    let raw = keyAgreement.publicKey.rawRepresentation
    return .intMap([
      (1, .int(2)), (3, .int(-25)), (-1, .int(1)), (-2, .bytes(Array(raw.prefix(32)))),
      (-3, .bytes(Array(raw.suffix(32)))),
    ])
  }

  /// decapsulate(): the shared secret, 32 bytes in protocol 1, 64 (HMAC key, AES key) in protocol 2.
  /// - Throws: CTAP1_ERR_INVALID_PARAMETER when the platform's key is none.
  func decapsulate(_ cose: CBORItem) throws(CTAPStatus) -> SecretBytes {
    guard cose[1]?.int == 2, cose[3]?.int == -25, cose[-1]?.int == 1, let x = cose[-2]?.bytes, let y = cose[-3]?.bytes,
      x.count == 32, y.count == 32
    else { throw .invalidParameter }
    do {
      let peer = try P256.KeyAgreement.PublicKey(rawRepresentation: x + y)
      let z = try keyAgreement.sharedSecretFromKeyAgreement(with: peer)
      if number == 1 { return SHA256.secretHash(z) }
      let salt = [UInt8](repeating: 0, count: 32)
      let hmacKey = try HKDF.sha256(
        inputKeyMaterial: z, salt: salt, info: Array("CTAP2 HMAC key".utf8), outputByteCount: 32)
      let aesKey = try HKDF.sha256(
        inputKeyMaterial: z, salt: salt, info: Array("CTAP2 AES key".utf8), outputByteCount: 32)
      return SecretBytes(count: 64) { out in
        hmacKey.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: out[..<32]).copyMemory(from: $0) }
        aesKey.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: out[32...]).copyMemory(from: $0) }
      }
    } catch { throw .invalidParameter }
  }

  /// encrypt(): whole blocks only.
  func encrypt(_ plaintext: borrowing SecretBytes, with secret: borrowing SecretBytes) throws(CTAPStatus) -> [UInt8] {
    do {
      if number == 1 {
        return try AES.CBC.encrypt(plaintext, using: secret, iv: [UInt8](repeating: 0, count: 16))
      }
      let iv = Random.bytes(16)
      return iv + (try AES.CBC.encrypt(plaintext, using: secret.slice(32..<64), iv: iv))
    } catch { throw .other }
  }

  /// decrypt(), or nil when the ciphertext has no possible length.
  func decrypt(_ ciphertext: [UInt8], with secret: borrowing SecretBytes) -> SecretBytes? {
    if number == 1 {
      return try? AES.CBC.decrypt(ciphertext, using: secret, iv: [UInt8](repeating: 0, count: 16))
    }
    guard ciphertext.count >= 16 else { return nil }
    return try? AES.CBC.decrypt(
      Array(ciphertext[16...]), using: secret.slice(32..<64), iv: Array(ciphertext[..<16]))
  }

  /// verify() under a shared secret.
  func verify(_ signature: [UInt8], of message: [UInt8], with secret: borrowing SecretBytes) -> Bool {
    let expected = HMAC.sha256(message, key: secret.slice(0..<32))
    // A signature of another length never matches: 16 bytes in protocol 1, 32 in protocol 2.
    return SecretBytes(number == 1 ? Array(expected.prefix(16)) : expected).isEqual(to: SecretBytes(signature))
  }

  /// verify() under the token, which must be in use: the caller checks that.
  func verifyWithToken(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    verify(signature, of: message, with: token)
  }
}

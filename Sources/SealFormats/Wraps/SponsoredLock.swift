// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// The lock around the private halves of an identity that was registered for somebody else (FORMATS.md section 7).
///
/// The key of the lock comes from the registered security key's PRF output; whoever has that key, and its PIN, opens it.
public enum SponsoredLock {
  /// Bytes of PRF output and of the salt.
  public static let secretSize = 32
  /// Bytes of a lock: nonce, two private keys at the very least, and tag; and at most what no halves reach.
  static let sizes = 12 + 32 + 32 + 16...4096
  private static let info = Array("seal.sponsored.lock.v1".utf8)
  private static let aad = Array("seal.sponsored.v1".utf8)

  /// Locks `halves`: nonce (12), ciphertext, tag (16).
  ///
  /// - Parameters:
  ///   - prf: the PRF output, 32 bytes.
  ///   - salt: the salt it was evaluated over, 32 bytes, which is also HKDF's salt.
  public static func lock(
    _ halves: borrowing PrivateHalves, prf: borrowing SecretBytes, salt: [UInt8]
  ) throws(WrapError) -> [UInt8] {
    try lock(halves, prf: prf, salt: salt, nonce: Random.bytes(12))
  }

  static func lock(
    _ halves: borrowing PrivateHalves, prf: borrowing SecretBytes, salt: [UInt8], nonce: [UInt8]
  ) throws(WrapError) -> [UInt8] {
    let key = try lockKey(prf: prf, salt: salt)
    do {
      let sealed = try AES.GCM.seal(halves.encoded(), using: key, nonce: nonce, authenticating: aad)
      return nonce + sealed.ciphertext + sealed.tag
    } catch { throw .crypto(error) }
  }

  /// Opens a lock.
  ///
  /// - Throws: ``WrapError``: `badLock`, `wrongKey`, `badHalves`.
  public static func unlock(
    _ blob: [UInt8], prf: borrowing SecretBytes, salt: [UInt8]
  ) throws(WrapError) -> PrivateHalves {
    try checkSizes(blob, salt)
    let key = try lockKey(prf: prf, salt: salt)
    let text: SecretBytes
    do {
      text = try AES.GCM.open(
        Array(blob[12..<(blob.count - 16)]), tag: Array(blob.suffix(16)), using: key, nonce: Array(blob.prefix(12)),
        authenticating: aad)
    } catch {
      guard case .authenticationFailed = error else { throw .crypto(error) }
      throw .wrongKey
    }
    return try PrivateHalves(parsing: text)
  }

  /// Whether the two could be a lock at all, as far as can be told without the key.
  static func checkSizes(_ blob: [UInt8], _ salt: [UInt8]) throws(WrapError) {
    guard sizes.contains(blob.count) else { throw .badLock(reason: "they have \(blob.count) bytes") }
    guard salt.count == secretSize else { throw .badLock(reason: "their salt has \(salt.count) bytes, not 32") }
  }

  /// HKDF-SHA256 of the PRF output, 32 bytes.
  static func lockKey(prf: borrowing SecretBytes, salt: [UInt8]) throws(WrapError) -> SecretBytes {
    guard prf.count == secretSize else { throw .badLock(reason: "the key's secret has \(prf.count) bytes, not 32") }
    guard salt.count == secretSize else { throw .badLock(reason: "the salt has \(salt.count) bytes, not 32") }
    do { return try HKDF.sha256(inputKeyMaterial: prf, salt: salt, info: info, outputByteCount: 32) } catch {
      throw .crypto(error)
    }
  }

  /// Whether ML-KEM could be compared too, when halves match what was endorsed.
  public enum Match: Sendable, Hashable {
    /// Signing key, X25519 and, where there is one, ML-KEM-768 are the endorsed ones.
    case whole
    /// Signing key and X25519 are; there is an ML-KEM seed that this libcrypto cannot expand.
    case withoutMLKEM
  }

  /// Compares the halves with what the root endorsed: `lockedPrivate` and `prfSalt` are unsigned, so a changed record
  /// could carry somebody else's.
  ///
  /// - Throws: ``WrapError/halvesDoNotMatch(part:)``.
  public static func match(
    _ halves: borrowing PrivateHalves, _ endorsement: DeviceEndorsement
  ) throws(WrapError) -> Match {
    guard halves.devicePublicKey == endorsement.devicePublicKey else { throw .halvesDoNotMatch(part: "device key") }
    let endorsed = try KEMBundle(parsing: endorsement.kemBundlePublicKeys)
    if halves.bundle.isMissingMLKEM, endorsed.mlkem768 != nil {
      guard halves.bundle.publicKeys.x25519 == endorsed.x25519 else { throw .halvesDoNotMatch(part: "key bundle") }
      return .withoutMLKEM
    }
    guard halves.bundle.publicKeys == endorsed, !halves.bundle.isMissingMLKEM else {
      throw .halvesDoNotMatch(part: "key bundle")
    }
    return .whole
  }
}

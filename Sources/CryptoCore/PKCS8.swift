// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// Private keys under a passphrase: EncryptedPrivateKeyInfo of PKCS#8 (RFC 5958) with PBES2, scrypt and AES-256-CBC.
public enum PKCS8 {
  /// scrypt's parameters: 16 MiB, five times over. More memory than this libcrypto would refuse to read again.
  private static let (cost, blockSize, parallelism): (UInt64, UInt64, UInt64) = (1 << 14, 8, 5)
  /// Bytes of the salt.
  private static let saltSize = 16

  /// Encrypts the DER text of a PrivateKeyInfo.
  /// - Returns: the DER text of an EncryptedPrivateKeyInfo.
  /// - Throws: ``CryptoError``.
  public static func seal(
    _ key: borrowing SecretBytes, passphrase: borrowing SecretBytes
  ) throws(CryptoError) -> [UInt8] {
    let info = key.withUnsafeBytes { bytes -> OpaquePointer? in
      var next = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      return d2i_PKCS8_PRIV_KEY_INFO(nil, &next, bytes.count)
    }
    guard let info else { throw .openssl("d2i_PKCS8_PRIV_KEY_INFO") }
    // Wipes the key in it.
    defer { PKCS8_PRIV_KEY_INFO_free(info) }
    var salt = Random.bytes(saltSize)
    let scheme = PKCS5_pbe2_set_scrypt(
      EVP_aes_256_cbc(), &salt, Int32(saltSize), nil, cost, blockSize, parallelism)
    guard let scheme else { throw .openssl("PKCS5_pbe2_set_scrypt") }
    let sealed = passphrase.withUnsafeBytes { bytes in
      PKCS8_set0_pbe(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), info, scheme)
    }
    guard let sealed else {
      X509_ALGOR_free(scheme)
      throw .openssl("PKCS8_set0_pbe")
    }
    defer { X509_SIG_free(sealed) }
    var out: UnsafeMutablePointer<UInt8>?
    let count = i2d_X509_SIG(sealed, &out)
    guard count > 0, let out else { throw .openssl("i2d_X509_SIG") }
    defer { ccrypto_OPENSSL_free(out) }
    return Array(UnsafeBufferPointer(start: out, count: Int(count)))
  }

  /// Decrypts.
  /// - Returns: the DER text of a PrivateKeyInfo.
  /// - Throws: ``CryptoError``: `authenticationFailed` when the passphrase is another or the text was changed.
  public static func open(
    _ sealed: [UInt8], passphrase: borrowing SecretBytes
  ) throws(CryptoError) -> SecretBytes {
    let envelope = sealed.withUnsafeBufferPointer { bytes -> OpaquePointer? in
      var next = bytes.baseAddress
      return d2i_X509_SIG(nil, &next, bytes.count)
    }
    guard let envelope else { throw .authenticationFailed }
    defer { X509_SIG_free(envelope) }
    let info = passphrase.withUnsafeBytes { bytes in
      PKCS8_decrypt(envelope, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
    }
    guard let info else {
      ERR_clear_error()
      throw .authenticationFailed
    }
    defer { PKCS8_PRIV_KEY_INFO_free(info) }
    let count = i2d_PKCS8_PRIV_KEY_INFO(info, nil)
    guard count > 0, count < 1 << 16 else { throw .authenticationFailed }
    return SecretBytes(count: Int(count)) { room in
      var next = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
      _ = i2d_PKCS8_PRIV_KEY_INFO(info, &next)
    }
  }
}

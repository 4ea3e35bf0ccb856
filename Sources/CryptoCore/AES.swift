// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// AES-256.
public enum AES {
  /// Galois/counter mode with a 12-byte nonce and a 16-byte tag (NIST SP 800-38D).
  public enum GCM {
    /// Ciphertext (as long as the plaintext) and tag of `plaintext`. A nonce must never be used twice with one key.
    /// - Throws: ``CryptoError/badLength(what:count:)``.
    public static func seal(
      _ plaintext: borrowing SecretBytes, using key: borrowing SecretBytes, nonce: [UInt8], authenticating data: [UInt8]
    ) throws(CryptoError) -> (ciphertext: [UInt8], tag: [UInt8]) {
      let context = try start(key, nonce, data, encrypt: true)
      defer { EVP_CIPHER_CTX_free(context) }
      var ciphertext = [UInt8](repeating: 0, count: plaintext.count)
      var written: Int32 = 0
      let done = plaintext.withUnsafeBytes {
        EVP_CipherUpdate(
          context, &ciphertext, &written, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32($0.count))
      }
      var tag = [UInt8](repeating: 0, count: 16)
      var rest = [UInt8](repeating: 0, count: 16)
      guard done == 1, written == plaintext.count, EVP_CipherFinal_ex(context, &rest, &written) == 1,
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1
      else { throw .openssl("EVP_CipherUpdate") }
      return (ciphertext, tag)
    }

    /// The plaintext, when the tag authenticates it.
    /// - Throws: ``CryptoError/authenticationFailed``, ``CryptoError/badLength(what:count:)``.
    public static func open(
      _ ciphertext: [UInt8], tag: [UInt8], using key: borrowing SecretBytes, nonce: [UInt8],
      authenticating data: [UInt8]
    ) throws(CryptoError) -> SecretBytes {
      guard tag.count == 16 else { throw .badLength(what: "tag", count: tag.count) }
      let context = try start(key, nonce, data, encrypt: false)
      defer { EVP_CIPHER_CTX_free(context) }
      var written: Int32 = 0
      var done: Int32 = 0
      let plaintext = SecretBytes(count: ciphertext.count) {
        done = EVP_CipherUpdate(
          context, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), &written, ciphertext, Int32(ciphertext.count))
      }
      var tag = tag
      var rest = [UInt8](repeating: 0, count: 16)
      guard done == 1, written == ciphertext.count,
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1,
        EVP_CipherFinal_ex(context, &rest, &written) == 1
      else { throw .clearing(.authenticationFailed) }
      return plaintext
    }

    private static func start(
      _ key: borrowing SecretBytes, _ nonce: [UInt8], _ data: [UInt8], encrypt: Bool
    ) throws(CryptoError) -> OpaquePointer {
      guard key.count == 32 else { throw .badLength(what: "key", count: key.count) }
      guard nonce.count == 12 else { throw .badLength(what: "nonce", count: nonce.count) }
      guard let context = EVP_CIPHER_CTX_new() else { throw .openssl("EVP_CIPHER_CTX_new") }
      var written: Int32 = 0
      let ready = key.withUnsafeBytes {
        EVP_CipherInit_ex2(
          context, EVP_aes_256_gcm(), $0.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce, encrypt ? 1 : 0, nil)
      }
      guard ready == 1,
        data.isEmpty || EVP_CipherUpdate(context, nil, &written, data, Int32(data.count)) == 1
      else {
        EVP_CIPHER_CTX_free(context)
        throw .openssl("EVP_CipherInit_ex2")
      }
      return context
    }
  }

  /// Cipher block chaining without padding: what CTAP's PIN protocols use (CTAP 2.1 section 6.5.6).
  public enum CBC {
    /// Encrypts whole 16-byte blocks.
    /// - Throws: ``CryptoError/badLength(what:count:)``.
    public static func encrypt(
      _ plaintext: borrowing SecretBytes, using key: borrowing SecretBytes, iv: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
      let out = try run(plaintext, key, iv, encrypt: true)
      return out.exposed()
    }

    /// Decrypts whole 16-byte blocks.
    /// - Throws: ``CryptoError/badLength(what:count:)``.
    public static func decrypt(
      _ ciphertext: [UInt8], using key: borrowing SecretBytes, iv: [UInt8]
    ) throws(CryptoError) -> SecretBytes {
      try run(SecretBytes(ciphertext), key, iv, encrypt: false)
    }

    private static func run(
      _ input: borrowing SecretBytes, _ key: borrowing SecretBytes, _ iv: [UInt8], encrypt: Bool
    ) throws(CryptoError) -> SecretBytes {
      guard key.count == 32 else { throw .badLength(what: "key", count: key.count) }
      guard iv.count == 16 else { throw .badLength(what: "initialisation vector", count: iv.count) }
      guard input.count.isMultiple(of: 16), input.count < 1 << 20 else {
        throw .badLength(what: "data", count: input.count)
      }
      guard let context = EVP_CIPHER_CTX_new() else { throw .openssl("EVP_CIPHER_CTX_new") }
      defer { EVP_CIPHER_CTX_free(context) }
      let ready = key.withUnsafeBytes {
        EVP_CipherInit_ex2(
          context, EVP_aes_256_cbc(), $0.baseAddress?.assumingMemoryBound(to: UInt8.self), iv, encrypt ? 1 : 0, nil)
      }
      guard ready == 1, EVP_CIPHER_CTX_set_padding(context, 0) == 1 else { throw .openssl("EVP_CipherInit_ex2") }
      var written: Int32 = 0
      var done: Int32 = 0
      // Decryption may hold one block back and write it at the end: room for both.
      var output = SecretBytes(count: input.count + 16) { out in
        let start = out.baseAddress?.assumingMemoryBound(to: UInt8.self)
        done = input.withUnsafeBytes {
          EVP_CipherUpdate(
            context, start, &written, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32($0.count))
        }
        var rest: Int32 = 0
        if done == 1 { done = EVP_CipherFinal_ex(context, start.map { $0 + Int(written) }, &rest) }
        written += rest
      }
      guard done == 1, written == input.count else { throw .openssl("EVP_CipherUpdate") }
      output.truncate(to: input.count)
      return output
    }
  }
}

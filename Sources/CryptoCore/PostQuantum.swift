// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// ML-KEM-768 (FIPS 203), from the system's libcrypto when it has it (OpenSSL 3.5 or later).
public enum MLKEM768 {
  /// A public key's size in bytes.
  public static let publicKeyByteCount = 1184
  /// A ciphertext's size in bytes.
  public static let ciphertextByteCount = 1088
  /// The private seed's size in bytes: d then z of FIPS 203.
  public static let seedByteCount = 64

  /// Whether this machine's libcrypto offers it.
  public static let isAvailable: Bool = {
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "ML-KEM-768", nil) else {
      ERR_clear_error()
      return false
    }
    EVP_PKEY_CTX_free(context)
    return true
  }()

  /// The other side's key.
  public struct PublicKey: Sendable, Hashable {
    let key: EVPKey
    /// 1,184 bytes.
    public let rawRepresentation: [UInt8]

    /// From 1,184 bytes.
    /// - Throws: ``CryptoError/unavailable(_:)``, ``CryptoError/badPublicKey``.
    public init(rawRepresentation: [UInt8]) throws(CryptoError) {
      guard MLKEM768.isAvailable else { throw .unavailable("ML-KEM-768") }
      guard rawRepresentation.count == publicKeyByteCount else { throw .badPublicKey }
      var parameters = Parameters()
      parameters.octets("pub", rawRepresentation)
      guard let key = EVPKey(type: "ML-KEM-768", selection: ccrypto_EVP_PKEY_PUBLIC_KEY, parameters) else {
        throw .badPublicKey
      }
      self.key = key
      self.rawRepresentation = rawRepresentation
    }

    /// A fresh 32-byte secret and the 1,088-byte ciphertext that carries it.
    public func encapsulate() throws(CryptoError) -> KEMResult {
      guard let context = EVP_PKEY_CTX_new(key.pointer, nil) else { throw .openssl("EVP_PKEY_CTX_new") }
      defer { EVP_PKEY_CTX_free(context) }
      guard EVP_PKEY_encapsulate_init(context, nil) == 1 else { throw .openssl("EVP_PKEY_encapsulate_init") }
      var ciphertext = [UInt8](repeating: 0, count: ciphertextByteCount)
      var (cipherLength, secretLength) = (ciphertextByteCount, 32)
      var done: Int32 = 0
      let secret = SecretBytes(count: 32) {
        done = EVP_PKEY_encapsulate(
          context, &ciphertext, &cipherLength, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), &secretLength)
      }
      guard done == 1, cipherLength == ciphertextByteCount, secretLength == 32 else {
        throw .openssl("EVP_PKEY_encapsulate")
      }
      return KEMResult(sharedSecret: secret, ciphertext: ciphertext)
    }

    public static func == (a: Self, b: Self) -> Bool { a.rawRepresentation == b.rawRepresentation }
    public func hash(into hasher: inout Hasher) { hasher.combine(rawRepresentation) }
  }

  /// Our key.
  public struct PrivateKey: ~Copyable, Sendable {
    let key: EVPKey
    /// The matching public key, 1,184 bytes.
    public let publicKey: [UInt8]

    /// From the 64-byte seed.
    /// - Throws: ``CryptoError/unavailable(_:)``, ``CryptoError/badPrivateKey``.
    public init(seed: borrowing SecretBytes) throws(CryptoError) {
      guard MLKEM768.isAvailable else { throw .unavailable("ML-KEM-768") }
      guard seed.count == seedByteCount else { throw .badPrivateKey }
      var parameters = Parameters()
      seed.withUnsafeBytes { parameters.octets("seed", $0) }
      guard let key = EVPKey(type: "ML-KEM-768", selection: ccrypto_EVP_PKEY_KEYPAIR, parameters) else {
        throw .badPrivateKey
      }
      let publicKey = try key.octets("pub", publicKeyByteCount)
      (self.key, self.publicKey) = (key, publicKey)
    }

    /// The 32-byte secret that a 1,088-byte ciphertext carries.
    public borrowing func decapsulate(_ ciphertext: [UInt8]) throws(CryptoError) -> SecretBytes {
      guard ciphertext.count == ciphertextByteCount else {
        throw .badLength(what: "ML-KEM ciphertext", count: ciphertext.count)
      }
      guard let context = EVP_PKEY_CTX_new(key.pointer, nil) else { throw .openssl("EVP_PKEY_CTX_new") }
      defer { EVP_PKEY_CTX_free(context) }
      guard EVP_PKEY_decapsulate_init(context, nil) == 1 else { throw .openssl("EVP_PKEY_decapsulate_init") }
      var length = 32
      var done: Int32 = 0
      let secret = SecretBytes(count: 32) {
        done = EVP_PKEY_decapsulate(
          context, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), &length, ciphertext, ciphertext.count)
      }
      guard done == 1, length == 32 else { throw .openssl("EVP_PKEY_decapsulate") }
      return secret
    }
  }
}

/// What an encapsulation gives.
public struct KEMResult: ~Copyable, Sendable {
  /// 32 bytes.
  public let sharedSecret: SecretBytes
  /// What carries it.
  public let ciphertext: [UInt8]
}

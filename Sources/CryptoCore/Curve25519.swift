// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// X25519 (RFC 7748).
public enum X25519 {
  /// The other side's key.
  public struct PublicKey: Sendable, Hashable {
    let key: EVPKey
    /// 32 bytes.
    public let rawRepresentation: [UInt8]

    /// From 32 bytes.
    /// - Throws: ``CryptoError/badPublicKey``.
    public init(rawRepresentation: [UInt8]) throws(CryptoError) {
      guard rawRepresentation.count == 32, let key = EVPKey(type: "X25519", rawPublic: rawRepresentation) else {
        throw .badPublicKey
      }
      self.key = key
      self.rawRepresentation = rawRepresentation
    }

    public static func == (a: Self, b: Self) -> Bool { a.rawRepresentation == b.rawRepresentation }
    public func hash(into hasher: inout Hasher) { hasher.combine(rawRepresentation) }
  }

  /// Our key.
  public struct PrivateKey: ~Copyable, Sendable {
    let key: EVPKey
    /// The matching public key.
    public let publicKey: PublicKey

    /// A fresh key.
    public init() throws(CryptoError) {
      let key = try privateKey("X25519", SecretBytes.random(count: 32))
      let publicKey = try PublicKey(rawRepresentation: key.rawPublic(32))
      (self.key, self.publicKey) = (key, publicKey)
    }

    /// From 32 bytes.
    /// - Throws: ``CryptoError/badPrivateKey``.
    public init(rawRepresentation: borrowing SecretBytes) throws(CryptoError) {
      let key = try privateKey("X25519", rawRepresentation)
      let publicKey = try PublicKey(rawRepresentation: key.rawPublic(32))
      (self.key, self.publicKey) = (key, publicKey)
    }

    /// The 32 private bytes.
    public borrowing func rawRepresentation() throws(CryptoError) -> SecretBytes { try key.rawPrivate(32) }

    /// The shared secret, 32 bytes. An all-zero result is refused (RFC 7748 section 6.1).
    /// - Throws: ``CryptoError/agreementFailed``.
    public borrowing func sharedSecretFromKeyAgreement(with peer: PublicKey) throws(CryptoError) -> SecretBytes {
      let secret = try key.agree(with: peer.key, count: 32)
      let any = secret.withUnsafeBytes { $0.reduce(0, |) }
      guard any != 0 else { throw .agreementFailed }
      return secret
    }
  }
}

/// Ed25519 (RFC 8032).
public enum Ed25519 {
  /// A public key that verifies.
  public struct PublicKey: Sendable, Hashable {
    let key: EVPKey
    /// 32 bytes.
    public let rawRepresentation: [UInt8]

    /// From 32 bytes.
    /// - Throws: ``CryptoError/badPublicKey``.
    public init(rawRepresentation: [UInt8]) throws(CryptoError) {
      guard rawRepresentation.count == 32, let key = EVPKey(type: "ED25519", rawPublic: rawRepresentation) else {
        throw .badPublicKey
      }
      self.key = key
      self.rawRepresentation = rawRepresentation
    }

    /// Whether the 64-byte signature is this key's over `message`.
    public func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
      signature.count == 64 && key.verifies(signature, message, digest: nil)
    }

    public static func == (a: Self, b: Self) -> Bool { a.rawRepresentation == b.rawRepresentation }
    public func hash(into hasher: inout Hasher) { hasher.combine(rawRepresentation) }
  }

  /// A private key that signs.
  public struct PrivateKey: ~Copyable, Sendable {
    let key: EVPKey
    /// The matching public key.
    public let publicKey: PublicKey

    /// A fresh key.
    public init() throws(CryptoError) {
      let key = try privateKey("ED25519", SecretBytes.random(count: 32))
      let publicKey = try PublicKey(rawRepresentation: key.rawPublic(32))
      (self.key, self.publicKey) = (key, publicKey)
    }

    /// From the 32-byte seed.
    /// - Throws: ``CryptoError/badPrivateKey``.
    public init(rawRepresentation: borrowing SecretBytes) throws(CryptoError) {
      let key = try privateKey("ED25519", rawRepresentation)
      let publicKey = try PublicKey(rawRepresentation: key.rawPublic(32))
      (self.key, self.publicKey) = (key, publicKey)
    }

    /// The 32-byte seed.
    public borrowing func rawRepresentation() throws(CryptoError) -> SecretBytes { try key.rawPrivate(32) }

    /// A 64-byte signature over `message`.
    public borrowing func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
      try key.sign(message, digest: nil)
    }
  }
}

/// Ed448 (RFC 8032): verification only.
public enum Ed448 {
  /// Whether the 114-byte signature is that of the 57-byte `publicKey` over `message`.
  /// - Throws: ``CryptoError/badPublicKey``.
  public static func isValidSignature(
    _ signature: [UInt8], for message: [UInt8], publicKey: [UInt8]
  ) throws(CryptoError) -> Bool {
    guard publicKey.count == 57, let key = EVPKey(type: "ED448", rawPublic: publicKey) else { throw .badPublicKey }
    return signature.count == 114 && key.verifies(signature, message, digest: nil)
  }
}

/// RSASSA-PKCS1-v1_5 with SHA-256 (RS256): verification only.
public enum RS256 {
  /// Whether a key has a size that is taken: a modulus of 2,048 to 8,192 bits, an exponent of up to 64.
  public static func canUse(modulus n: [UInt8], exponent e: [UInt8]) -> Bool {
    (256...1024).contains(n.drop { $0 == 0 }.count) && (1...8).contains(e.count)
  }

  /// Whether `signature` is that of the key (n, e) over `message`. Keys of 2,048 to 8,192 bits are taken.
  /// - Throws: ``CryptoError/badPublicKey``.
  public static func isValidSignature(
    _ signature: [UInt8], for message: [UInt8], modulus n: [UInt8], exponent e: [UInt8]
  ) throws(CryptoError) -> Bool {
    guard let key = key(modulus: n, exponent: e) else { throw .badPublicKey }
    return key.verifies(signature, message, digest: DigestAlgorithms.SHA256.evp)
  }

  /// The key (n, e); nil when it has a size that is not taken.
  static func key(modulus n: [UInt8], exponent e: [UInt8]) -> EVPKey? {
    guard canUse(modulus: n, exponent: e) else { return nil }
    let modulus = Array(n.drop { $0 == 0 })
    var parameters = Parameters()
    modulus.withUnsafeBytes { parameters.integer("n", bigEndian: $0) }
    e.withUnsafeBytes { parameters.integer("e", bigEndian: $0) }
    return EVPKey(type: "RSA", selection: ccrypto_EVP_PKEY_PUBLIC_KEY, parameters)
  }
}

private func privateKey(_ type: String, _ raw: borrowing SecretBytes) throws(CryptoError) -> EVPKey {
  guard raw.count == 32, let key = EVPKey(type: type, rawPrivate: raw) else { throw .badPrivateKey }
  return key
}

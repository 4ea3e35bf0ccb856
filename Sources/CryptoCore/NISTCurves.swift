// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// NIST P-256 (secp256r1).
public typealias P256 = NISTCurve<CurveParameters.P256>
/// NIST P-384.
public typealias P384 = NISTCurve<CurveParameters.P384>
/// NIST P-521.
public typealias P521 = NISTCurve<CurveParameters.P521>

/// What tells one curve from another.
public protocol CurveParameter: Sendable {
  /// libcrypto's group name.
  static var group: StaticString { get }
  /// libcrypto's curve number.
  static var nid: Int32 { get }
  /// The size of a coordinate and of a scalar in bytes.
  static var byteCount: Int { get }
  /// The digest ECDSA uses with it.
  static var digest: OpaquePointer { get }
}

/// The curves.
public enum CurveParameters {
  /// P-256 with SHA-256: ES256.
  public enum P256: CurveParameter {
    public static var group: StaticString { "prime256v1" }
    public static var nid: Int32 { NID_X9_62_prime256v1 }
    public static var byteCount: Int { 32 }
    public static var digest: OpaquePointer { DigestAlgorithms.SHA256.evp }
  }
  /// P-384 with SHA-384: ES384.
  public enum P384: CurveParameter {
    public static var group: StaticString { "secp384r1" }
    public static var nid: Int32 { NID_secp384r1 }
    public static var byteCount: Int { 48 }
    public static var digest: OpaquePointer { DigestAlgorithms.SHA384.evp }
  }
  /// P-521 with SHA-512: ES512.
  public enum P521: CurveParameter {
    public static var group: StaticString { "secp521r1" }
    public static var nid: Int32 { NID_secp521r1 }
    public static var byteCount: Int { 66 }
    public static var digest: OpaquePointer { DigestAlgorithms.SHA512.evp }
  }
}

/// Keys on one curve, in two uses that never share a key: signing and key agreement.
public enum NISTCurve<Curve: CurveParameter> {
  /// ECDSA (FIPS 186-5).
  public enum Signing {
    /// A public key that verifies.
    public struct PublicKey: Sendable, Hashable {
      let key: EVPKey
      /// x and y, big-endian: 64, 96 or 132 bytes.
      public let rawRepresentation: [UInt8]

      /// From x and y. A point that is not on the curve is refused.
      /// - Throws: ``CryptoError/badPublicKey``.
      public init(rawRepresentation: [UInt8]) throws(CryptoError) {
        key = try publicKey(Curve.self, rawRepresentation)
        self.rawRepresentation = rawRepresentation
      }

      /// From 0x04, x and y: 65, 97 or 133 bytes.
      /// - Throws: ``CryptoError/badPublicKey``.
      public init(x963Representation: [UInt8]) throws(CryptoError) {
        guard x963Representation.first == 4 else { throw .badPublicKey }
        try self.init(rawRepresentation: Array(x963Representation.dropFirst()))
      }

      /// 0x04, x and y.
      public var x963Representation: [UInt8] { [4] + rawRepresentation }

      /// Whether the DER signature is this key's over `message`, which is hashed here.
      public func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        (try? ECDSASignature(derRepresentation: signature, byteCount: Curve.byteCount)) != nil
          && key.verifies(signature, message, digest: Curve.digest)
      }

      /// The same with another digest than the curve's own: X.509 and CMS pair them freely.
      public func isValidSignature<Hash: DigestAlgorithm>(
        _ signature: [UInt8], for message: [UInt8], hashedWith _: Hash.Type
      ) -> Bool {
        (try? ECDSASignature(derRepresentation: signature, byteCount: Curve.byteCount)) != nil
          && key.verifies(signature, message, digest: Hash.evp)
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
        let key = try freshKey(Curve.self)
        let publicKey = try PublicKey(x963Representation: key.octets("pub", 2 * Curve.byteCount + 1))
        (self.key, self.publicKey) = (key, publicKey)
      }

      /// From the scalar, big-endian: 32, 48 or 66 bytes.
      /// - Throws: ``CryptoError/badPrivateKey``.
      public init(rawRepresentation: borrowing SecretBytes) throws(CryptoError) {
        let key = try privateKey(Curve.self, rawRepresentation)
        let publicKey = try PublicKey(x963Representation: key.octets("pub", 2 * Curve.byteCount + 1))
        (self.key, self.publicKey) = (key, publicKey)
      }

      /// The scalar, big-endian.
      public borrowing func rawRepresentation() throws(CryptoError) -> SecretBytes { try scalar(Curve.self, key) }

      /// A DER signature over `message`, which is hashed here.
      public borrowing func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try key.sign(message, digest: Curve.digest)
      }
    }
  }

  /// Elliptic-curve Diffie-Hellman.
  public enum KeyAgreement {
    /// The other side's key.
    public struct PublicKey: Sendable, Hashable {
      let key: EVPKey
      /// x and y, big-endian.
      public let rawRepresentation: [UInt8]

      /// From x and y. A point that is not on the curve is refused.
      /// - Throws: ``CryptoError/badPublicKey``.
      public init(rawRepresentation: [UInt8]) throws(CryptoError) {
        key = try publicKey(Curve.self, rawRepresentation)
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
        let key = try freshKey(Curve.self)
        let publicKey = try PublicKey(rawRepresentation: Array(key.octets("pub", 2 * Curve.byteCount + 1).dropFirst()))
        (self.key, self.publicKey) = (key, publicKey)
      }

      /// From the scalar, big-endian.
      /// - Throws: ``CryptoError/badPrivateKey``.
      public init(rawRepresentation: borrowing SecretBytes) throws(CryptoError) {
        let key = try privateKey(Curve.self, rawRepresentation)
        let publicKey = try PublicKey(rawRepresentation: Array(key.octets("pub", 2 * Curve.byteCount + 1).dropFirst()))
        (self.key, self.publicKey) = (key, publicKey)
      }

      /// The scalar, big-endian.
      public borrowing func rawRepresentation() throws(CryptoError) -> SecretBytes { try scalar(Curve.self, key) }

      /// The x coordinate of the shared point.
      /// - Throws: ``CryptoError/agreementFailed``.
      public borrowing func sharedSecretFromKeyAgreement(with peer: PublicKey) throws(CryptoError) -> SecretBytes {
        try key.agree(with: peer.key, count: Curve.byteCount)
      }
    }
  }
}

private func publicKey<C: CurveParameter>(_: C.Type, _ raw: [UInt8]) throws(CryptoError) -> EVPKey {
  guard raw.count == 2 * C.byteCount else { throw .badPublicKey }
  var parameters = Parameters()
  parameters.text("group", C.group)
  parameters.octets("pub", [4] + raw)
  guard let key = EVPKey(type: "EC", selection: ccrypto_EVP_PKEY_PUBLIC_KEY, parameters) else { throw .badPublicKey }
  return key
}

private func freshKey<C: CurveParameter>(_: C.Type) throws(CryptoError) -> EVPKey {
  guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw .openssl("EVP_PKEY_CTX_new_from_name") }
  defer { EVP_PKEY_CTX_free(context) }
  var parameters = Parameters()
  parameters.text("group", C.group)
  var key: OpaquePointer?
  guard EVP_PKEY_keygen_init(context) == 1, parameters.withPointer({ EVP_PKEY_CTX_set_params(context, $0) }) == 1,
    EVP_PKEY_generate(context, &key) == 1, let key
  else { throw .openssl("EVP_PKEY_generate") }
  return EVPKey(key)
}

private func privateKey<C: CurveParameter>(_: C.Type, _ scalar: borrowing SecretBytes) throws(CryptoError) -> EVPKey {
  guard scalar.count == C.byteCount else { throw .badPrivateKey }
  guard let group = EC_GROUP_new_by_curve_name(C.nid) else { throw .openssl("EC_GROUP_new_by_curve_name") }
  defer { EC_GROUP_free(group) }
  let number = scalar.withUnsafeBytes {
    BN_bin2bn($0.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32($0.count), nil)
  }
  defer { BN_clear_free(number) }
  guard let number, let point = EC_POINT_new(group) else { throw .openssl("EC_POINT_new") }
  defer { EC_POINT_clear_free(point) }
  guard BN_is_zero(number) == 0, let order = EC_GROUP_get0_order(group), BN_cmp(number, order) < 0 else {
    throw .badPrivateKey
  }
  var encoded = [UInt8](repeating: 0, count: 2 * C.byteCount + 1)
  guard EC_POINT_mul(group, point, number, nil, nil, nil) == 1,
    EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &encoded, encoded.count, nil) == encoded.count
  else { throw .clearing(.badPrivateKey) }
  var parameters = Parameters()
  parameters.text("group", C.group)
  parameters.octets("pub", encoded)
  scalar.withUnsafeBytes { parameters.integer("priv", bigEndian: $0) }
  guard let key = EVPKey(type: "EC", selection: ccrypto_EVP_PKEY_KEYPAIR, parameters) else { throw .badPrivateKey }
  return key
}

private func scalar<C: CurveParameter>(_: C.Type, _ key: EVPKey) throws(CryptoError) -> SecretBytes {
  var number: OpaquePointer?
  guard EVP_PKEY_get_bn_param(key.pointer, "priv", &number) == 1, let number else {
    throw .openssl("EVP_PKEY_get_bn_param")
  }
  defer { BN_clear_free(number) }
  var ok = false
  let secret = SecretBytes(count: C.byteCount) {
    ok =
      BN_bn2binpad(number, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(C.byteCount)) == C.byteCount
  }
  guard ok else { throw .openssl("BN_bn2binpad") }
  return secret
}

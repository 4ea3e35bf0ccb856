// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto
import Glibc

/// An X.509 certificate (RFC 5280), read by libcrypto.
public struct Certificate: Sendable {
  let handle: Handle
  /// The DER bytes.
  public let derRepresentation: [UInt8]

  /// An X509 that is freed with its last holder.
  // Sendable although it holds a pointer: the certificate is never changed after it is made, and libcrypto fills its
  // caches under its own locks.
  final class Handle: @unchecked Sendable {
    let pointer: OpaquePointer
    let key: EVPKey?
    init(_ pointer: OpaquePointer) {
      self.pointer = pointer
      key = X509_get_pubkey(pointer).map(EVPKey.init)
      // Reads the extensions once, so that later calls only look.
      _ = X509_check_purpose(pointer, -1, 0)
      ERR_clear_error()
    }
    deinit { X509_free(pointer) }
  }

  /// From DER; nothing may follow it.
  /// - Throws: ``CertificateError/malformed``.
  public init(derRepresentation der: [UInt8]) throws(CertificateError) {
    guard der.count <= 1 << 16 else { throw .malformed }
    let parsed = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
      var at = buffer.baseAddress
      guard let x509 = d2i_X509(nil, &at, buffer.count) else { return nil }
      guard at == buffer.baseAddress.map({ $0 + buffer.count }) else {
        X509_free(x509)
        return nil
      }
      return x509
    }
    guard let parsed else {
      ERR_clear_error()
      throw .malformed
    }
    handle = Handle(parsed)
    derRepresentation = der
  }

  /// The version as people count: 3 for all modern ones.
  public var version: Int { X509_get_version(handle.pointer) + 1 }
  /// Whether it may sign certificates (basicConstraints).
  public var isAuthority: Bool { X509_get_extension_flags(handle.pointer) & UInt32(EXFLAG_CA) != 0 }
  /// The end of its time, in seconds since 1970; nil when it cannot be read.
  public var notAfter: Int64? { Self.seconds(X509_get0_notAfter(handle.pointer)) }
  /// The beginning of its time.
  public var notBefore: Int64? { Self.seconds(X509_get0_notBefore(handle.pointer)) }
  /// Who it is for.
  public var subject: [NameAttribute] { Self.attributes(X509_get_subject_name(handle.pointer)) }
  /// Who signed it.
  public var issuer: [NameAttribute] { Self.attributes(X509_get_issuer_name(handle.pointer)) }

  /// One part of a name.
  public struct NameAttribute: Sendable, Hashable {
    /// The attribute's object identifier, dotted.
    public let oid: String
    /// Its text.
    public let value: String
    /// The usual letters, or the identifier.
    public var label: String {
      ["2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.7": "L", "2.5.4.8": "ST"][oid] ?? oid
    }
  }

  /// An extension.
  public struct Extension: Sendable, Hashable {
    /// Whether a reader that does not know it must refuse the certificate.
    public let isCritical: Bool
    /// The contents of its OCTET STRING.
    public let value: [UInt8]
  }

  /// The extension of that dotted identifier; nil when it is not there.
  public func `extension`(_ oid: String) -> Extension? {
    guard let object = OBJ_txt2obj(oid, 1) else { return nil }
    defer { ASN1_OBJECT_free(object) }
    let index = X509_get_ext_by_OBJ(handle.pointer, object, -1)
    guard index >= 0, let found = X509_get_ext(handle.pointer, index), let data = X509_EXTENSION_get_data(found) else {
      return nil
    }
    return Extension(
      isCritical: X509_EXTENSION_get_critical(found) == 1,
      value: [UInt8](UnsafeBufferPointer(start: ASN1_STRING_get0_data(data), count: Int(ASN1_STRING_length(data)))))
  }

  /// Whether the certificate's key is exactly `key`.
  public func holds<Curve: CurveParameter>(_ key: NISTCurve<Curve>.Signing.PublicKey) -> Bool { holds(key.key) }
  /// Whether the certificate's key is exactly `key`.
  public func holds(_ key: Ed25519.PublicKey) -> Bool { holds(key.key) }
  /// Whether the certificate's key is exactly the RSA key (n, e).
  public func holdsRSA(modulus: [UInt8], exponent: [UInt8]) -> Bool {
    RS256.key(modulus: modulus, exponent: exponent).map(holds) ?? false
  }

  private func holds(_ other: EVPKey) -> Bool {
    guard let key = handle.key else { return false }
    defer { ERR_clear_error() }
    return EVP_PKEY_eq(key.pointer, other.pointer) == 1
  }

  /// How a signature by the certificate's key is made.
  public enum SignatureScheme: Sendable, Hashable {
    /// ECDSA on P-256 with SHA-256.
    case es256
    /// ECDSA on P-384 with SHA-384.
    case es384
    /// ECDSA on P-521 with SHA-512.
    case es512
    /// Ed25519 or Ed448.
    case edDSA
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256
    /// RSASSA-PKCS1-v1_5 with SHA-1: old TPMs only.
    case rs1
  }

  /// Whether `signature` over `message` was made with the certificate's key.
  public func isValidSignature(_ signature: [UInt8], for message: [UInt8], _ scheme: SignatureScheme) -> Bool {
    guard let key = handle.key else { return false }
    switch scheme {
    case .es256: return ecdsa(CurveParameters.P256.self, key, signature, message)
    case .es384: return ecdsa(CurveParameters.P384.self, key, signature, message)
    case .es512: return ecdsa(CurveParameters.P521.self, key, signature, message)
    case .edDSA:
      guard EVP_PKEY_is_a(key.pointer, "ED25519") == 1 || EVP_PKEY_is_a(key.pointer, "ED448") == 1 else { return false }
      return key.verifies(signature, message, digest: nil)
    case .rs256, .rs1:
      guard EVP_PKEY_is_a(key.pointer, "RSA") == 1 else { return false }
      return key.verifies(
        signature, message,
        digest: scheme == .rs1 ? DigestAlgorithms.SHA1.evp : DigestAlgorithms.SHA256.evp)
    }
  }

  private func ecdsa<C: CurveParameter>(
    _: C.Type, _ key: EVPKey, _ signature: [UInt8], _ message: [UInt8]
  ) -> Bool {
    guard isOn(C.self) else { return false }
    guard (try? ECDSASignature(derRepresentation: signature, byteCount: C.byteCount)) != nil else { return false }
    return key.verifies(signature, message, digest: C.digest)
  }

  /// Whether the certificate's key is on that curve.
  public func isOn<C: CurveParameter>(_: C.Type) -> Bool {
    guard let key = handle.key, EVP_PKEY_is_a(key.pointer, "EC") == 1 else { return false }
    var name = [CChar](repeating: 0, count: 64)
    var length = 0
    guard EVP_PKEY_get_group_name(key.pointer, &name, name.count, &length) == 1 else {
      ERR_clear_error()
      return false
    }
    return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self) == C.group.description
  }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
    var broken = tm()
    guard let time, ASN1_TIME_to_tm(time, &broken) == 1 else {
      ERR_clear_error()
      return nil
    }
    return Int64(timegm(&broken))
  }

  private static func attributes(_ name: OpaquePointer?) -> [NameAttribute] {
    (0..<max(0, X509_NAME_entry_count(name))).compactMap { index in
      guard let entry = X509_NAME_get_entry(name, index) else { return nil }
      var oid = [CChar](repeating: 0, count: 128)
      OBJ_obj2txt(&oid, Int32(oid.count), X509_NAME_ENTRY_get_object(entry), 1)
      var text: UnsafeMutablePointer<UInt8>?
      let count = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry))
      defer { ccrypto_OPENSSL_free(text) }
      guard count >= 0 else {
        ERR_clear_error()
        return nil
      }
      return NameAttribute(
        oid: String(decoding: oid.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self),
        value: String(decoding: UnsafeBufferPointer(start: text, count: Int(count)), as: UTF8.self))
    }
  }
}

extension [Certificate.NameAttribute] {
  /// The first value of that dotted identifier.
  public func first(_ oid: String) -> String? { first { $0.oid == oid }?.value }
  /// The name in one line.
  public var text: String { map { "\($0.label)=\($0.value)" }.joined(separator: ", ") }
}

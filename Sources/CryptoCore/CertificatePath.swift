// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// Why a certificate, or the path from it to a root, is not good.
public enum CertificateError: NamedError, Hashable {
  /// Not a certificate.
  case malformed
  /// No path to a root that was given; the reason is libcrypto's, with its number.
  case untrusted(code: Int, reason: String)

  public var name: String {
    switch self {
    case .malformed: "certificateMalformed"
    case .untrusted: "certificateUntrusted"
    }
  }

  public var message: String {
    switch self {
    case .malformed: "A certificate cannot be read."
    case .untrusted(_, let reason): "The certificate does not lead to a trusted root: \(reason)."
    }
  }

  public var next: String {
    "The key's own signature is not in question; to know the model, give the maker's root certificate."
  }

  public var status: Int? { if case .untrusted(let code, _) = self { code } else { nil } }
}

/// A certificate path.
public enum CertificatePath {
  /// Checks the path from `chain`'s first certificate through the rest to one of `roots` (RFC 5280 section 6, by
  /// libcrypto). A root need not be self-signed: metadata may pin an intermediate, or the very certificate.
  /// - Parameter time: when the path must hold, in seconds since 1970; nil leaves the dates unchecked.
  /// - Throws: ``CertificateError``.
  public static func verify(_ chain: [Certificate], roots: [Certificate], at time: Int64?) throws(CertificateError) {
    guard let leaf = chain.first else { throw .malformed }
    let (store, context, others) = (X509_STORE_new(), X509_STORE_CTX_new(), OPENSSL_sk_new_null())
    defer {
      X509_STORE_CTX_free(context)
      X509_STORE_free(store)
      OPENSSL_sk_free(others)
      ERR_clear_error()
    }
    guard let store, let context, let others else { throw .untrusted(code: 0, reason: "libcrypto has no memory") }
    for root in roots { X509_STORE_add_cert(store, root.handle.pointer) }
    for certificate in chain.dropFirst() {
      OPENSSL_sk_push(others, UnsafeRawPointer(certificate.handle.pointer))
    }
    guard X509_STORE_CTX_init(context, store, leaf.handle.pointer, others) == 1 else {
      throw .untrusted(code: 0, reason: "libcrypto refused to begin")
    }
    var flags = UInt(X509_V_FLAG_PARTIAL_CHAIN)
    if time == nil { flags |= UInt(X509_V_FLAG_NO_CHECK_TIME) }
    X509_STORE_CTX_set_flags(context, flags)
    if let time { X509_STORE_CTX_set_time(context, 0, time_t(time)) }
    guard X509_verify_cert(context) == 1 else {
      let code = X509_STORE_CTX_get_error(context)
      let reason = X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "unknown"
      throw .untrusted(code: Int(code), reason: reason)
    }
  }
}

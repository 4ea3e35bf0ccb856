// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// ML-DSA (FIPS 204), verification only: for credentials of keys that have it. libcrypto offers it from 3.5 on; it is
/// looked for by name when the program runs.
public enum MLDSA: String, Sendable, Hashable, CaseIterable {
  /// Security category 2.
  case mlDSA44 = "ML-DSA-44"
  /// Security category 3.
  case mlDSA65 = "ML-DSA-65"
  /// Security category 5.
  case mlDSA87 = "ML-DSA-87"

  /// A public key's size in bytes (FIPS 204 table 2).
  public var publicKeyByteCount: Int {
    switch self {
    case .mlDSA44: 1312
    case .mlDSA65: 1952
    case .mlDSA87: 2592
    }
  }

  /// A signature's size in bytes.
  public var signatureByteCount: Int {
    switch self {
    case .mlDSA44: 2420
    case .mlDSA65: 3309
    case .mlDSA87: 4627
    }
  }

  /// Whether this machine's libcrypto offers it.
  public var isAvailable: Bool { Self.available.contains(self) }

  private static let available = Set(
    allCases.filter { set in
      guard let context = EVP_PKEY_CTX_new_from_name(nil, set.rawValue, nil) else {
        ERR_clear_error()
        return false
      }
      EVP_PKEY_CTX_free(context)
      return true
    })

  /// Whether `signature` is that of `publicKey` over `message`, with an empty context.
  /// - Throws: ``CryptoError/unavailable(_:)``, ``CryptoError/badPublicKey``.
  public func isValidSignature(
    _ signature: [UInt8], for message: [UInt8], publicKey: [UInt8]
  ) throws(CryptoError) -> Bool {
    guard isAvailable else { throw .unavailable(rawValue) }
    guard publicKey.count == publicKeyByteCount, let key = EVPKey(type: rawValue, rawPublic: publicKey) else {
      throw .badPublicKey
    }
    return signature.count == signatureByteCount && key.verifies(signature, message, digest: nil)
  }
}

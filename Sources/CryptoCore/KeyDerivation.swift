// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// HMAC of RFC 2104.
public enum HMAC {
  /// HMAC-SHA-256 of `message`, 32 bytes.
  public static func sha256(_ message: [UInt8], key: borrowing SecretBytes) -> [UInt8] {
    key.withUnsafeBytes { key in
      [UInt8](unsafeUninitializedCapacity: 32) { out, count in
        var written: UInt32 = 0
        // An empty key is legal, a null pointer is not.
        var none: UInt8 = 0
        let done = withUnsafeBytes(of: &none) { none in
          CCrypto.HMAC(
            DigestAlgorithms.SHA256.evp, key.baseAddress ?? none.baseAddress, Int32(key.count), message, message.count,
            out.baseAddress, &written)
        }
        guard done != nil else { Exhaustion.end("HMAC") }
        count = Int(written)
      }
    }
  }
}

/// HKDF of RFC 5869.
public enum HKDF {
  /// HKDF-SHA-256: extract with `salt`, expand with `info` to `outputByteCount` bytes (at most 8,160).
  /// - Throws: ``CryptoError``.
  public static func sha256(
    inputKeyMaterial: borrowing SecretBytes, salt: [UInt8], info: [UInt8], outputByteCount: Int
  ) throws(CryptoError) -> SecretBytes {
    guard (1...255 * 32).contains(outputByteCount) else {
      throw .badLength(what: "derived key", count: outputByteCount)
    }
    guard let kdf = EVP_KDF_fetch(nil, "HKDF", nil) else { throw .openssl("EVP_KDF_fetch") }
    defer { EVP_KDF_free(kdf) }
    guard let context = EVP_KDF_CTX_new(kdf) else { throw .openssl("EVP_KDF_CTX_new") }
    defer { EVP_KDF_CTX_free(context) }
    var parameters = Parameters()
    parameters.text("digest", "SHA2-256")
    inputKeyMaterial.withUnsafeBytes { parameters.octets("key", $0) }
    parameters.octets("salt", salt)
    parameters.octets("info", info)
    var failed = false
    let output = SecretBytes(count: outputByteCount) { out in
      failed =
        parameters.withPointer {
          EVP_KDF_derive(context, out.baseAddress?.assumingMemoryBound(to: UInt8.self), out.count, $0)
        } != 1
    }
    guard !failed else { throw .openssl("EVP_KDF_derive") }
    return output
  }
}

/// Random bytes from libcrypto's generator.
public enum Random {
  /// `count` public random bytes: challenges, nonces, salts.
  public static func bytes(_ count: Int) -> [UInt8] {
    // An array of no capacity is one that all threads share.
    guard count > 0 else { return [] }
    CryptoLibrary.begin()
    return [UInt8](unsafeUninitializedCapacity: count) { out, written in
      guard RAND_bytes(out.baseAddress, Int32(count)) == 1 else { Exhaustion.end("RAND_bytes") }
      written = count
    }
  }
}

extension SecretBytes {
  /// `count` secret random bytes.
  public static func random(count: Int) -> SecretBytes {
    CryptoLibrary.begin()
    return SecretBytes(count: count) { out in
      guard RAND_priv_bytes(out.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(out.count)) == 1 else {
        Exhaustion.end("RAND_priv_bytes")
      }
    }
  }
}

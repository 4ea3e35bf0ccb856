// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// A message digest of FIPS 180-4, by libcrypto. `SHA256.hash(bytes)`, or `init`, `update`, `finalize` for streams.
public struct Digest<Algorithm: DigestAlgorithm>: ~Copyable {
  private let context: OpaquePointer

  /// An empty message.
  public init() {
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex2(context, Algorithm.evp, nil) == 1 else {
      Exhaustion.end("EVP_DigestInit")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Appends bytes to the message.
  public mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  /// Appends bytes to the message.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else { Exhaustion.end("EVP_DigestUpdate") }
  }

  /// The digest of everything so far; the value is used up.
  public consuming func finalize() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Algorithm.byteCount) { buffer, count in
      count = finish(buffer.baseAddress)
    }
  }

  /// The digest of the parts, one after the other.
  public static func hash(_ parts: [UInt8]...) -> [UInt8] {
    var digest = Digest()
    for part in parts { digest.update(part) }
    return digest.finalize()
  }

  /// The digest of bytes in place.
  public static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var digest = Digest()
    digest.update(bytes)
    return digest.finalize()
  }

  /// The digest of a secret, which is told to others.
  public static func hash(_ secret: borrowing SecretBytes) -> [UInt8] { secret.withUnsafeBytes { hash($0) } }

  /// The digest of a secret, which is a secret itself: it is computed in locked memory and is nowhere else.
  public static func secretHash(_ secret: borrowing SecretBytes) -> SecretBytes {
    var digest = Digest()
    secret.withUnsafeBytes { digest.update($0) }
    return SecretBytes(count: Algorithm.byteCount) { room in
      _ = digest.finish(room.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
  }

  /// Writes the digest to `out`, which has room for it.
  private borrowing func finish(_ out: UnsafeMutablePointer<UInt8>?) -> Int {
    var written: UInt32 = 0
    guard EVP_DigestFinal_ex(context, out, &written) == 1 else { Exhaustion.end("EVP_DigestFinal") }
    return Int(written)
  }
}

/// Names one digest algorithm.
public protocol DigestAlgorithm: Sendable {
  /// The digest's size in bytes.
  static var byteCount: Int { get }
  /// libcrypto's method.
  static var evp: OpaquePointer { get }
}

/// The digest algorithms.
public enum DigestAlgorithms {
  /// SHA-256, 32 bytes.
  public enum SHA256: DigestAlgorithm {
    public static let byteCount = 32
    public static var evp: OpaquePointer { methods.sha256 }
  }
  /// SHA-384, 48 bytes.
  public enum SHA384: DigestAlgorithm {
    public static let byteCount = 48
    public static var evp: OpaquePointer { methods.sha384 }
  }
  /// SHA-512, 64 bytes.
  public enum SHA512: DigestAlgorithm {
    public static let byteCount = 64
    public static var evp: OpaquePointer { methods.sha512 }
  }
  /// SHA-1, 20 bytes: only for reading old attestation formats.
  public enum SHA1: DigestAlgorithm {
    public static let byteCount = 20
    public static var evp: OpaquePointer { methods.sha1 }
  }
}

/// SHA-256.
public typealias SHA256 = Digest<DigestAlgorithms.SHA256>
/// SHA-384.
public typealias SHA384 = Digest<DigestAlgorithms.SHA384>
/// SHA-512.
public typealias SHA512 = Digest<DigestAlgorithms.SHA512>
/// SHA-1: only for reading old attestation formats.
public typealias SHA1 = Digest<DigestAlgorithms.SHA1>

/// Fetched once: an implicit fetch at every use costs more than hashing a short message.
// Sendable although it holds pointers: fetched methods are immutable and live as long as the process.
private struct Methods: @unchecked Sendable {
  let sha1 = fetch("SHA1")
  let sha256 = fetch("SHA2-256")
  let sha384 = fetch("SHA2-384")
  let sha512 = fetch("SHA2-512")
  private static func fetch(_ name: String) -> OpaquePointer {
    CryptoLibrary.begin()
    guard let method = EVP_MD_fetch(nil, name, nil) else { Exhaustion.end("EVP_MD_fetch") }
    return method
  }
}
private let methods = Methods()

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// The public keys that something can be wrapped to: X25519 alone, or X25519 and ML-KEM-768.
///
/// Bytes: 32 for X25519 alone, else `SKB1`, X25519 (32), ML-KEM-768 (1,184), together 1,220.
public struct KEMBundle: Sendable, Hashable {
  /// Bytes of a bundle that is X25519 alone.
  public static let classicalSize = 32
  /// Bytes of a bundle with both.
  public static let hybridSize = 1220
  static let magic = Array("SKB1".utf8)

  /// The X25519 public key, 32 bytes.
  public let x25519: [UInt8]
  /// The ML-KEM-768 encapsulation key, 1,184 bytes, where there is one.
  public let mlkem768: [UInt8]?

  /// A bundle of these keys, or nil when a length is wrong.
  public init?(x25519: [UInt8], mlkem768: [UInt8]?) {
    guard x25519.count == 32, mlkem768.map({ $0.count == 1184 }) ?? true else { return nil }
    self.x25519 = x25519
    self.mlkem768 = mlkem768
  }

  /// Reads a bundle.
  ///
  /// - Throws: ``WrapError/badBundle(count:)`` for any other length, or 1,220 bytes that do not start with `SKB1`.
  public init(parsing bytes: [UInt8]) throws(WrapError) {
    switch bytes.count {
    case Self.classicalSize:
      self.x25519 = bytes
      self.mlkem768 = nil
    case Self.hybridSize where bytes.starts(with: Self.magic):
      self.x25519 = Array(bytes[4..<36])
      self.mlkem768 = Array(bytes[36...])
    default:
      throw .badBundle(count: bytes.count)
    }
  }

  /// The bundle's bytes, 32 or 1,220.
  public var bytes: [UInt8] {
    guard let mlkem768 else { return x25519 }
    return Self.magic + x25519 + mlkem768
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Shamir's secret sharing, byte by byte over GF(2^8) with the field polynomial 0x11b: the share of index i is the
/// polynomial at x = i, the secret is the polynomial at x = 0.
///
/// No library that this program uses has it. Multiplication takes the same steps for every value: no table is indexed,
/// and no branch is taken, by a secret.
public enum ShamirSharing {
  /// Splits a 32-byte secret so that any `threshold` of `count` shares give it back.
  ///
  /// With a threshold of 1 every share is the secret itself.
  /// - Throws: ``ShareError/badThreshold(_:)``.
  public static func split(
    _ secret: borrowing SecretBytes, threshold: Int, count: Int
  ) throws(ShareError) -> ShareList {
    guard (1...255).contains(count), (1...count).contains(threshold) else {
      throw .badThreshold("\(threshold) of \(count) shares")
    }
    let coefficients = SecretBytes.random(count: secret.count * (threshold - 1))
    var shares = ShareList()
    for index in 1...UInt8(count) {
      var share = SecretBytes.zeroed(count: secret.count + 1)
      share.withUnsafeMutableBytes { out in
        out[0] = index
        secret.withUnsafeBytes { secret in
          coefficients.withUnsafeBytes { coefficients in
            for position in 0..<secret.count {
              var value: UInt8 = 0
              for term in stride(from: threshold - 2, through: 0, by: -1) {
                value = multiply(value ^ coefficients[position * (threshold - 1) + term], index)
              }
              out[position + 1] = value ^ secret[position]
            }
          }
        }
      }
      shares.append(EstateShare(unchecked: share, index: index))
    }
    return shares
  }

  /// The secret that `shares` give: exactly these are used, and their indexes must differ.
  ///
  /// - Throws: ``ShareError/badThreshold(_:)`` for no shares, equal indexes or different lengths.
  public static func combine(_ shares: borrowing ShareList) throws(ShareError) -> SecretBytes {
    let indexes = shares.indexes
    guard !indexes.isEmpty, Set(indexes).count == indexes.count, !indexes.contains(0) else {
      throw .badThreshold("the shares' indexes")
    }
    var out = SecretBytes.zeroed(count: EstateShare.size - 1)
    for (position, index) in indexes.enumerated() {
      // The Lagrange factor at x = 0: the product of xk / (xi + xk), where + and - are both xor. Indexes are public.
      var factor: UInt8 = 1
      for other in indexes where other != index {
        factor = multiply(factor, multiply(other, inverse(index ^ other)))
      }
      try shares.withShare(at: position) { share throws(ShareError) in
        guard share.bytes.count == EstateShare.size else { throw .badThreshold("a share's length") }
        share.bytes.withUnsafeBytes { bytes in
          out.withUnsafeMutableBytes { out in
            for i in 0..<out.count { out[i] ^= multiply(bytes[i + 1], factor) }
          }
        }
      }
    }
    return out
  }

  static func multiply(_ a: UInt8, _ b: UInt8) -> UInt8 {
    var (a, b, product) = (a, b, UInt8(0))
    for _ in 0..<8 {
      product ^= a & (0 &- (b & 1))
      let carry = 0 &- (a >> 7)
      a = (a << 1) ^ (0x1b & carry)
      b >>= 1
    }
    return product
  }

  /// a to the power 254, which is 1/a; 0 for 0.
  static func inverse(_ a: UInt8) -> UInt8 {
    var result: UInt8 = 1
    for _ in 0..<254 { result = multiply(result, a) }
    return result
  }
}

/// Shares, which cannot be copied and so cannot be kept in an array.
public struct ShareList: ~Copyable, Sendable {
  private final class Box: Sendable {
    let share: EstateShare
    init(_ share: consuming EstateShare) { self.share = share }
  }
  private var boxes: [Box] = []

  /// No shares.
  public init() {}

  /// How many.
  public var count: Int { boxes.count }
  /// Their indexes, in order.
  public var indexes: [UInt8] { boxes.map { $0.share.index } }
  /// Their commitments, in order.
  public var commitments: [[UInt8]] { boxes.map { $0.share.commitment } }

  /// Adds one.
  public mutating func append(_ share: consuming EstateShare) { boxes.append(Box(share)) }

  /// Reads the share at `position`, which must be less than ``count``.
  public borrowing func withShare<R, E: Error>(
    at position: Int, _ body: (borrowing EstateShare) throws(E) -> R
  ) throws(E) -> R {
    try body(boxes[position].share)
  }

  /// The first `count` of them.
  public consuming func prefix(_ count: Int) -> ShareList {
    var out = ShareList()
    out.boxes = Array(boxes.prefix(count))
    return out
  }
}

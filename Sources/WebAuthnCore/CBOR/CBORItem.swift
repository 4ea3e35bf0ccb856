// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// One decoded CBOR data item (RFC 8949) together with where it stood in the input.
///
/// The offsets let a caller keep the raw slice: signatures cover bytes, never a re-encoding.
public struct CBORItem: Sendable {
  /// What the item is.
  public enum Value: Sendable {
    /// Major type 0.
    case unsigned(UInt64)
    /// Major type 1: the item's value is -1 - n.
    case negative(UInt64)
    /// Major type 2.
    case bytes([UInt8])
    /// Major type 3. Real keys cut names in mid-character: bytes that are not UTF-8 read as U+FFFD, and
    /// ``CBORItem/isValidUTF8`` says so.
    case text(String)
    /// Major type 4.
    case array([CBORItem])
    /// Major type 5, in the order of the input.
    case map([Entry])
    /// Major type 6.
    indirect case tag(UInt64, CBORItem)
    /// False or true.
    case bool(Bool)
    /// Null.
    case null
    /// Undefined.
    case undefined
    /// Half, single or double precision.
    case float(Double)
    /// Any other simple value.
    case simple(UInt8)
  }

  /// One key and value of a map.
  public struct Entry: Sendable {
    /// The key.
    public let key: CBORItem
    /// The value.
    public let value: CBORItem
  }

  /// What the item is.
  public let value: Value
  /// Where its first byte stood in the input, and the first byte after it.
  public let range: Range<Int>
  /// False only for text whose bytes were not UTF-8.
  public let isValidUTF8: Bool

  init(_ value: Value, _ range: Range<Int>, isValidUTF8: Bool = true) {
    self.value = value
    self.range = range
    self.isValidUTF8 = isValidUTF8
  }
}

/// Reading without a switch at every step. Each is nil when the item is of another kind.
///
/// None is inlined: Swift 6.3's optimiser stops with an ownership error where chains of them meet in one function.
extension CBORItem {
  /// The integer, when it fits Int64.
  @inline(never) public var int: Int64? {
    switch value {
    case .unsigned(let n): Int64(exactly: n)
    case .negative(let n): Int64(exactly: n).map { -1 - $0 }
    default: nil
    }
  }

  /// The integer, when it is not negative.
  @inline(never) public var unsigned: UInt64? { if case .unsigned(let n) = value { n } else { nil } }
  /// The byte string.
  @inline(never) public var bytes: [UInt8]? { if case .bytes(let b) = value { b } else { nil } }
  /// The text string.
  @inline(never) public var text: String? { if case .text(let t) = value { t } else { nil } }
  /// The elements.
  @inline(never) public var array: [CBORItem]? { if case .array(let a) = value { a } else { nil } }
  /// The entries.
  @inline(never) public var map: [Entry]? { if case .map(let m) = value { m } else { nil } }
  /// The boolean.
  @inline(never) public var bool: Bool? { if case .bool(let b) = value { b } else { nil } }

  /// The map member under an integer key.
  @inline(never) public subscript(key: Int64) -> CBORItem? { map?.first { $0.key.int == key }?.value }
  /// The map member under a text key.
  @inline(never) public subscript(key: String) -> CBORItem? {
    map?.first { $0.key.text?.isExactly(key) == true }?.value
  }

  /// The item again as a value to write.
  public var rewritten: CBORValue {
    switch value {
    case .unsigned(let n): .unsigned(n)
    case .negative(let n): .negative(n)
    case .bytes(let b): .bytes(b)
    case .text(let t): .text(t)
    case .array(let a): .array(a.map(\.rewritten))
    case .map(let m): .map(m.map { ($0.key.rewritten, $0.value.rewritten) })
    case .tag(let t, let item): .tag(t, item.rewritten)
    case .bool(let b): .bool(b)
    case .null: .null
    case .undefined: .simple(23)
    case .float(let d): .float(d)
    case .simple(let s): .simple(s)
    }
  }
}

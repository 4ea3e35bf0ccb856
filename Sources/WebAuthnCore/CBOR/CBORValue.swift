// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// A value to be written as CBOR, always in CTAP2 canonical form (CTAP 2.1 section 8): shortest integers, definite
/// lengths, map keys sorted by major type, then length, then bytes.
public enum CBORValue: Sendable {
  /// Major type 0.
  case unsigned(UInt64)
  /// Major type 1: -1 - n.
  case negative(UInt64)
  /// Major type 2.
  case bytes([UInt8])
  /// Major type 3.
  case text(String)
  /// Major type 4.
  case array([CBORValue])
  /// Major type 5, sorted when written.
  case map([(CBORValue, CBORValue)])
  /// Major type 6.
  indirect case tag(UInt64, CBORValue)
  /// False or true.
  case bool(Bool)
  /// Null.
  case null
  /// Double precision.
  case float(Double)
  /// A simple value.
  case simple(UInt8)
  /// Bytes that are already one encoded item.
  case encoded([UInt8])

  /// An integer of either sign.
  public static func int(_ n: Int) -> CBORValue { n >= 0 ? .unsigned(UInt64(n)) : .negative(UInt64(-1 - n)) }

  /// A map with integer keys; members whose value is nil are left out.
  public static func intMap(_ members: [(Int, CBORValue?)]) -> CBORValue {
    .map(members.compactMap { key, value in value.map { (.int(key), $0) } })
  }

  /// A map with text keys; members whose value is nil are left out.
  public static func textMap(_ members: [(String, CBORValue?)]) -> CBORValue {
    .map(members.compactMap { key, value in value.map { (.text(key), $0) } })
  }

  /// The canonical bytes.
  public static func encode(_ value: CBORValue) -> [UInt8] {
    var out: [UInt8] = []
    value.write(to: &out)
    return out
  }

  private func write(to out: inout [UInt8]) {
    switch self {
    case .unsigned(let n): Self.head(0, n, &out)
    case .negative(let n): Self.head(1, n, &out)
    case .bytes(let b):
      Self.head(2, UInt64(b.count), &out)
      out += b
    case .text(let t):
      Self.head(3, UInt64(t.utf8.count), &out)
      out += t.utf8
    case .array(let a):
      Self.head(4, UInt64(a.count), &out)
      for element in a { element.write(to: &out) }
    case .map(let m):
      Self.head(5, UInt64(m.count), &out)
      let entries = m.map { (key: Self.encode($0.0), value: $0.1) }
      for entry in entries.sorted(by: { Self.canonicalOrder($0.key, $1.key) }) {
        out += entry.key
        entry.value.write(to: &out)
      }
    case .tag(let n, let value):
      Self.head(6, n, &out)
      value.write(to: &out)
    case .bool(let b): out.append(b ? 0xf5 : 0xf4)
    case .null: out.append(0xf6)
    case .float(let d):
      out.append(0xfb)
      withUnsafeBytes(of: d.bitPattern.bigEndian) { out += $0 }
    case .simple(let n): out += n < 24 ? [0xe0 | n] : [0xf8, n]
    case .encoded(let b): out += b
    }
  }

  /// Major type first, then length, then bytes: for encoded keys, the first byte's top bits, the length, the rest.
  private static func canonicalOrder(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    let (ma, mb) = ((a.first ?? 0) >> 5, (b.first ?? 0) >> 5)
    if ma != mb { return ma < mb }
    if a.count != b.count { return a.count < b.count }
    return a.lexicographicallyPrecedes(b)
  }

  private static func head(_ major: UInt8, _ n: UInt64, _ out: inout [UInt8]) {
    let m = major << 5
    switch n {
    case 0..<24: out.append(m | UInt8(n))
    case 24..<0x100: out += [m | 24, UInt8(n)]
    case 0x100..<0x1_0000: out += [m | 25, UInt8(n >> 8), UInt8(n & 255)]
    case 0x1_0000..<0x1_0000_0000:
      out.append(m | 26)
      for shift in stride(from: 24, through: 0, by: -8) { out.append(UInt8(truncatingIfNeeded: n >> UInt64(shift))) }
    default:
      out.append(m | 27)
      for shift in stride(from: 56, through: 0, by: -8) { out.append(UInt8(truncatingIfNeeded: n >> UInt64(shift))) }
    }
  }
}

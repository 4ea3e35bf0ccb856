// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// Just enough DER (X.690) to write a certificate.
enum DER {
  static func tlv(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    let length: [UInt8]
    switch count {
    case 0..<0x80: length = [UInt8(count)]
    case 0x80..<0x100: length = [0x81, UInt8(count)]
    default: length = [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(count & 0xFF)]
    }
    return [tag] + length + content
  }

  static func sequence(_ parts: [UInt8]...) -> [UInt8] { tlv(0x30, parts.flatMap { $0 }) }
  static func set(_ parts: [UInt8]...) -> [UInt8] { tlv(0x31, parts.flatMap { $0 }) }
  static func octets(_ bytes: [UInt8]) -> [UInt8] { tlv(0x04, bytes) }
  static func bits(_ bytes: [UInt8], unused: UInt8 = 0) -> [UInt8] { tlv(0x03, [unused] + bytes) }
  static func explicit(_ number: UInt8, _ content: [UInt8]) -> [UInt8] { tlv(0xA0 | number, content) }
  static func utf8(_ text: String) -> [UInt8] { tlv(0x0C, Array(text.utf8)) }
  static func printable(_ text: String) -> [UInt8] { tlv(0x13, Array(text.utf8)) }
  static func generalizedTime(_ text: String) -> [UInt8] { tlv(0x18, Array(text.utf8)) }
  static func utcTime(_ text: String) -> [UInt8] { tlv(0x17, Array(text.utf8)) }
  static let yes: [UInt8] = [0x01, 0x01, 0xFF]

  /// A positive integer from big-endian bytes.
  static func integer(_ bytes: [UInt8]) -> [UInt8] {
    var digits = Array(bytes.drop { $0 == 0 })
    if digits.first.map({ $0 & 0x80 != 0 }) ?? true { digits.insert(0, at: 0) }
    return tlv(0x02, digits)
  }

  /// An object identifier; the first two arcs are below 40.
  static func oid(_ arcs: [UInt]) -> [UInt8] {
    var content = [UInt8(truncatingIfNeeded: arcs[0] * 40 + arcs[1])]
    for arc in arcs[2...] {
      var digits = [UInt8(arc & 0x7F)]
      var rest = arc >> 7
      while rest > 0 {
        digits.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
        rest >>= 7
      }
      content += digits
    }
    return tlv(0x06, content)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// One element of DER data (X.690), its head read by libcrypto.
public struct DERItem: Sendable, Hashable {
  /// The tag number.
  public let tag: Int
  /// The class: 0 universal, 0x40 application, 0x80 context-specific, 0xC0 private.
  public let tagClass: Int
  /// Whether it holds other elements.
  public let isConstructed: Bool
  /// What it holds.
  public let contents: [UInt8]

  /// The elements that `bytes` are, one after the other; nil when they are anything else.
  public static func sequence(_ bytes: [UInt8]) -> [DERItem]? {
    var items: [DERItem] = []
    var start = 0
    while start < bytes.count {
      guard let (item, range) = first(of: bytes, from: start) else { return nil }
      items.append(item)
      start = range.upperBound
    }
    return items
  }

  /// The element that begins at `start`, and the bytes it takes, its head included; others may follow. Nil when there
  /// is none, or it is cut.
  public static func first(of bytes: [UInt8], from start: Int = 0) -> (item: DERItem, range: Range<Int>)? {
    guard bytes.indices.contains(start) else { return nil }
    return bytes.withUnsafeBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return nil }
      var at: UnsafePointer<UInt8>? = base + start
      var (length, tag, tagClass) = (0, Int32(0), Int32(0))
      let head = ASN1_get_object(&at, &length, &tag, &tagClass, buffer.count - start)
      // Bit 7 is an error, bit 0 an indefinite length, which DER does not have.
      guard head & 0x81 == 0, let contents = at, length >= 0, length <= base + buffer.count - contents else {
        ERR_clear_error()
        return nil
      }
      let item = DERItem(
        tag: Int(tag), tagClass: Int(tagClass), isConstructed: head & 0x20 != 0,
        contents: [UInt8](UnsafeBufferPointer(start: contents, count: length)))
      return (item, start..<(contents - base) + length)
    }
  }

  /// The one element that `bytes` are.
  public init?(_ bytes: [UInt8]) {
    guard let items = Self.sequence(bytes), items.count == 1 else { return nil }
    self = items[0]
  }

  init(tag: Int, tagClass: Int, isConstructed: Bool, contents: [UInt8]) {
    self.tag = tag
    self.tagClass = tagClass
    self.isConstructed = isConstructed
    self.contents = contents
  }

  /// The elements inside; nil when there are none or they are malformed.
  public var children: [DERItem]? { isConstructed ? Self.sequence(contents) : nil }
  /// Whether it is a universal element of that number: 2 INTEGER, 4 OCTET STRING, 6 OBJECT IDENTIFIER, 16 SEQUENCE,
  /// 17 SET.
  public func isUniversal(_ number: Int) -> Bool { tagClass == 0 && tag == number }
  /// Whether it is a context-specific element of that number.
  public func isContext(_ number: Int) -> Bool { tagClass == 0x80 && tag == number }
  /// The value of a small non-negative INTEGER or ENUMERATED.
  public var smallInteger: Int? {
    guard isUniversal(2) || isUniversal(10), let first = contents.first, first < 0x80, contents.count <= 4 else {
      return nil
    }
    return contents.reduce(0) { $0 << 8 | Int($1) }
  }
}

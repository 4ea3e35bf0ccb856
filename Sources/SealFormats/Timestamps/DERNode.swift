// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// One element of strict DER (X.690): definite, shortest lengths of at most four bytes, nothing left over.
struct DERNode {
  /// The most children that one element may have: nothing in a token needs more.
  static let maximumChildren = 64

  let tag: UInt8
  /// The element with its header.
  let whole: ArraySlice<UInt8>
  /// What is inside it.
  let content: ArraySlice<UInt8>

  /// The one element that `bytes` is.
  init?(_ bytes: ArraySlice<UInt8>) {
    guard let (node, rest) = Self.first(of: bytes), rest.isEmpty else { return nil }
    self = node
  }

  private init(tag: UInt8, whole: ArraySlice<UInt8>, content: ArraySlice<UInt8>) {
    self.tag = tag
    self.whole = whole
    self.content = content
  }

  /// The first element of `bytes`, and what follows it.
  private static func first(of bytes: ArraySlice<UInt8>) -> (DERNode, ArraySlice<UInt8>)? {
    let start = bytes.startIndex
    guard bytes.count >= 2 else { return nil }
    let tag = bytes[start]
    // Tags of more than one byte stand nowhere in a token or a certificate of ours.
    guard tag & 0x1f != 0x1f else { return nil }
    var length = Int(bytes[start + 1])
    var header = 2
    if length >= 0x80 {
      let count = length & 0x7f
      guard (1...4).contains(count), bytes.count >= 2 + count, bytes[start + 2] != 0 else { return nil }
      length = bytes[(start + 2)..<(start + 2 + count)].reduce(0) { $0 << 8 | Int($1) }
      guard length >= 0x80 else { return nil }
      header += count
    }
    guard length <= bytes.count - header else { return nil }
    let body = (start + header)..<(start + header + length)
    return (
      DERNode(tag: tag, whole: bytes[start..<body.upperBound], content: bytes[body]), bytes[body.upperBound...]
    )
  }

  /// The elements inside a constructed one; nil when they do not fill it exactly, or are too many.
  var children: [DERNode]? {
    guard tag & 0x20 != 0 else { return nil }
    var out: [DERNode] = []
    var rest = content
    while !rest.isEmpty {
      guard out.count < Self.maximumChildren, let (node, after) = Self.first(of: rest) else { return nil }
      out.append(node)
      rest = after
    }
    return out
  }

  /// The children of an element with this tag.
  func children(tag: UInt8) -> [DERNode]? { self.tag == tag ? children : nil }

  /// The content of an element with this tag.
  func content(tag: UInt8) -> [UInt8]? { self.tag == tag ? Array(content) : nil }

  /// A small INTEGER that is not negative.
  var smallInteger: Int? {
    guard tag == 0x02, (1...4).contains(content.count), let first = content.first, first & 0x80 == 0 else { return nil }
    if content.count > 1, first == 0, content[content.startIndex + 1] & 0x80 == 0 { return nil }
    return content.reduce(0) { $0 << 8 | Int($1) }
  }
}

/// The object identifiers that a token is made of, as DER content.
enum OID {
  static let signedData: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02]
  static let tstInfo: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04]
  static let contentType: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03]
  static let messageDigest: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04]
  static let ecPublicKey: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]
  static let p256: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
  static let p384: [UInt8] = [0x2b, 0x81, 0x04, 0x00, 0x22]
  static let p521: [UInt8] = [0x2b, 0x81, 0x04, 0x00, 0x23]
  static let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
  static let sha384: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02]
  static let sha512: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03]
  static let ecdsaSHA256: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]
  static let ecdsaSHA384: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03]
  static let ecdsaSHA512: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04]
}

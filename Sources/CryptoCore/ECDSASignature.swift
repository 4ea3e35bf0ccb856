// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// An ECDSA signature as two integers, strict about its DER form both ways.
///
/// The same two integers have exactly one encoding here: what is read is encoded again and compared, so a signature
/// cannot be changed without failing (QUIRKS D1, D1b; X.690 section 8.3 and 10.1).
public struct ECDSASignature: Sendable, Hashable {
  /// r, big-endian, left-padded to the curve's coordinate size.
  public let r: [UInt8]
  /// s, likewise.
  public let s: [UInt8]

  /// Reads a DER signature for a curve whose order takes `byteCount` bytes (32, 48 or 66).
  /// - Throws: ``SignatureFormatError``.
  public init(derRepresentation der: [UInt8], byteCount: Int) throws(SignatureFormatError) {
    var reader = DERReader(der)
    let body = try reader.element(tag: 0x30)
    guard reader.isAtEnd else { throw .trailingBytes(offset: reader.position) }
    var inner = DERReader(der, range: body)
    r = try inner.unsignedInteger(byteCount: byteCount)
    s = try inner.unsignedInteger(byteCount: byteCount)
    guard inner.isAtEnd else { throw .extraInteger(offset: inner.position) }
    // The checks above should make this impossible; it is the rule, so it is checked as such.
    guard derRepresentation == der else { throw .notMinimal(offset: 0) }
  }

  /// From r and s of the same size, concatenated.
  public init?(rawRepresentation raw: [UInt8]) {
    guard raw.count.isMultiple(of: 2), !raw.isEmpty else { return nil }
    r = Array(raw.prefix(raw.count / 2))
    s = Array(raw.suffix(raw.count / 2))
  }

  /// r and s, concatenated.
  public var rawRepresentation: [UInt8] { r + s }

  /// The one DER encoding.
  public var derRepresentation: [UInt8] {
    let body = Self.integer(r) + Self.integer(s)
    return [0x30] + (body.count < 128 ? [UInt8(body.count)] : [0x81, UInt8(truncatingIfNeeded: body.count)]) + body
  }

  private static func integer(_ value: [UInt8]) -> [UInt8] {
    var digits = Array(value.drop { $0 == 0 })
    if digits.first.map({ $0 & 0x80 != 0 }) ?? true { digits.insert(0, at: 0) }
    return [0x02, UInt8(truncatingIfNeeded: digits.count)] + digits
  }
}

/// Why bytes are not a well-formed ECDSA signature.
public enum SignatureFormatError: NamedError, Hashable {
  /// Not a DER SEQUENCE of two INTEGERs, or cut.
  case notDER(offset: Int)
  /// A length or an integer is written longer than it need be.
  case notMinimal(offset: Int)
  /// Bytes follow the signature.
  case trailingBytes(offset: Int)
  /// Something follows the two integers inside the sequence.
  case extraInteger(offset: Int)
  /// An integer is zero, negative or larger than the curve's order can be.
  case outOfRange(offset: Int)

  public var name: String {
    switch self {
    case .notDER: "signatureNotDER"
    case .notMinimal: "signatureNotMinimalDER"
    case .trailingBytes: "signatureTrailingBytes"
    case .extraInteger: "signatureExtraInteger"
    case .outOfRange: "signatureOutOfRange"
    }
  }

  public var message: String {
    switch self {
    case .notDER: "The signature is not in DER form."
    case .notMinimal: "The signature is written with needless bytes, which a strict reader refuses."
    case .trailingBytes: "There are bytes after the end of the signature."
    case .extraInteger: "The signature holds more than its two numbers."
    case .outOfRange: "A number in the signature is out of range."
    }
  }

  public var next: String {
    "Get the signature again from where it came from; if it comes straight from a key, report it."
  }

  public var offset: Int? {
    switch self {
    case .notDER(let o), .notMinimal(let o), .trailingBytes(let o), .extraInteger(let o), .outOfRange(let o): o
    }
  }
}

/// Reads DER elements whose lengths fit in one byte after 0x81: enough for any ECDSA signature.
private struct DERReader {
  private let bytes: [UInt8]
  private let end: Int
  private(set) var position: Int

  init(_ bytes: [UInt8], range: Range<Int>? = nil) {
    self.bytes = bytes
    position = range?.lowerBound ?? 0
    end = range?.upperBound ?? bytes.count
  }

  var isAtEnd: Bool { position == end }

  mutating func element(tag: UInt8) throws(SignatureFormatError) -> Range<Int> {
    let start = position
    guard end - position >= 2, bytes[position] == tag else { throw .notDER(offset: start) }
    var length = Int(bytes[position + 1])
    position += 2
    if length == 0x81 {
      guard position < end else { throw .notDER(offset: start + 1) }
      length = Int(bytes[position])
      position += 1
      guard length >= 128 else { throw .notMinimal(offset: start + 1) }
    } else if length > 0x81 {
      // Longer forms: needless for anything a signature can hold.
      throw .notMinimal(offset: start + 1)
    } else if length == 0x80 {
      throw .notDER(offset: start + 1)
    }
    guard length <= end - position else { throw .notDER(offset: start + 1) }
    defer { position += length }
    return position..<(position + length)
  }

  mutating func unsignedInteger(byteCount: Int) throws(SignatureFormatError) -> [UInt8] {
    let start = position
    let range = try element(tag: 0x02)
    let digits = bytes[range]
    guard let first = digits.first else { throw .notDER(offset: start) }
    guard first & 0x80 == 0 else { throw .outOfRange(offset: start) }
    if first == 0, digits.count > 1, bytes[range.lowerBound + 1] & 0x80 == 0 { throw .notMinimal(offset: start) }
    let value = digits.drop { $0 == 0 }
    guard !value.isEmpty, value.count <= byteCount else { throw .outOfRange(offset: start) }
    return [UInt8](repeating: 0, count: byteCount - value.count) + value
  }
}

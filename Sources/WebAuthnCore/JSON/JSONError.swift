// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why bytes are not the JSON they should be. Every case carries the offset at fault.
public enum JSONError: NamedError, Hashable {
  /// The input begins with a byte-order mark.
  case byteOrderMark
  /// The input ends inside a value.
  case truncated(offset: Int)
  /// A byte that cannot stand there.
  case unexpectedByte(UInt8, offset: Int)
  /// A number in a form JSON does not have.
  case badNumber(offset: Int)
  /// A control character or a bad escape in a string, or half of a surrogate pair.
  case badString(offset: Int)
  /// A string that is not UTF-8.
  case notUTF8(offset: Int)
  /// An object with the same member name twice: two readers could take it two ways.
  case duplicateMember(String, offset: Int)
  /// Nested deeper than the limit.
  case tooDeep(offset: Int)
  /// Larger than the limit.
  case tooLarge(offset: Int)
  /// Something follows the value.
  case trailingBytes(offset: Int)

  public var name: String {
    switch self {
    case .byteOrderMark: "jsonByteOrderMark"
    case .truncated: "jsonTruncated"
    case .unexpectedByte: "jsonUnexpectedByte"
    case .badNumber: "jsonBadNumber"
    case .badString: "jsonBadString"
    case .notUTF8: "jsonNotUTF8"
    case .duplicateMember: "jsonDuplicateMember"
    case .tooDeep: "jsonTooDeep"
    case .tooLarge: "jsonTooLarge"
    case .trailingBytes: "jsonTrailingBytes"
    }
  }

  public var message: String {
    switch self {
    case .byteOrderMark: "The JSON text begins with a byte-order mark."
    case .truncated(0): "It is empty, where a JSON text should be."
    case .truncated: "The JSON text ends too early."
    case .unexpectedByte(let byte, 0): "It begins with \(Self.character(byte)), which cannot stand there."
    case .unexpectedByte(let byte, _): "The JSON text has \(Self.character(byte)), which cannot stand there."
    case .badNumber: "The JSON text has a malformed number."
    case .badString: "The JSON text has a malformed string."
    case .notUTF8: "The JSON text is not valid UTF-8."
    case .duplicateMember(let member, _): "The JSON text has the member '\(member)' twice in one object."
    case .tooDeep: "The JSON text is nested too deeply."
    case .tooLarge: "The JSON text is too large."
    case .trailingBytes: "There is something after the end of the JSON text."
    }
  }

  /// A byte as a person reads it.
  private static func character(_ byte: UInt8) -> String {
    (0x21...0x7e).contains(byte) ? "'\(Character(Unicode.Scalar(byte)))'" : "the byte 0x\(Hex.encode([byte]))"
  }

  public var next: String { "Get the file again from where it came from; it was cut or changed on the way." }

  public var offset: Int? {
    switch self {
    case .byteOrderMark: 0
    case .truncated(let o), .unexpectedByte(_, let o), .badNumber(let o), .badString(let o), .notUTF8(let o),
      .duplicateMember(_, let o), .tooDeep(let o), .tooLarge(let o), .trailingBytes(let o):
      o
    }
  }
}

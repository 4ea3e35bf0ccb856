// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why bytes are not the CBOR they should be. Every case carries the offset of the item at fault.
public enum CBORError: NamedError, Hashable {
  /// The input ends inside the item, or a count promises more items than there are bytes left.
  case truncated(offset: Int)
  /// An initial byte outside the profile: an indefinite length, a reserved value, or in Seal's profile a tag,
  /// float or simple value.
  case unsupported(UInt8, offset: Int)
  /// Nested deeper than the limit.
  case tooDeep(offset: Int)
  /// A length or count that does not fit a signed 64-bit integer.
  case tooLarge(offset: Int)
  /// A map with the same key twice.
  case duplicateKey(offset: Int)
  /// Text that is not UTF-8, where the profile demands it.
  case notUTF8(offset: Int)
  /// Bytes after the item, where none may follow.
  case trailingBytes(offset: Int)

  public var name: String {
    switch self {
    case .truncated: "truncated"
    case .unsupported(let byte, _): "unsupported(\(byte))"
    case .tooDeep: "tooDeep"
    case .tooLarge: "tooLarge"
    case .duplicateKey: "duplicateKey"
    case .notUTF8: "notUTF8"
    case .trailingBytes: "trailingBytes"
    }
  }

  public var message: String {
    switch self {
    case .truncated: "The CBOR data ends too early."
    case .unsupported(let byte, _): "The CBOR data has an item of a kind that is not allowed here (first byte \(byte))."
    case .tooDeep: "The CBOR data is nested too deeply."
    case .tooLarge: "The CBOR data claims a length that is too large."
    case .duplicateKey: "A CBOR map has the same key twice."
    case .notUTF8: "A CBOR text is not valid UTF-8."
    case .trailingBytes: "There are bytes after the end of the CBOR data."
    }
  }

  public var next: String { "Get the data again from where it came from; it was cut or changed on the way." }

  public var offset: Int? {
    switch self {
    case .truncated(let o), .unsupported(_, let o), .tooDeep(let o), .tooLarge(let o), .duplicateKey(let o),
      .notUTF8(let o), .trailingBytes(let o):
      o
    }
  }
}

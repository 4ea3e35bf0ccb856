// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// A parsed JSON value (RFC 8259) that remembers where it stood, or a value to be written.
public struct JSONValue: Sendable {
  /// What the value is.
  public enum Kind: Sendable {
    /// null
    case null
    /// true or false
    case bool(Bool)
    /// A number as it was written: nothing is rounded.
    case number(String)
    /// A string, escapes resolved.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object, members in the order they were written; no name comes twice.
    case object([Member])
  }

  /// One member of an object.
  public struct Member: Sendable {
    /// The member's name.
    public let name: String
    /// Its value.
    public let value: JSONValue
    /// A member to be written.
    public init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// What the value is.
  public let kind: Kind
  /// The value's bytes in the input it was read from; empty for a value that was made.
  public let range: Range<Int>

  init(_ kind: Kind, _ range: Range<Int>) {
    self.kind = kind
    self.range = range
  }

  /// A value to be written.
  public init(_ kind: Kind) { self.init(kind, 0..<0) }
}

/// Reading. Each is nil when the value is of another kind.
extension JSONValue {
  /// The string.
  public var string: String? { if case .string(let s) = kind { s } else { nil } }
  /// The boolean.
  public var bool: Bool? { if case .bool(let b) = kind { b } else { nil } }
  /// The elements.
  public var array: [JSONValue]? { if case .array(let a) = kind { a } else { nil } }
  /// The members.
  public var object: [Member]? { if case .object(let o) = kind { o } else { nil } }
  /// Whether it is null.
  public var isNull: Bool { if case .null = kind { true } else { false } }
  /// The integer, when the number was written without a fraction or exponent and fits.
  public var int: Int64? { if case .number(let n) = kind { Int64(n) } else { nil } }
  /// The integer, likewise.
  public var unsigned: UInt64? { if case .number(let n) = kind { UInt64(n) } else { nil } }
  /// The number, rounded to a double.
  public var double: Double? { if case .number(let n) = kind { Double(n) } else { nil } }
  /// The member of exactly that name.
  public subscript(name: String) -> JSONValue? { object?.first { $0.name.isExactly(name) }?.value }
}

/// Making.
extension JSONValue {
  /// A string.
  public static func string(_ s: String) -> JSONValue { JSONValue(.string(s)) }
  /// An integer.
  public static func int(_ n: some BinaryInteger) -> JSONValue { JSONValue(.number(String(n))) }
  /// A boolean.
  public static func bool(_ b: Bool) -> JSONValue { JSONValue(.bool(b)) }
  /// An array.
  public static func array(_ a: [JSONValue]) -> JSONValue { JSONValue(.array(a)) }
  /// An object; members whose value is nil are left out.
  public static func object(_ members: [(String, JSONValue?)]) -> JSONValue {
    JSONValue(.object(members.compactMap { name, value in value.map { Member(name, $0) } }))
  }
  /// Bytes as lowercase hexadecimal.
  public static func hex(_ bytes: [UInt8]) -> JSONValue { .string(Hex.encode(bytes)) }
  /// Bytes as padded standard base64, as Swift's JSONEncoder writes Data.
  public static func base64(_ bytes: [UInt8]) -> JSONValue { .string(Base64.encode(bytes)) }
}

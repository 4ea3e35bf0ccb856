// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// Reads the members of one of Seal's JSON objects as Swift's JSONDecoder would, naming what is wrong.
///
/// Unknown members are passed over; null is taken for absent; bytes are padded base64 or, where Seal's capsule says
/// so, lowercase hexadecimal.
package struct MemberReader {
  package let what: String
  package let json: JSONValue
  private let members: [JSONValue.Member]

  package init(_ json: JSONValue, _ what: String) throws(FormatError) {
    guard let members = json.object else { throw .wrongShape(what: what, offset: json.range.lowerBound) }
    self.what = what
    self.json = json
    self.members = members
  }

  /// The value, or nil when it is absent or null.
  package func optional(_ name: String) -> JSONValue? {
    guard let value = members.first(where: { $0.name == name })?.value, !value.isNull else { return nil }
    return value
  }

  package func required(_ name: String) throws(FormatError) -> JSONValue {
    guard let value = optional(name) else { throw .missingMember(what: what, member: name) }
    return value
  }

  package func fail(_ name: String, _ reason: String) -> FormatError {
    .badMember(what: what, member: name, reason: reason, offset: optional(name)?.range.lowerBound ?? 0)
  }

  /// `read` applied to the member, or nil when it is absent or null.
  package func ifPresent<T>(_ name: String, _ read: (String) throws(FormatError) -> T) throws(FormatError) -> T? {
    optional(name) == nil ? nil : try read(name)
  }

  package func string(_ name: String) throws(FormatError) -> String {
    guard let text = try required(name).string else { throw fail(name, "is not text") }
    return text
  }

  /// Bytes that a name of a person or a thing may have: many times what anybody types, and less than fills a screen.
  package static let maximumName = 1024

  /// A name: text of at most ``maximumName`` bytes.
  package func name(_ name: String) throws(FormatError) -> String {
    let text = try string(name)
    guard text.utf8.count <= Self.maximumName else {
      throw fail(name, "has \(text.utf8.count) bytes and may have \(Self.maximumName)")
    }
    return text
  }

  package func int(_ name: String) throws(FormatError) -> Int64 {
    guard let number = try required(name).int else { throw fail(name, "is not a whole number of 64 bits") }
    return number
  }

  package func unsigned(_ name: String) throws(FormatError) -> UInt64 {
    guard let number = try required(name).unsigned else {
      throw fail(name, "is not a whole number from 0 to 18446744073709551615")
    }
    return number
  }

  package func bool(_ name: String) throws(FormatError) -> Bool {
    guard let flag = try required(name).bool else { throw fail(name, "is neither true nor false") }
    return flag
  }

  package func date(_ name: String) throws(FormatError) -> SealDate {
    guard let seconds = try required(name).double, seconds.isFinite else { throw fail(name, "is not a number") }
    return SealDate(secondsSince2001: seconds)
  }

  package func array(_ name: String) throws(FormatError) -> [JSONValue] {
    guard let array = try required(name).array else { throw fail(name, "is not an array") }
    return array
  }

  package func strings(_ name: String) throws(FormatError) -> [String] {
    var out: [String] = []
    for element in try array(name) {
      guard let text = element.string else { throw fail(name, "holds something that is not text") }
      out.append(text)
    }
    return out
  }

  /// Padded base64.
  package func base64(_ name: String) throws(FormatError) -> [UInt8] {
    guard let bytes = Base64.decode(try string(name)) else { throw fail(name, "is not padded base64") }
    return bytes
  }

  /// Padded base64 of exactly `count` bytes.
  package func base64(_ name: String, count: Int) throws(FormatError) -> [UInt8] {
    let bytes = try base64(name)
    guard bytes.count == count else { throw fail(name, "has \(bytes.count) bytes and must have \(count)") }
    return bytes
  }

  package func base64Array(_ name: String) throws(FormatError) -> [[UInt8]] {
    var out: [[UInt8]] = []
    for text in try strings(name) {
      guard let bytes = Base64.decode(text) else { throw fail(name, "holds something that is not padded base64") }
      out.append(bytes)
    }
    return out
  }

  /// Lowercase hexadecimal.
  package func hex(_ name: String) throws(FormatError) -> [UInt8] {
    guard let bytes = Hex.decode(try string(name), lowercaseOnly: true) else {
      throw fail(name, "is not lowercase hexadecimal")
    }
    return bytes
  }

  /// Lowercase hexadecimal of exactly `count` bytes.
  package func hex(_ name: String, count: Int) throws(FormatError) -> [UInt8] {
    let bytes = try hex(name)
    guard bytes.count == count else { throw fail(name, "has \(bytes.count) bytes and must have \(count)") }
    return bytes
  }

  /// A root hash: 64 lowercase hexadecimal characters.
  package func rootHash(_ name: String) throws(FormatError) -> String {
    _ = try hex(name, count: 32)
    return try string(name)
  }

  package func nested<T: SealShape>(_ name: String, _ type: T.Type = T.self) throws(FormatError) -> T {
    try T(json: try required(name))
  }

  package func list<T: SealShape>(_ name: String, of type: T.Type = T.self) throws(FormatError) -> [T] {
    var out: [T] = []
    for element in try array(name) { out.append(try T(json: element)) }
    return out
  }
}

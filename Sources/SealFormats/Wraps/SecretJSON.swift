// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Writes JSON text that holds secrets, straight into locked memory: no String, no array, no growing buffer.
struct SecretJSONWriter: ~Copyable {
  private var out: SecretBytes
  private var used = 0

  /// Room for `capacity` bytes; more than that is a mistake of the caller and is cut.
  init(capacity: Int) { out = .zeroed(count: capacity) }

  mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { for byte in $0 { append(byte) } }
  }

  private mutating func append(_ byte: UInt8) {
    guard used < out.count else { return }
    out.withUnsafeMutableBytes { $0[used] = byte }
    used += 1
  }

  /// A quoted string of padded base64, `/` written `\/` as Swift's encoder does.
  mutating func append(base64 secret: borrowing SecretBytes) {
    append(UInt8(ascii: "\""))
    secret.withUnsafeBytes { bytes in
      var index = 0
      while index < bytes.count {
        let have = min(3, bytes.count - index)
        var group: UInt32 = 0
        for offset in 0..<3 { group = group << 8 | (offset < have ? UInt32(bytes[index + offset]) : 0) }
        for digit in 0..<4 {
          guard digit <= have else {
            append(UInt8(ascii: "="))
            continue
          }
          let character = Self.character(UInt8(truncatingIfNeeded: group >> UInt32(18 - 6 * digit)) & 63)
          if character == UInt8(ascii: "/") { append(UInt8(ascii: "\\")) }
          append(character)
        }
        index += 3
      }
    }
    append(UInt8(ascii: "\""))
  }

  consuming func finish() -> SecretBytes {
    out.truncate(to: used)
    return out
  }

  /// Computed, not looked up: no table is indexed by a secret.
  private static func character(_ value: UInt8) -> UInt8 {
    switch value {
    case 0..<26: UInt8(ascii: "A") + value
    case 26..<52: UInt8(ascii: "a") + value - 26
    case 52..<62: UInt8(ascii: "0") + value - 52
    case 62: UInt8(ascii: "+")
    default: UInt8(ascii: "/")
    }
  }
}

/// Reads one flat JSON object whose members are secrets, in place. Member names are public; values never leave locked
/// memory. Unknown members are passed over, and a member that comes twice is refused.
struct SecretJSONReader {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Calls `member` for each member, positioned at its value. `member` returns false when it did not read the value,
  /// which is then skipped.
  mutating func object(
    _ member: (String, inout SecretJSONReader) throws(WrapError) -> Bool
  ) throws(WrapError) {
    try expect(UInt8(ascii: "{"))
    var seen = Set<String>()
    if try peek() == UInt8(ascii: "}") {
      position += 1
    } else {
      repeat {
        let name = try name()
        guard seen.insert(name).inserted else { throw .badHalves(reason: "a member comes twice") }
        try expect(UInt8(ascii: ":"))
        if !(try member(name, &self)) { try skipValue(depth: 0) }
      } while try take(UInt8(ascii: ","))
      try expect(UInt8(ascii: "}"))
    }
    skipSpace()
    guard position == bytes.count else { throw .badHalves(reason: "something follows the JSON text") }
  }

  /// A string of padded base64 that holds exactly `count` bytes.
  mutating func base64(count: Int) throws(WrapError) -> SecretBytes {
    try expect(UInt8(ascii: "\""))
    var out = SecretBytes.zeroed(count: count)
    var (filled, group, digits, padding) = (0, UInt32(0), 0, 0)
    while true {
      var character = try next()
      if character == UInt8(ascii: "\"") { break }
      if character == UInt8(ascii: "\\") {
        // The only escape that base64 can need.
        character = try next()
        guard character == UInt8(ascii: "/") else { throw .badHalves(reason: "a secret is not base64") }
      }
      if character == UInt8(ascii: "=") {
        padding += 1
        continue
      }
      guard padding == 0, let value = Self.value(character) else { throw .badHalves(reason: "a secret is not base64") }
      group = group << 6 | UInt32(value)
      digits += 1
      if digits % 4 != 1 {
        let shift = UInt32(6 - 2 * ((digits - 1) % 4))
        guard filled < count else { throw .badHalves(reason: "a secret has a wrong length") }
        let byte = UInt8(truncatingIfNeeded: group >> shift)
        out.withUnsafeMutableBytes { $0[filled] = byte }
        filled += 1
        group &= (1 << shift) - 1
      }
    }
    guard filled == count else { throw .badHalves(reason: "a secret has a wrong length") }
    guard group == 0, padding <= 2, (digits + padding) % 4 == 0, digits % 4 != 1 else {
      throw .badHalves(reason: "a secret is not base64")
    }
    return out
  }

  /// Whether a null stands here; it is taken.
  mutating func null() throws(WrapError) -> Bool {
    guard try peek() == UInt8(ascii: "n") else { return false }
    for expected in "null".utf8 {
      guard try next() == expected else { throw .badHalves(reason: "it is not JSON") }
    }
    return true
  }

  private static func value(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }

  private mutating func next() throws(WrapError) -> UInt8 {
    guard position < bytes.count else { throw .badHalves(reason: "it ends too early") }
    defer { position += 1 }
    return bytes[position]
  }

  private mutating func skipSpace() {
    while position < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[position]) { position += 1 }
  }

  private mutating func peek() throws(WrapError) -> UInt8 {
    skipSpace()
    guard position < bytes.count else { throw .badHalves(reason: "it ends too early") }
    return bytes[position]
  }

  private mutating func expect(_ byte: UInt8) throws(WrapError) {
    guard try peek() == byte else { throw .badHalves(reason: "it is not JSON") }
    position += 1
  }

  private mutating func take(_ byte: UInt8) throws(WrapError) -> Bool {
    guard try peek() == byte else { return false }
    position += 1
    return true
  }

  /// A member's name. Escapes are refused: the names that matter need none, and two spellings of one name are one.
  private mutating func name() throws(WrapError) -> String {
    try expect(UInt8(ascii: "\""))
    let start = position
    while try next() != UInt8(ascii: "\"") {
      guard bytes[position - 1] != UInt8(ascii: "\\") else { throw .badHalves(reason: "a member's name has an escape") }
    }
    return String(decoding: bytes[start..<(position - 1)], as: UTF8.self)
  }

  private mutating func skipValue(depth: Int) throws(WrapError) {
    guard depth < 8 else { throw .badHalves(reason: "it is nested too deeply") }
    switch try peek() {
    case UInt8(ascii: "\""):
      position += 1
      while true {
        let byte = try next()
        if byte == UInt8(ascii: "\"") { return }
        if byte == UInt8(ascii: "\\") { _ = try next() }
      }
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      let close: UInt8 = bytes[position] == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]")
      position += 1
      while try !take(close) {
        let punctuation = try peek()
        if punctuation == UInt8(ascii: ",") || punctuation == UInt8(ascii: ":") {
          position += 1
        } else {
          try skipValue(depth: depth + 1)
        }
      }
    default:
      let start = position
      while position < bytes.count, !Array(",]}: \n\r\t".utf8).contains(bytes[position]) { position += 1 }
      guard position > start else { throw .badHalves(reason: "it is not JSON") }
    }
  }
}

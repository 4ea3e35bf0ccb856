// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// Walks over JSON bytes. A caller that streams a large file uses it member by member and never holds the tree.
public struct JSONScanner {
  /// The whole input.
  public let input: [UInt8]
  /// The next byte to be read.
  public private(set) var position: Int
  private let maximumDepth: Int

  /// A scanner at `position`.
  public init(input: [UInt8], position: Int = 0, maximumDepth: Int = 32) {
    self.input = input
    self.position = position
    self.maximumDepth = maximumDepth
  }

  /// Passes over white space.
  public mutating func skipSpace() {
    while position < input.count {
      switch input[position] {
      case 0x20, 0x0a, 0x0d, 0x09: position += 1
      default: return
      }
    }
  }

  /// The next byte that is not white space, without taking it.
  public mutating func peek() throws(JSONError) -> UInt8 {
    skipSpace()
    guard position < input.count else { throw .truncated(offset: position) }
    return input[position]
  }

  /// Takes one byte that must be `byte`.
  public mutating func expect(_ byte: UInt8) throws(JSONError) {
    let found = try peek()
    guard found == byte else { throw .unexpectedByte(found, offset: position) }
    position += 1
  }

  /// Calls `body` for each member of the object that begins here, with the scanner at the member's value: `body`
  /// must read exactly one value.
  public mutating func members(
    _ body: (String, inout JSONScanner) throws(JSONError) -> Void
  ) throws(JSONError) {
    try expect(UInt8(ascii: "{"))
    if try peek() == UInt8(ascii: "}") {
      position += 1
      return
    }
    var seen = SeenNames()
    while true {
      let start = try peekOffset()
      let name = try string()
      guard seen.insert(name) else { throw .duplicateMember(name, offset: start) }
      try expect(UInt8(ascii: ":"))
      skipSpace()
      try body(name, &self)
      if try peek() == UInt8(ascii: ",") {
        position += 1
      } else {
        return try expect(UInt8(ascii: "}"))
      }
    }
  }

  /// Calls `body` for each element of the array that begins here.
  public mutating func elements(_ body: (inout JSONScanner) throws(JSONError) -> Void) throws(JSONError) {
    try expect(UInt8(ascii: "["))
    if try peek() == UInt8(ascii: "]") {
      position += 1
      return
    }
    while true {
      skipSpace()
      try body(&self)
      if try peek() == UInt8(ascii: ",") {
        position += 1
      } else {
        return try expect(UInt8(ascii: "]"))
      }
    }
  }

  /// The value that begins here.
  public mutating func value(depth: Int = 0) throws(JSONError) -> JSONValue {
    let first = try peek()
    let start = position
    guard depth <= maximumDepth else { throw .tooDeep(offset: start) }
    switch first {
    case UInt8(ascii: "{"):
      var found: [JSONValue.Member] = []
      try members { (name, scanner) throws(JSONError) in
        found.append(.init(name, try scanner.value(depth: depth + 1)))
      }
      return JSONValue(.object(found), start..<position)
    case UInt8(ascii: "["):
      var found: [JSONValue] = []
      try elements { (scanner) throws(JSONError) in found.append(try scanner.value(depth: depth + 1)) }
      return JSONValue(.array(found), start..<position)
    case UInt8(ascii: "\""): return JSONValue(.string(try string()), start..<position)
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), 0x30...0x39: return try number()
    default: throw .unexpectedByte(first, offset: start)
    }
  }

  private mutating func peekOffset() throws(JSONError) -> Int {
    _ = try peek()
    return position
  }

  private mutating func word(_ text: StaticString, _ kind: JSONValue.Kind) throws(JSONError) -> JSONValue {
    let start = position
    for i in 0..<text.utf8CodeUnitCount {
      guard position < input.count else { throw .truncated(offset: position) }
      guard input[position] == text.utf8Start[i] else { throw .unexpectedByte(input[position], offset: position) }
      position += 1
    }
    return JSONValue(kind, start..<position)
  }

  private mutating func number() throws(JSONError) -> JSONValue {
    let start = position
    func digit(_ at: Int) -> Bool { at < input.count && (0x30...0x39).contains(input[at]) }
    if input[position] == UInt8(ascii: "-") { position += 1 }
    guard digit(position) else {
      throw position < input.count ? .badNumber(offset: start) : .truncated(offset: position)
    }
    let leadingZero = input[position] == 0x30
    position += 1
    guard !(leadingZero && digit(position)) else { throw .badNumber(offset: start) }
    while digit(position) { position += 1 }
    if position < input.count, input[position] == UInt8(ascii: ".") {
      position += 1
      guard digit(position) else { throw .badNumber(offset: start) }
      while digit(position) { position += 1 }
    }
    if position < input.count, input[position] | 0x20 == UInt8(ascii: "e") {
      position += 1
      if position < input.count, input[position] == UInt8(ascii: "+") || input[position] == UInt8(ascii: "-") {
        position += 1
      }
      guard digit(position) else { throw .badNumber(offset: start) }
      while digit(position) { position += 1 }
    }
    return JSONValue(.number(String(decoding: input[start..<position], as: UTF8.self)), start..<position)
  }

  /// The string that begins here.
  public mutating func string() throws(JSONError) -> String {
    let found = try scanString()
    if found.isPlainASCII {
      return input.withUnsafeBufferPointer {
        String(decoding: UnsafeBufferPointer(rebasing: $0[found.range]), as: UTF8.self)
      }
    }
    let text =
      found.hasEscapes
      ? String(validating: try unescape(found.range), as: UTF8.self)
      : String(validating: input[found.range], as: UTF8.self)
    guard let text else { throw .notUTF8(offset: found.range.lowerBound) }
    return text
  }

  /// The bytes between the quotes of the string that begins here, and whether there are escapes among them.
  public mutating func stringRange() throws(JSONError) -> (range: Range<Int>, hasEscapes: Bool) {
    let found = try scanString()
    return (found.range, found.hasEscapes)
  }

  private struct FoundString {
    var range: Range<Int>
    var hasEscapes = false
    var isPlainASCII = true
  }

  private mutating func scanString() throws(JSONError) -> FoundString {
    try expect(UInt8(ascii: "\""))
    var found = FoundString(range: position..<position)
    position = try input.withUnsafeBufferPointer { bytes throws(JSONError) in
      var at = found.range.lowerBound
      while at < bytes.count {
        if at + 8 <= bytes.count {
          let word = UnsafeRawBufferPointer(bytes).loadUnaligned(fromByteOffset: at, as: UInt64.self)
          if Self.isPlain(word) {
            at += 8
            continue
          }
        }
        let byte = bytes[at]
        if byte == UInt8(ascii: "\"") {
          found.range = found.range.lowerBound..<at
          return at + 1
        }
        guard byte >= 0x20 else { throw .badString(offset: at) }
        if byte == UInt8(ascii: "\\") {
          found.hasEscapes = true
          found.isPlainASCII = false
          at += 1
        } else if byte >= 0x80 {
          found.isPlainASCII = false
        }
        at += 1
      }
      throw .truncated(offset: bytes.count)
    }
    return found
  }

  /// Whether none of eight bytes is a control, a quote, a backslash or beyond ASCII: most of a file is hexadecimal and
  /// base64, passed over a word at a time.
  private static func isPlain(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs = ones << 7
    // A byte below n borrows from its top bit in x - n; bytes with the top bit set are caught by themselves.
    let quote = word ^ (ones &* 0x22)
    let backslash = word ^ (ones &* 0x5c)
    let hits = word | (word &- ones &* 0x20) | (quote &- ones) | (backslash &- ones)
    return hits & highs == 0
  }

  private func unescape(_ range: Range<Int>) throws(JSONError) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(range.count)
    var at = range.lowerBound
    func unit(_ from: Int) throws(JSONError) -> UInt32 {
      guard from + 4 <= range.upperBound, let pair = Hex.decode(String(decoding: input[from..<from + 4], as: UTF8.self))
      else { throw .badString(offset: from) }
      return UInt32(pair[0]) << 8 | UInt32(pair[1])
    }
    while at < range.upperBound {
      let byte = input[at]
      guard byte == UInt8(ascii: "\\") else {
        out.append(byte)
        at += 1
        continue
      }
      guard at + 1 < range.upperBound else { throw .badString(offset: at) }
      let start = at
      at += 2
      switch input[start + 1] {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): out.append(input[start + 1])
      case UInt8(ascii: "b"): out.append(8)
      case UInt8(ascii: "f"): out.append(12)
      case UInt8(ascii: "n"): out.append(10)
      case UInt8(ascii: "r"): out.append(13)
      case UInt8(ascii: "t"): out.append(9)
      case UInt8(ascii: "u"):
        var code = try unit(at)
        at += 4
        if (0xd800..<0xdc00).contains(code) {
          guard at + 6 <= range.upperBound, input[at] == UInt8(ascii: "\\"), input[at + 1] == UInt8(ascii: "u") else {
            throw .badString(offset: start)
          }
          let low = try unit(at + 2)
          guard (0xdc00..<0xe000).contains(low) else { throw .badString(offset: start) }
          at += 6
          code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
        }
        // Unicode.Scalar refuses a low surrogate that stands alone.
        guard let scalar = Unicode.Scalar(code) else { throw .badString(offset: start) }
        out += Array(String(Character(scalar)).utf8)
      default: throw .badString(offset: start)
      }
    }
    return out
  }
}

/// The member names of one object. Most objects are small, and comparing a few short names beats hashing them.
///
/// Names that Unicode calls equivalent count as the same: readers that compare as Swift does would take them so.
private struct SeenNames {
  private var few: [String] = []
  private var many: Set<String> = []

  /// False when the name was there.
  mutating func insert(_ name: String) -> Bool {
    if !many.isEmpty { return many.insert(name).inserted }
    if few.contains(name) { return false }
    few.append(name)
    if few.count > 16 { many = Set(few) }
    return true
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCbor

/// Reads CBOR through libcbor's streaming decoder, which allocates nothing: the tree is ours, and so are the limits.
///
/// Reading is lenient where real keys are (map order, long integers), and bounded everywhere: nesting, and every
/// count against the bytes that are left.
public struct CBORDecoder: Sendable {
  /// What is let in.
  public struct Profile: Sendable {
    /// The deepest nesting; the top item has depth 0.
    public var maximumDepth: Int
    /// Tags, floats, booleans, null and other simple values.
    public var allowsMajor6And7: Bool
    /// The same key twice in a map: the first wins.
    public var allowsDuplicateKeys: Bool
    /// Text must be UTF-8; otherwise bad bytes read as U+FFFD.
    public var requiresUTF8: Bool

    /// What authenticators send.
    public static let ctap = Profile(
      maximumDepth: 16, allowsMajor6And7: true, allowsDuplicateKeys: false, requiresUTF8: false)
    /// What Seal reads (FORMATS.md 5c), except that a duplicate key is refused.
    public static let seal = Profile(
      maximumDepth: 16, allowsMajor6And7: false, allowsDuplicateKeys: false, requiresUTF8: true)
  }

  /// The item that begins at `offset`; bytes may follow it.
  /// - Throws: ``CBORError``.
  public static func decode(
    _ input: [UInt8], at offset: Int = 0, profile: Profile = .ctap
  ) throws(CBORError) -> CBORItem {
    var reader = Reader(input: input, position: offset, profile: profile)
    return try reader.item(depth: 0)
  }

  /// The one item that `input` is.
  /// - Throws: ``CBORError``, `trailingBytes` when anything follows.
  public static func decodeAll(_ input: [UInt8], profile: Profile = .ctap) throws(CBORError) -> CBORItem {
    let item = try decode(input, profile: profile)
    guard item.range.upperBound == input.count else { throw .trailingBytes(offset: item.range.upperBound) }
    return item
  }
}

private struct Reader {
  let input: [UInt8]
  var position: Int
  let profile: CBORDecoder.Profile

  mutating func item(depth: Int) throws(CBORError) -> CBORItem {
    let start = position
    guard depth <= profile.maximumDepth else { throw .tooDeep(offset: start) }
    let event = try nextEvent()
    switch event {
    case .unsigned(let n): return CBORItem(.unsigned(n), start..<position)
    case .negative(let n): return CBORItem(.negative(n), start..<position)
    case .bytes(let range): return CBORItem(.bytes(Array(input[range])), start..<position)
    case .text(let range):
      let slice = input[range]
      if let text = String(validating: slice, as: UTF8.self) { return CBORItem(.text(text), start..<position) }
      guard !profile.requiresUTF8 else { throw .notUTF8(offset: start) }
      return CBORItem(.text(String(decoding: slice, as: UTF8.self)), start..<position, isValidUTF8: false)
    case .array(let count):
      // Every element takes at least one byte.
      guard count <= input.count - position else { throw .truncated(offset: start) }
      var elements: [CBORItem] = []
      elements.reserveCapacity(min(count, Self.mostReserved))
      for _ in 0..<count { elements.append(try item(depth: depth + 1)) }
      return CBORItem(.array(elements), start..<position)
    case .map(let count):
      guard count <= (input.count - position) / 2 else { throw .truncated(offset: start) }
      var entries: [CBORItem.Entry] = []
      entries.reserveCapacity(min(count, Self.mostReserved))
      var seen = Set<ArraySlice<UInt8>>(minimumCapacity: min(count, Self.mostReserved))
      for _ in 0..<count {
        let key = try item(depth: depth + 1)
        if !seen.insert(normalised(key)).inserted, !profile.allowsDuplicateKeys {
          throw .duplicateKey(offset: key.range.lowerBound)
        }
        entries.append(CBORItem.Entry(key: key, value: try item(depth: depth + 1)))
      }
      return CBORItem(.map(entries), start..<position)
    case .tag(let number):
      let inner = try item(depth: depth + 1)
      return CBORItem(.tag(number, inner), start..<position)
    case .simple(let value): return CBORItem(value, start..<position)
    }
  }

  /// Room made before anything is read: a count is only a promise, and nested promises multiply.
  private static let mostReserved = 64

  /// What a key is compared by. Heads may be written long, and the key 1 is the key 1 in any length; text that is
  /// not UTF-8 is told apart by its bytes, not by what it reads as.
  private func normalised(_ key: CBORItem) -> ArraySlice<UInt8> {
    switch key.value {
    case .text where !key.isValidUTF8: input[key.range]
    default: CBORValue.encode(key.rewritten)[...]
    }
  }

  private mutating func nextEvent() throws(CBORError) -> Event {
    let start = position
    guard start < input.count else { throw .truncated(offset: start) }
    let initial = input[start]
    let major = initial >> 5
    guard initial & 31 < 28, major < 6 || profile.allowsMajor6And7 else {
      throw .unsupported(initial, offset: start)
    }
    if major == 7, let simple = try unassignedSimple() { return .simple(.simple(simple)) }
    if major == 6, initial & 31 < 24 {
      // libcbor reads some of the short tags only.
      position += 1
      return .tag(UInt64(initial & 31))
    }
    var sink = Sink()
    let available = input.count - start
    let result = input.withUnsafeBufferPointer { buffer -> cbor_decoder_result in
      guard let base = buffer.baseAddress else { return cbor_decoder_result() }
      return withUnsafeMutablePointer(to: &sink) { sink in
        withUnsafePointer(to: callbacks) { cbor_stream_decode(base + start, available, $0, sink) }
      }
    }
    switch result.status {
    case CBOR_DECODER_FINISHED:
      position = start + Int(result.read)
    case CBOR_DECODER_NEDATA:
      throw length(at: start, major: major).map { $0 > UInt64(Int64.max) } == true
        ? .tooLarge(offset: start) : .truncated(offset: start)
    default:
      throw .unsupported(initial, offset: start)
    }
    guard let event = sink.event else { throw .unsupported(initial, offset: start) }
    switch event {
    case .string(let isText, let count):
      // libcbor has counted the payload as read.
      let range = (position - count)..<position
      return isText ? .text(range) : .bytes(range)
    case .count(let isMap, let n):
      guard let count = Int(exactly: n) else { throw .tooLarge(offset: start) }
      return isMap ? .map(count) : .array(count)
    case .other(let event): return event
    }
  }

  /// A simple value without a meaning of its own, which libcbor does not read (RFC 8949 section 3.3).
  private mutating func unassignedSimple() throws(CBORError) -> UInt8? {
    switch input[position] & 31 {
    case let value where value < 20:
      position += 1
      return value
    case 24:
      guard input.count - position >= 2 else { throw .truncated(offset: position) }
      // Smaller numbers have the short form only.
      guard input[position + 1] >= 32 else { throw .unsupported(input[position], offset: position) }
      position += 2
      return input[position - 1]
    default: return nil
    }
  }

  /// The argument of the head at `start`, for telling an absurd length from a cut input.
  private func length(at start: Int, major: UInt8) -> UInt64? {
    guard (2...5).contains(major), input[start] & 31 == 27, input.count - start >= 9 else { return nil }
    return input[(start + 1)..<(start + 9)].reduce(0) { $0 << 8 | UInt64($1) }
  }
}

private enum Event {
  case unsigned(UInt64)
  case negative(UInt64)
  case bytes(Range<Int>)
  case text(Range<Int>)
  case array(Int)
  case map(Int)
  case tag(UInt64)
  case simple(CBORItem.Value)
}

/// Where libcbor's callbacks leave what they saw: one event a call.
private struct Sink {
  enum Seen {
    case string(isText: Bool, count: Int)
    case count(isMap: Bool, UInt64)
    case other(Event)
  }
  var event: Seen?
}

private func see(_ context: UnsafeMutableRawPointer?, _ event: Sink.Seen) {
  context?.assumingMemoryBound(to: Sink.self).pointee.event = event
}

private let callbacks: cbor_callbacks = {
  var c = cbor_empty_callbacks
  c.uint8 = { see($0, .other(.unsigned(UInt64($1)))) }
  c.uint16 = { see($0, .other(.unsigned(UInt64($1)))) }
  c.uint32 = { see($0, .other(.unsigned(UInt64($1)))) }
  c.uint64 = { see($0, .other(.unsigned($1))) }
  c.negint8 = { see($0, .other(.negative(UInt64($1)))) }
  c.negint16 = { see($0, .other(.negative(UInt64($1)))) }
  c.negint32 = { see($0, .other(.negative(UInt64($1)))) }
  c.negint64 = { see($0, .other(.negative($1))) }
  // libcbor counts in size_t or in uint64_t by version, and Swift imports size_t as the signed Int: the bits are what
  // was written, whatever the type.
  c.byte_string = { see($0, .string(isText: false, count: Int(truncatingIfNeeded: $2))) }
  c.string = { see($0, .string(isText: true, count: Int(truncatingIfNeeded: $2))) }
  c.array_start = { see($0, .count(isMap: false, UInt64(truncatingIfNeeded: $1))) }
  c.map_start = { see($0, .count(isMap: true, UInt64(truncatingIfNeeded: $1))) }
  c.tag = { see($0, .other(.tag($1))) }
  c.boolean = { see($0, .other(.simple(.bool($1)))) }
  c.null = { see($0, .other(.simple(.null))) }
  c.undefined = { see($0, .other(.simple(.undefined))) }
  c.float2 = { see($0, .other(.simple(.float(Double($1))))) }
  c.float4 = { see($0, .other(.simple(.float(Double($1))))) }
  c.float8 = { see($0, .other(.simple(.float($1)))) }
  return c
}()

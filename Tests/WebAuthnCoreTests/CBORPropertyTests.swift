// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// Laws that hold for every value and for every input.
@Suite(.arithmetic) struct CBORPropertyTests {
  /// A random value. `inSealProfile` leaves out what Seal does not read.
  static func value(_ random: inout SeededGenerator, depth: Int = 0, inSealProfile: Bool = false) -> CBORValue {
    func integer() -> UInt64 { random.next() >> UInt64.random(in: 0..<64, using: &random) }
    func text() -> String {
      String(
        String.UnicodeScalarView(
          (0..<Int.random(in: 0..<30, using: &random)).map { _ in
            Unicode.Scalar(UInt32(truncatingIfNeeded: integer() & 0xffff)) ?? "a"
          }))
    }
    func child() -> CBORValue { value(&random, depth: depth + 1, inSealProfile: inSealProfile) }
    let kinds = inSealProfile ? 6 : 11
    let leaves: [Int] = inSealProfile ? [0, 1, 2, 3] : [0, 1, 2, 3, 7, 8, 9, 10]
    let kind =
      depth < 5 ? Int.random(in: 0..<kinds, using: &random) : leaves[Int.random(in: 0..<leaves.count, using: &random)]
    switch kind {
    case 0: return .unsigned(integer())
    case 1: return .negative(inSealProfile ? integer() >> 1 : integer())
    case 2: return .bytes(random.bytes(Int.random(in: 0..<300, using: &random)))
    case 3: return .text(text())
    case 4: return .array((0..<Int.random(in: 0..<6, using: &random)).map { _ in child() })
    case 5:
      // The index makes the keys differ, whatever else is random about them.
      return .map(
        (0..<Int.random(in: 0..<6, using: &random)).map { i in
          (Bool.random(using: &random) ? .text("\(i)" + text()) : .int(i - 3), child())
        })
    case 6: return .tag(integer(), child())
    case 7: return .bool(Bool.random(using: &random))
    case 8: return .null
    case 9: return .float(Double(bitPattern: random.next()))
    default: return .simple(UInt8.random(in: 0..<20, using: &random))
    }
  }

  /// What is written is read back, and what is read is written the same.
  @Test(arguments: 0..<400) func writingAndReadingAgree(_ seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let encoded = CBORValue.encode(Self.value(&random))
    let item = try CBORDecoder.decodeAll(encoded)
    #expect(item.range == 0..<encoded.count)
    #expect(CBORValue.encode(item.rewritten) == encoded)
  }

  /// Every item's range holds exactly that item: decoding the slice alone gives it again.
  @Test(arguments: 0..<100) func everyRangeIsTheItem(_ seed: Int) throws {
    var random = SeededGenerator(seed: 5000 + UInt64(seed))
    let encoded = [0, 0, 0] + CBORValue.encode(Self.value(&random))
    func check(_ item: CBORItem) throws {
      let slice = Array(encoded[item.range])
      #expect(CBORValue.encode(try CBORDecoder.decodeAll(slice).rewritten) == slice)
      for element in item.array ?? [] { try check(element) }
      for entry in item.map ?? [] {
        try check(entry.key)
        try check(entry.value)
      }
    }
    try check(try CBORDecoder.decode(encoded, at: 3))
  }

  /// Every truncation of every value is refused as cut, and never with another name.
  @Test(arguments: 0..<100) func everyTruncationIsCut(_ seed: Int) {
    var random = SeededGenerator(seed: 9000 + UInt64(seed))
    let encoded = CBORValue.encode(Self.value(&random, inSealProfile: true))
    for count in 0..<encoded.count {
      do {
        _ = try CBORDecoder.decodeAll(Array(encoded.prefix(count)), profile: .seal)
        Issue.record("accepted at \(count) of \(encoded.count)")
      } catch {
        #expect(error.name == "truncated")
        #expect((error.offset ?? -1) <= count)
      }
    }
  }

  /// Random bytes, and good values with bytes changed: an item or a named error, and no other end.
  @Test(arguments: 0..<200) func noInputTraps(_ seed: Int) {
    var random = SeededGenerator(seed: 20_000 + UInt64(seed))
    for _ in 0..<50 {
      var input =
        Bool.random(using: &random)
        ? random.bytes(Int.random(in: 0..<64, using: &random)) : CBORValue.encode(Self.value(&random))
      for _ in 0..<Int.random(in: 0..<4, using: &random) where !input.isEmpty {
        input[Int.random(in: 0..<input.count, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
      }
      for profile in [CBORDecoder.Profile.ctap, .seal] {
        do {
          let item = try CBORDecoder.decode(input, profile: profile)
          #expect(item.range.upperBound <= input.count)
        } catch {
          #expect((error.offset ?? -1) <= input.count)
        }
      }
    }
  }

  /// CTAP 2.1 section 8: by major type, then length, then bytes.
  @Test func mapsAreSorted() {
    let map = CBORValue.map([
      (.text("aa"), .int(1)), (.text("b"), .int(2)), (.int(-1), .int(3)), (.int(256), .int(4)), (.int(10), .int(5)),
      (.bytes([1]), .int(6)), (.int(-25), .int(7)), (.text("a"), .int(8)),
    ])
    #expect(
      Hex.encode(CBORValue.encode(map)) == "a80a05190100042003381807410106616108616202626161" + "01")
  }
}

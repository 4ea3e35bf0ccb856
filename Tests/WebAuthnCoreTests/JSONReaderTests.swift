// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import FoundationEssentials
import TestSupport
import Testing
import WebAuthnCore

/// The one strict reader: one meaning for each text, and a named refusal for every other.
@Suite(.arithmetic) struct JSONReaderTests {
  /// One input and what must be said of it.
  struct Refusal: Sendable, CustomTestStringConvertible {
    let input: [UInt8]
    let error: JSONError
    var testDescription: String { String(decoding: input.prefix(40), as: UTF8.self) }

    init(_ text: String, _ error: JSONError) { self.init(Array(text.utf8), error) }
    init(_ input: [UInt8], _ error: JSONError) {
      self.input = input
      self.error = error
    }
  }

  /// A byte is told as the character it is, and its place is told beside the sentence, once.
  @Test(arguments: [
    (JSONError.unexpectedByte(0x23, offset: 0), "It begins with '#', which cannot stand there."),
    (.unexpectedByte(0x5d, offset: 35), "The JSON text has ']', which cannot stand there."),
    (.unexpectedByte(0x00, offset: 7), "The JSON text has the byte 0x00, which cannot stand there."),
    (.unexpectedByte(0xc2, offset: 0), "It begins with the byte 0xc2, which cannot stand there."),
    (.truncated(offset: 0), "It is empty, where a JSON text should be."),
  ])
  func words(_ error: JSONError, _ message: String) {
    #expect(error.message == message)
    #expect(error.offset != nil)
  }

  static let refusals: [Refusal] = [
    Refusal("", .truncated(offset: 0)), Refusal("  \n", .truncated(offset: 3)),
    Refusal("\u{feff}{}", .byteOrderMark),
    Refusal("{", .truncated(offset: 1)), Refusal("[1", .truncated(offset: 2)), Refusal("[1,", .truncated(offset: 3)),
    Refusal(#"{"a""#, .truncated(offset: 4)), Refusal(#"{"a":"#, .truncated(offset: 5)),
    Refusal(#"{"a":1"#, .truncated(offset: 6)), Refusal(#"{"a":1,"#, .truncated(offset: 7)),
    Refusal(#""abc"#, .truncated(offset: 4)), Refusal(#""abc\"#, .truncated(offset: 5)),
    Refusal("tru", .truncated(offset: 3)), Refusal("-", .truncated(offset: 1)),
    Refusal("trux", .unexpectedByte(0x78, offset: 3)), Refusal("nil", .unexpectedByte(0x69, offset: 1)),
    Refusal("True", .unexpectedByte(0x54, offset: 0)), Refusal("'a'", .unexpectedByte(0x27, offset: 0)),
    Refusal("[1,]", .unexpectedByte(0x5d, offset: 3)), Refusal("{,}", .unexpectedByte(0x2c, offset: 1)),
    Refusal(#"{"a":1,}"#, .unexpectedByte(0x7d, offset: 7)), Refusal("{a:1}", .unexpectedByte(0x61, offset: 1)),
    Refusal(#"{"a" 1}"#, .unexpectedByte(0x31, offset: 5)), Refusal("[1 2]", .unexpectedByte(0x32, offset: 3)),
    Refusal(#"{"a":1]"#, .unexpectedByte(0x5d, offset: 6)), Refusal("[1}", .unexpectedByte(0x7d, offset: 2)),
    Refusal("/**/1", .unexpectedByte(0x2f, offset: 0)), Refusal("NaN", .unexpectedByte(0x4e, offset: 0)),
    Refusal("+1", .unexpectedByte(0x2b, offset: 0)), Refusal(".5", .unexpectedByte(0x2e, offset: 0)),
    Refusal("\u{a0}1", .unexpectedByte(0xc2, offset: 0)), Refusal("\u{0c}1", .unexpectedByte(0x0c, offset: 0)),
    Refusal("01", .badNumber(offset: 0)), Refusal("-01", .badNumber(offset: 0)), Refusal("1.", .badNumber(offset: 0)),
    Refusal("[1.e3]", .badNumber(offset: 1)), Refusal("1e", .badNumber(offset: 0)),
    Refusal("1e+", .badNumber(offset: 0)),
    Refusal("-a", .badNumber(offset: 0)), Refusal("0x10", .trailingBytes(offset: 1)),
    Refusal("1 1", .trailingBytes(offset: 2)), Refusal("{}{}", .trailingBytes(offset: 2)),
    Refusal("{}\0", .trailingBytes(offset: 2)), Refusal("1\u{feff}", .trailingBytes(offset: 1)),
    Refusal("\"a\nb\"", .badString(offset: 2)), Refusal("\"\0\"", .badString(offset: 1)),
    Refusal("\"abcdefgh\u{1f}\"", .badString(offset: 9)),
    Refusal(#""\x41""#, .badString(offset: 1)), Refusal(#""\u12""#, .badString(offset: 3)),
    Refusal(#""\u12g4""#, .badString(offset: 3)), Refusal(#""\u+123""#, .badString(offset: 3)),
    Refusal(#""\ud800""#, .badString(offset: 1)), Refusal(#""\ud800x""#, .badString(offset: 1)),
    Refusal(#""\ud800\n""#, .badString(offset: 1)), Refusal(#""\ud800\ud800""#, .badString(offset: 1)),
    Refusal(#""ab\udc00""#, .badString(offset: 3)), Refusal(#""\ud800\u00""#, .badString(offset: 1)),
    Refusal([0x22, 0xff, 0x22], .notUTF8(offset: 1)), Refusal([0x22, 0xc0, 0x80, 0x22], .notUTF8(offset: 1)),
    Refusal([0x22, 0xed, 0xa0, 0x80, 0x22], .notUTF8(offset: 1)),
    Refusal([0x22, 0xf4, 0x90, 0x80, 0x80, 0x22], .notUTF8(offset: 1)),
    Refusal([0x22, 0xe2, 0x82, 0x22], .notUTF8(offset: 1)),
    Refusal([0x22, 0x5c, 0x6e, 0xff, 0x22], .notUTF8(offset: 1)),
    Refusal(#"{"a":1,"a":1}"#, .duplicateMember("a", offset: 7)),
    Refusal(#"{"a":1,"\u0061":2}"#, .duplicateMember("a", offset: 7)),
    Refusal(#"[{"b":{"a":1,"c":2,"a":3}}]"#, .duplicateMember("a", offset: 19)),
    Refusal(#"{"":1,"":2}"#, .duplicateMember("", offset: 6)),
    // Equivalent in Unicode: Swift's dictionaries would make one of the two, Python's two.
    Refusal("{\"K\":1,\"\u{212A}\":2}", .duplicateMember("\u{212A}", offset: 7)),
  ]

  @Test(arguments: refusals) func refuses(_ refusal: Refusal) {
    do {
      let value = try JSONReader.parse(refusal.input)
      Issue.record("accepted as \(value.kind)")
    } catch {
      #expect(error == refusal.error)
      #expect(error.offset == refusal.error.offset)
    }
  }

  /// A name that comes again after many others, past the point where names are hashed.
  @Test(arguments: [2, 16, 17, 18, 40]) func duplicateAmongMany(_ count: Int) {
    let members = (0..<count).map { "\"m\($0)\":0" }
    #expect(throws: Never.self) { try JSONReader.parse(Array("{\(members.joined(separator: ","))}".utf8)) }
    for i in 0..<count {
      let text = "{\((members + ["\"m\(i)\":1"]).joined(separator: ","))}"
      #expect { try JSONReader.parse(Array(text.utf8)) } throws: { ($0 as? JSONError)?.name == "jsonDuplicateMember" }
    }
  }

  @Test func limits() throws {
    func nested(_ n: Int) -> [UInt8] {
      Array((String(repeating: "[", count: n) + String(repeating: "]", count: n)).utf8)
    }
    _ = try JSONReader.parse(nested(33))
    #expect(throws: JSONError.tooDeep(offset: 33)) { try JSONReader.parse(nested(34)) }
    #expect(throws: JSONError.tooDeep(offset: 33)) { try JSONReader.parse(nested(100_000)) }
    let objects = Array(repeatElement(Array(#"{"a":"#.utf8), count: 100_000).joined())
    #expect(throws: JSONError.tooDeep(offset: 33 * 5)) { try JSONReader.parse(objects) }
    #expect(throws: JSONError.tooLarge(offset: 4)) {
      try JSONReader.parse(Array("[1,2]".utf8), limits: .init(maximumDepth: 4, maximumByteCount: 4))
    }
  }

  @Test func values() throws {
    let text =
      #" { "s" : "a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é" , "n" : -12.50e+2, "t":true,"f":false,"z":null,"a":[ ], "o":{}}  "#
    let input = Array(text.utf8)
    let value = try JSONReader.parse(input)
    #expect(value.object?.map(\.name) == ["s", "n", "t", "f", "z", "a", "o"])
    #expect(value["s"]?.string == "a\"\\/\u{8}\u{c}\n\r\té😀é")
    #expect(value["t"]?.bool == true)
    #expect(value["f"]?.bool == false)
    #expect(value["z"]?.isNull == true)
    #expect(value["a"]?.array?.isEmpty == true)
    #expect(value["o"]?.object?.isEmpty == true)
    #expect(value["missing"] == nil)
    let number = try #require(value["n"])
    if case .number(let n) = number.kind { #expect(n == "-12.50e+2") } else { Issue.record("not a number") }
    #expect(number.double == -1250)
    #expect(number.int == nil)
    #expect(String(decoding: input[number.range], as: UTF8.self) == "-12.50e+2")
    #expect(value.range == 1..<(input.count - 2))
  }

  /// A double would round these.
  @Test func integersAreExact() throws {
    func value(_ text: String) throws -> JSONValue { try JSONReader.parse(Array(text.utf8)) }
    #expect(try value("9007199254740993").int == 9_007_199_254_740_993)
    #expect(try value("9223372036854775807").int == Int64.max)
    #expect(try value("9223372036854775808").int == nil)
    #expect(try value("-9223372036854775808").int == Int64.min)
    #expect(try value("18446744073709551615").unsigned == UInt64.max)
    #expect(try value("18446744073709551616").unsigned == nil)
    #expect(try value("1.0").int == nil)
    #expect(try value("-0").unsigned == 0)
  }

  @Test func membersAreFoundExactly() throws {
    let value = try JSONReader.parse(Array("{\"public\u{212A}ey\":1}".utf8))
    #expect(value["publicKey"] == nil)
  }

  /// The scan takes eight bytes at a time: every special byte is seen at every distance from the opening quote.
  @Test func specialBytesAreSeenEverywhere() throws {
    for before in 0..<24 {
      let padding = String(repeating: "x", count: before)
      for after in [0, 1, 7, 8, 20] {
        let tail = String(repeating: "y", count: after)
        #expect(try JSONReader.parse(Array("\"\(padding)\\n\(tail)\"".utf8)).string == "\(padding)\n\(tail)")
        #expect(try JSONReader.parse(Array("\"\(padding)é\(tail)\"".utf8)).string == "\(padding)é\(tail)")
        #expect(try JSONReader.parse(Array("\"\(padding) \u{7f}\(tail)\"".utf8)).string == "\(padding) \u{7f}\(tail)")
        #expect(throws: JSONError.badString(offset: before + 1)) {
          try JSONReader.parse(Array("\"\(padding)\u{1f}\(tail)\"".utf8))
        }
        #expect(throws: JSONError.trailingBytes(offset: before + 2)) {
          try JSONReader.parse(Array("\"\(padding)\"\(tail)z\"".utf8))
        }
      }
    }
  }

  /// Every truncation of a good text is refused, and no changed byte makes a trap.
  @Test func truncationsAndChanges() {
    let good = Array(#"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00"],"b":{"c":null,"d":true},"e":"zß"}"#.utf8)
    for count in 0..<good.count {
      do {
        _ = try JSONReader.parse(Array(good.prefix(count)))
        Issue.record("accepted at \(count)")
      } catch {
        #expect((error.offset ?? -1) <= count)
      }
    }
    for i in good.indices {
      for byte in UInt8.min ... .max {
        var changed = good
        changed[i] = byte
        if let value = try? JSONReader.parse(changed) { #expect(value.range.upperBound <= changed.count) }
      }
    }
  }

  /// Whatever this reader takes, Foundation takes and reads the same: it is stricter, not different.
  @Test(arguments: 0..<200) func foundationAgrees(_ seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let value = JSONWriterTests.value(&random)
    let written = JSONWriter.write(value, .sorted)
    let decoded = try JSONDecoder().decode(JSONWriterTests.Mirror.self, from: Data(written))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    #expect([UInt8](try encoder.encode(decoded)) == written)
    #expect(JSONWriter.write(try JSONReader.parse(written), .sorted) == written)
  }
}

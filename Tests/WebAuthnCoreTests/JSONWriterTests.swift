// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import FoundationEssentials
import TestSupport
import Testing
import WebAuthnCore

/// The writer, measured against Swift's JSONEncoder, whose bytes Seal's payloads are.
@Suite(.arithmetic) struct JSONWriterTests {
  /// Any JSON value as Codable, so that JSONEncoder can be asked to write it.
  indirect enum Mirror: Codable {
    case null
    case bool(Bool)
    case int(Int64)
    case string(String)
    case array([Mirror])
    case object([String: Mirror])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let b = try? container.decode(Bool.self) {
        self = .bool(b)
      } else if let n = try? container.decode(Int64.self) {
        self = .int(n)
      } else if let s = try? container.decode(String.self) {
        self = .string(s)
      } else if let a = try? container.decode([Mirror].self) {
        self = .array(a)
      } else {
        self = .object(try container.decode([String: Mirror].self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .null: try container.encodeNil()
      case .bool(let b): try container.encode(b)
      case .int(let n): try container.encode(n)
      case .string(let s): try container.encode(s)
      case .array(let a): try container.encode(a)
      case .object(let o): try container.encode(o)
      }
    }

    init(_ value: JSONValue) {
      switch value.kind {
      case .null: self = .null
      case .bool(let b): self = .bool(b)
      case .number: self = .int(value.int ?? 0)
      case .string(let s): self = .string(s)
      case .array(let a): self = .array(a.map(Mirror.init))
      case .object(let o): self = .object(Dictionary(uniqueKeysWithValues: o.map { ($0.name, Mirror($0.value)) }))
      }
    }
  }

  /// A random value with integers only: how a fraction is written is each writer's own.
  static func value(_ random: inout SeededGenerator, depth: Int = 0) -> JSONValue {
    func text() -> String {
      String(
        String.UnicodeScalarView(
          (0..<Int.random(in: 0..<12, using: &random)).map { _ in
            let wide = Int.random(in: 0..<4, using: &random) == 0
            return Unicode.Scalar(UInt32.random(in: 0..<(wide ? 0x11_0000 : 0x80), using: &random)) ?? "/"
          }))
    }
    switch Int.random(in: 0..<(depth < 4 ? 6 : 4), using: &random) {
    case 0: return JSONValue(.null)
    case 1: return .bool(Bool.random(using: &random))
    case 2: return .int(Int64(bitPattern: random.next()) >> Int64.random(in: 0..<63, using: &random))
    case 3: return .string(text())
    case 4: return .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in value(&random, depth: depth + 1) })
    default:
      // The number in front keeps names apart from each other under any comparison.
      return .object(
        (0..<Int.random(in: 0..<6, using: &random)).map { i in
          ("\((i * 7) % 5)\(i)" + text(), value(&random, depth: depth + 1))
        })
    }
  }

  @Test(arguments: 0..<200) func asJSONEncoderWrites(_ seed: Int) throws {
    var random = SeededGenerator(seed: 300 + UInt64(seed))
    let value = Self.value(&random)
    let forms: [(JSONWriter.Style, JSONEncoder.OutputFormatting)] = [
      (.sorted, [.sortedKeys]), (.sortedPretty, [.sortedKeys, .prettyPrinted]),
      (JSONWriter.Style(sortsMembers: true, escapesSlashes: false), [.sortedKeys, .withoutEscapingSlashes]),
    ]
    for (style, formatting) in forms {
      let encoder = JSONEncoder()
      encoder.outputFormatting = formatting
      let expected = [UInt8](try encoder.encode(Mirror(value)))
      let written = JSONWriter.write(value, style)
      #expect(
        written == expected, "\(String(decoding: written, as: UTF8.self))\n\(String(decoding: expected, as: UTF8.self))"
      )
    }
  }

  @Test func everyControlCharacter() throws {
    for code in UInt8(0)...0x80 {
      let text = String(Character(Unicode.Scalar(code)))
      #expect(JSONWriter.write(.string(text)) == [UInt8](try JSONEncoder().encode(text)), "\(code)")
      #expect(try JSONReader.parse(JSONWriter.write(.string(text))).string == text)
    }
  }

  @Test func membersKeepTheirOrder() {
    let value = JSONValue.object([("b", .int(1)), ("a", nil), ("c", .array([.bool(true), JSONValue(.null)]))])
    #expect(String(decoding: JSONWriter.write(value), as: UTF8.self) == #"{"b":1,"c":[true,null]}"#)
    #expect(
      String(decoding: JSONWriter.write(value, .readable), as: UTF8.self) == """
        {
          "b" : 1,
          "c" : [
            true,
            null
          ]
        }
        """)
  }

  /// A number is written as it was read: nothing is rounded on the way through.
  @Test func numbersKeepTheirText() throws {
    for text in ["1e400", "0.1000", "-0", "123456789012345678901234567890", "1E+2"] {
      #expect(JSONWriter.write(try JSONReader.parse(Array(text.utf8))) == Array(text.utf8))
    }
  }
}

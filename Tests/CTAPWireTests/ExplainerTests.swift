// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// What `inspect` says of bytes: what they are, each field at its place, and what is wrong.
@Suite(.arithmetic) struct ExplainerTests {
  static let x = bytes(hex: "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296")
  static let y = bytes(hex: "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")
  static let key = CBORValue.intMap([
    (1, .int(2)), (3, .int(-7)), (-1, .int(1)), (-2, .bytes(x)), (-3, .bytes(y)),
  ])
  static let registrationData =
    SHA256.hash(Array("sealmessenger.com".utf8)) + [0xc5, 0, 0, 1, 2] + [UInt8](repeating: 0xaa, count: 16) + [
      0, 3, 7, 8, 9,
    ]
    + CBORValue.encode(key) + CBORValue.encode(.textMap([("credProtect", .int(2))]))
  static let attestationObject = AttestationObject.build(
    format: "none", statement: [0xa0], authenticatorData: registrationData)
  static let makeCredential = CBORValue.encode(
    .intMap([(1, .text("packed")), (2, .bytes(registrationData)), (3, .textMap([("alg", .int(-7))]))]))
  static let getAssertion = CBORValue.encode(
    .intMap([
      (1, .textMap([("id", .bytes([1, 2])), ("type", .text("public-key"))])),
      (2, .bytes(SHA256.hash([]) + [5, 0, 0, 0, 9])), (3, .bytes([0x30, 0x06, 2, 1, 1, 2, 1, 1])), (5, .int(2)),
    ]))
  static let getInfo = CBORValue.encode(
    .intMap([
      (1, .array([.text("FIDO_2_0")])), (3, .bytes([UInt8](repeating: 0, count: 16))),
      (4, .textMap([("rk", .bool(true)), ("clientPin", .bool(false))])), (14, .int(328706)), (99, .int(1)),
    ]))

  static let samples: [(kind: String, bytes: [UInt8])] = [
    ("attestation object", attestationObject), ("authenticator data", registrationData),
    ("makeCredential reply", makeCredential), ("makeCredential reply", [0] + makeCredential),
    ("getAssertion reply", getAssertion), ("getAssertion reply", [0] + getAssertion), ("getInfo reply", getInfo),
    ("getInfo reply", [0] + getInfo), ("COSE key", CBORValue.encode(key)),
    ("ECDSA signature", [0x30, 0x06, 2, 1, 1, 2, 1, 0x7f]),
    ("client data", ClientData(type: .get, challenge: [1, 2], origin: "https://example.org").json),
    ("CBOR map", CBORValue.encode(.textMap([("a", .textMap([("b", .int(1))]))]))),
  ]

  @Test func kinds() throws {
    for sample in Self.samples {
      let explanation = try #require(Explainer.explain(sample.bytes), "\(sample.kind)")
      #expect(explanation.kind == sample.kind)
      #expect(explanation.fault == nil, "\(sample.kind)")
      #expect(!explanation.fields.isEmpty)
    }
    #expect(Explainer.explain([]) == nil)
    #expect(Explainer.explain([1, 2, 3]) == nil)
    #expect(Explainer.explain(Array("{\"a\":1}".utf8)) == nil)
  }

  private func field(_ name: String, of bytes: [UInt8]) throws -> Explanation.Field {
    let explanation = try #require(Explainer.explain(bytes))
    return try #require(explanation.fields.first { $0.name == name }, "\(name)")
  }

  /// The fields of authenticator data, at the same places whatever wraps it.
  @Test func fieldsAndPlaces() throws {
    for (bytes, base) in [
      (Self.registrationData, 0), (Self.attestationObject, Self.attestationObject.count - Self.registrationData.count),
    ] {
      let expected: [(String, String, Int, Int)] = [
        ("rpIdHash", Hex.encode(SHA256.hash(Array("sealmessenger.com".utf8))), 0, 32), ("flags", "0xc5", 32, 1),
        ("UP", "1", 32, 1), ("UV", "1", 32, 1), ("BE", "0", 32, 1), ("BS", "0", 32, 1), ("AT", "1", 32, 1),
        ("ED", "1", 32, 1), ("signCount", "258", 33, 4), ("aaguid", "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa", 37, 16),
        ("credentialIdLength", "3", 53, 2), ("credentialId", "070809", 55, 3), ("public key kty", "2", 60, 1),
        ("public key alg", "-7", 62, 1), ("public key crv", "1", 64, 1), ("public key x", Hex.encode(Self.x), 66, 34),
        ("public key y", Hex.encode(Self.y), 101, 34), ("extension credProtect", "2", 148, 1),
      ]
      for (name, value, offset, length) in expected {
        let found = try field(name, of: bytes)
        #expect(found.value == value)
        #expect(found.offset == base + offset, "\(name)")
        #expect(found.length == length, "\(name)")
      }
      #expect(try field("flags", of: bytes).meaning == "UP|UV|AT|ED")
      #expect(try field("public key alg", of: bytes).meaning == "ES256")
    }
    #expect(Explainer.explain(Self.attestationObject)?.publicKey == Self.x + Self.y)
    #expect(Explainer.explain(Self.makeCredential)?.publicKey == Self.x + Self.y)
  }

  @Test func clientDataAndInfo() throws {
    let json = ClientData(type: .get, challenge: [0xfb, 0xff], origin: "https://example.org").json
    #expect(try field("challenge bytes", of: json).value == "fbff")
    #expect(try field("clientDataHash", of: json).value == Hex.encode(SHA256.hash(json)))
    let origin = try field("origin", of: json)
    #expect(json[(origin.offset ?? 0)...].starts(with: Array("\"https://example.org\"".utf8)))
    #expect(try field("option clientPin", of: Self.getInfo).value == "false")
    #expect(try field("firmwareVersion", of: [0] + Self.getInfo).value == "328706")
    #expect(try field("member 99", of: Self.getInfo).value == "1")
  }

  @Test func faultsAreNamed() throws {
    #expect(Explainer.explain(Self.registrationData + [0])?.fault?.name == "authenticatorDataTrailingBytes")
    #expect(Explainer.explain(Array(Self.attestationObject.dropLast()))?.fault?.name == "truncated")
    #expect(Explainer.explain([0x30, 0x06, 2, 1, 1, 2, 1, 1, 0])?.fault?.name == "signatureTrailingBytes")
    #expect(
      Explainer.explain(Array(#"{"type":"a","type":"b","challenge":"c"}"#.utf8))?.fault?.name == "jsonDuplicateMember")
  }

  /// What only looks like it at the beginning, or for long enough, is not it.
  @Test func whatItIsNot() {
    let page = "<!DOCTYPE html>\n<html lang=\"en\">\n" + String(repeating: "<p>A page, and é.</p>\n", count: 3000)
    var random = SeededGenerator(seed: 1)
    for bytes in [
      Array(page.utf8), Array("0 is how this line begins".utf8), Array("{ no JSON".utf8),
      Array("Thirty-seven characters have this line".utf8.prefix(37)), [0xA3, 1, 2, 3], [0x30, 0x05, 0x30, 3, 1, 2, 3],
      [0x7F] + Array("ELF".utf8) + random.bytes(4000), [UInt8](repeating: 0, count: 38),
    ] { #expect(Explainer.explain(bytes) == nil, "\(bytes.prefix(8))") }
    // Of Seal's key, and damaged, it is explained all the same.
    #expect(
      Explainer.explain(SHA256.hash(Array("sealmessenger.com".utf8)) + [5, 0, 0, 0, 9, 7])?.fault?.name
        == "authenticatorDataTrailingBytes")
  }

  /// Text from a key must not steer a terminal.
  @Test func textIsMadeHarmless() throws {
    let evil = "a\u{1b}[2J\u{9b}\u{202e}\u{2066}\u{200b}b"
    let bytes = CBORValue.encode(.textMap([("fmt", .text(evil)), ("authData", .bytes(Self.registrationData))]))
    let json = Array(#"{"type":"\#(evil.filter { $0 != "\u{1b}" })","challenge":""}"#.utf8)
    for value in [try field("fmt", of: bytes).value, try field("type", of: json).value] {
      #expect(!value.unicodeScalars.contains { [0x1b, 0x9b, 0x202e, 0x2066, 0x200b].contains($0.value) })
      #expect(value.contains("a"))
    }
  }

  /// Whatever the bytes are, the places are inside them, and nothing traps.
  private func check(_ bytes: [UInt8]) {
    guard let explanation = Explainer.explain(bytes) else { return }
    for field in explanation.fields {
      guard let offset = field.offset, let length = field.length else { continue }
      #expect(offset >= 0 && length >= 0 && offset + length <= bytes.count, "\(field.name)")
    }
    _ = JSONWriter.write(explanation.json)
  }

  @Test func everyTruncationAndEveryBit() {
    for sample in Self.samples {
      for count in 0..<sample.bytes.count { check(Array(sample.bytes.prefix(count))) }
      for i in sample.bytes.indices {
        for bit in 0..<8 {
          var changed = sample.bytes
          changed[i] ^= 1 << UInt8(bit)
          check(changed)
        }
      }
    }
  }

  @Test(arguments: 0..<50) func noise(_ seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    for first in [0x00, 0x30, 0x7b, 0xa3, 0xbb, 0x49] as [UInt8] {
      check([first] + random.bytes(Int.random(in: 0..<200, using: &random)))
    }
  }

  @Test(.enabled(if: Corpus.has("real-key-captures.json"), "\(Corpus.absent)"))
  func realKeys() throws {
    let captures = try JSONReader.parse(try Corpus.read("real-key-captures.json"))["captures"]?.array ?? []
    #expect(captures.count == 7)
    for capture in captures {
      let hex = try #require(capture["attestationObjectHex"]?.string)
      let object = try #require(Hex.decode(hex))
      check(object)
      let explanation = try #require(Explainer.explain(object))
      #expect(explanation.kind == "attestation object")
      #expect(explanation.fault == nil)
      #expect(explanation.publicKey?.count == 64)
      #expect(explanation.fields.contains { $0.name == "aaguid" && $0.value == capture["aaguid"]?.string })
      #expect(explanation.fields.contains { $0.name == "signCount" && Int64($0.value) == capture["regCounter"]?.int })
    }
  }
}

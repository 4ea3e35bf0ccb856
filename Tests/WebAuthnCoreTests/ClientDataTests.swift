// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// Client data, written in the standard's form and read strictly.
@Suite(.arithmetic) struct ClientDataTests {
  @Test func writesTheStandardsForm() throws {
    let data = ClientData(type: .get, challenge: bytes(hex: "fbff00"), origin: "https://sealmessenger.com")
    #expect(
      String(decoding: data.json, as: UTF8.self)
        == #"{"type":"webauthn.get","challenge":"-_8A","origin":"https://sealmessenger.com","crossOrigin":false}"#)
    #expect(data.hash == SHA256.hash(data.json))
    let again = try ClientData(parsing: data.json)
    #expect(again.type == "webauthn.get")
    #expect(again.challenge == "-_8A")
    #expect(again.origin == "https://sealmessenger.com")
    #expect(again.crossOrigin == false)
    #expect(again.topOrigin == nil)
  }

  /// CCDToString (WebAuthn level 3 section 5.8.1.2): controls as four lowercase digits, even those JSON has a letter
  /// for; slashes, DEL and everything beyond ASCII plain.
  @Test func escapesAsTheStandardSays() throws {
    let origin = "a\"b\\c\n\u{1f}\u{7f}/é"
    let data = ClientData(type: .create, challenge: [], origin: origin, crossOrigin: true)
    #expect(
      String(decoding: data.json, as: UTF8.self)
        == "{\"type\":\"webauthn.create\",\"challenge\":\"\",\"origin\":"
        + "\"a\\\"b\\\\c\\u000a\\u001f\u{7f}/é\",\"crossOrigin\":true}")
    #expect(try ClientData(parsing: data.json).origin == origin)
  }

  @Test(arguments: [
    #"{"crossOrigin":false,"challenge":"AA","type":"webauthn.get"}"#,
    #"{ "type": "webauthn.get", "challenge": "AA", "origin": null, "crossOrigin": null, "topOrigin": null }"#,
    #"{"type":"webauthn.get","challenge":"AA","other_keys_can_be_added_here":{"a":[1]},"origin":"x"}"#,
    #"{"type":"webauthn\u002eget","challenge":"A\u0041"}"#,
  ])
  func readsAnyLayout(_ text: String) throws {
    let data = try ClientData(parsing: Array(text.utf8))
    #expect(data.type == "webauthn.get")
    #expect(data.challenge == "AA")
    #expect(data.json == Array(text.utf8))
  }

  @Test(
    arguments: [
      ("", "jsonTruncated", 0), ("[]", "clientDataNotAnObject", nil), ("\"a\"", "clientDataNotAnObject", nil),
      ("{}", "clientDataMissing(type)", nil), (#"{"type":"a"}"#, "clientDataMissing(challenge)", nil),
      (#"{"type":null,"challenge":"a"}"#, "clientDataMissing(type)", nil),
      (#"{"type":1,"challenge":"a"}"#, "clientDataWrongType(type)", 8),
      (#"{"type":"a","challenge":["a"]}"#, "clientDataWrongType(challenge)", 24),
      (#"{"type":"a","challenge":"a","origin":true}"#, "clientDataWrongType(origin)", 37),
      (#"{"type":"a","challenge":"a","topOrigin":{}}"#, "clientDataWrongType(topOrigin)", 40),
      (#"{"type":"a","challenge":"a","crossOrigin":"false"}"#, "clientDataWrongType(crossOrigin)", 42),
      (#"{"type":"a","challenge":"a","type":"b"}"#, "jsonDuplicateMember", 28),
      (#"{"type":"a","challenge":"a","x":{"y":1,"y":2}}"#, "jsonDuplicateMember", 39),
      ("\u{feff}{\"type\":\"a\",\"challenge\":\"a\"}", "jsonByteOrderMark", 0),
      (#"{"type":"a","challenge":"a"} x"#, "jsonTrailingBytes", 29),
      (#"{"type":"a","challenge":"a","x":[[[[[[[[[]]]]]]]]]}"#, "jsonTooDeep", 40),
    ] as [(String, String, Int?)])
  func refuses(_ text: String, _ name: String, _ offset: Int?) {
    do {
      _ = try ClientData(parsing: Array(text.utf8))
      Issue.record("accepted")
    } catch {
      #expect(error.name == name)
      #expect(error.offset == offset)
    }
  }

  @Test func isBounded() {
    let filler = String(repeating: "x", count: 1 << 16)
    #expect { try ClientData(parsing: Array(#"{"type":"a","challenge":"\#(filler)"}"#.utf8)) } throws: {
      ($0 as? ClientDataError)?.name == "jsonTooLarge"
    }
  }

  @Test func everyTruncationIsRefused() {
    let json = ClientData(type: .get, challenge: [1, 2, 3], origin: "https://example.org").json
    for count in 0..<json.count {
      #expect(throws: ClientDataError.self) { try ClientData(parsing: Array(json.prefix(count))) }
    }
  }
}

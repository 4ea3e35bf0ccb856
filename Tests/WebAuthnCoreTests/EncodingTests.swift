// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import FoundationEssentials
import TestSupport
import Testing
import WebAuthnCore

/// Hexadecimal and base64, each with exactly one way to write the same bytes.
@Suite(.arithmetic) struct EncodingTests {
  /// RFC 4648 section 10, in both forms.
  @Test(arguments: [
    ("", "", ""), ("f", "Zg==", "Zg"), ("fo", "Zm8=", "Zm8"), ("foo", "Zm9v", "Zm9v"),
    ("foob", "Zm9vYg==", "Zm9vYg"), ("fooba", "Zm9vYmE=", "Zm9vYmE"), ("foobar", "Zm9vYmFy", "Zm9vYmFy"),
  ])
  func knownAnswers(_ plain: String, _ standard: String, _ url: String) {
    let bytes = Array(plain.utf8)
    #expect(Base64.encode(bytes) == standard)
    #expect(Base64.encode(bytes, .url) == url)
    #expect(Base64.decode(standard) == bytes)
    #expect(Base64.decode(url, .url) == bytes)
  }

  @Test func theAlphabetsDifferInTwoLetters() {
    #expect(Base64.encode([0xfb, 0xff, 0xbf]) == "+/+/")
    #expect(Base64.encode([0xfb, 0xff, 0xbf], .url) == "-_-_")
    #expect(Base64.decode("-_-_") == nil)
    #expect(Base64.decode("+/+/", .url) == nil)
  }

  /// Padding missing, doubled, misplaced or unasked for; white space; stray bits; one letter alone.
  @Test(arguments: [
    "Zg", "Zg=", "Zg===", "=", "==", "====", "A===", "Z=g=", "Zg==Zg==", "Zm9v\n", " Zm9v", "Zh==", "Zm9=", "Zm9v=",
    "Zé==",
  ])
  func standardRefuses(_ text: String) { #expect(Base64.decode(text) == nil) }

  @Test(arguments: ["Z", "Zg==", "Zh", "Zm9", "Zm9vY", "Zm9v\n", "Zm8=", "Zm 9v"])
  func urlRefuses(_ text: String) { #expect(Base64.decode(text, .url) == nil) }

  @Test func hexadecimal() {
    #expect(Hex.encode([0x00, 0x0f, 0xa5, 0xff]) == "000fa5ff")
    #expect(Hex.decode("000fA5ff") == [0x00, 0x0f, 0xa5, 0xff])
    #expect(Hex.decode("000fA5ff", lowercaseOnly: true) == nil)
    #expect(Hex.decode("") == [])
    for bad in ["0", "0g", "0x00", "00 00", "００"] { #expect(Hex.decode(bad) == nil, "\(bad)") }
  }

  /// Random bytes survive both ways, and Foundation writes the same.
  @Test func roundTrips() {
    var random = SeededGenerator(seed: 1)
    for count in 0..<200 {
      let bytes = random.bytes(count)
      #expect(Base64.encode(bytes) == Data(bytes).base64EncodedString())
      for form in [Base64.Form.standard, .url] { #expect(Base64.decode(Base64.encode(bytes, form), form) == bytes) }
      #expect(Hex.decode(Hex.encode(bytes)) == bytes)
    }
  }

  /// Of all texts of a few letters, at most one decodes to the same bytes.
  @Test func noTwoTextsMeanTheSame() {
    var seen: [[UInt8]: String] = [:]
    let letters = ["A", "B", "Q", "g", "/", "="]
    func walk(_ text: String) {
      if let bytes = Base64.decode(text) {
        #expect(seen[bytes] == nil, "\(text) and \(seen[bytes] ?? "")")
        seen[bytes] = text
      }
      if text.utf8.count < 5 { for letter in letters { walk(text + letter) } }
    }
    walk("")
    #expect(seen.count > 100)
  }

  @Test func exactnessIsOfBytes() {
    #expect("K" == "\u{212A}")
    #expect(!"K".isExactly("\u{212A}"))
    #expect(!"é".isExactly("e\u{301}"))
    #expect("webauthn.get".isExactly("webauthn.get"))
  }
}

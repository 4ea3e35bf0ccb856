// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

/// A person who mistypes, and a keyboard that spells letters its own way.
@Suite("PIN again")
struct PINAgainTests {
  /// Types these PINs, one after the other, and then the last one again.
  static func person(_ pins: [String], _ asked: Locked<[PINRequest]>) -> PINProvider {
    { request in
      let turn = asked.withLock { asked in
        asked.append(request)
        return asked.count - 1
      }
      return SecretBytes(Array(pins[min(turn, pins.count - 1)].utf8))
    }
  }

  @Test(
    "a wrong PIN is asked for again while tries may be spent",
    arguments: [ModelProfile.virtual, .protocol1, .protocol2, .ctap20])
  func again(profile: ModelProfile) async throws {
    let bench = try Bench(profile, asksAgain: true)
    try await bench.setPIN()
    let id = try await bench.register(Bench.registration()).credentialID
    let asked = Locked<[PINRequest]>([])
    let answer = try await bench.key.getAssertion(
      Bench.assertion([id], uv: .required), pin: Self.person(["9999", "8888", "1234"], asked))
    #expect(answer.credentialID == id)
    let requests = asked.withLock { $0 }
    #expect(requests.map(\.triesLeft) == [8, 7, 6])
    #expect(requests.map(\.lastWasWrong) == [false, true, true])
    #expect(bench.virtual.pinRetries == 8)
  }

  @Test("three wrong ones in a row: the key wants to be unplugged, and nobody is asked a fourth time")
  func threeInARow() async throws {
    let bench = try Bench(asksAgain: true)
    try await bench.setPIN()
    let id = try await bench.register(Bench.registration()).credentialID
    let asked = Locked<[PINRequest]>([])
    let name = await failure {
      _ = try await bench.key.getAssertion(
        Bench.assertion([id], uv: .required), pin: Self.person(["9999", "8888", "7777", "1234"], asked))
    }
    #expect(name == "pinAuthBlocked")
    #expect(asked.withLock { $0.count } == 3)
    #expect(bench.virtual.pinRetries == 5)
  }

  @Test("the last three tries are never asked for", arguments: [6, 7])
  func floor(floor: Int) async throws {
    let bench = try Bench(pinTriesFloor: floor, asksAgain: true)
    try await bench.setPIN()
    let id = try await bench.register(Bench.registration()).credentialID
    let asked = Locked<[PINRequest]>([])
    let name = await failure {
      _ = try await bench.key.getAssertion(
        Bench.assertion([id], uv: .required), pin: Self.person(["9999", "8888", "7777"], asked))
    }
    #expect(name == "pinInvalid")
    #expect(asked.withLock { $0.count } == 8 - floor)
    #expect(bench.virtual.pinRetries == floor)
  }

  @Test(
    "letters made in two ways are one PIN",
    arguments: [
      ("ü", "u\u{308}"), ("Å", "A\u{30A}"), ("Å", "\u{212B}"), ("각", "\u{1100}\u{1161}\u{11A8}"),
      ("ộ", "o\u{302}\u{323}"), ("ộ", "o\u{323}\u{302}"), ("\u{915}\u{93C}", "\u{958}"),
    ])
  func forms(composed: String, decomposed: String) throws {
    func hash(_ text: String) throws -> [UInt8] {
      try CheckedPIN(SecretBytes(Array((text + "abcd").utf8)), minimumLength: 4).leftHash().exposed()
    }
    #expect(Array(composed.utf8) != Array(decomposed.utf8))
    #expect(try hash(composed) == hash(decomposed))
    // And the composed one goes to the key as it is.
    #expect(try hash(composed) == Array(SHA256.hash(Array((composed + "abcd").utf8)).prefix(16)))
  }

  @Test("length is counted after letters are put together: code points, and 63 bytes at most")
  func lengths() throws {
    func name(_ text: String, minimum: Int = 4) -> String? {
      do throws(SecurityKeyError) {
        _ = try CheckedPIN(SecretBytes(Array(text.utf8)), minimumLength: minimum)
        return nil
      } catch { return error.name }
    }
    let ü = "u\u{308}"
    #expect(name(ü + "abc") == nil)
    #expect(name(ü + "abc", minimum: 5) == "pinTooShort")
    #expect(name(String(repeating: ü, count: 31)) == nil)
    #expect(name(String(repeating: ü, count: 32)) == "pinUnusable")
    #expect(name(String(repeating: ü, count: 200)) == "pinUnusable")
    #expect(name(String(repeating: "🔑", count: 15)) == nil)
    #expect(name(String(repeating: "🔑", count: 16)) == "pinUnusable")
    for bad: [UInt8] in [[0xFC, 0x61, 0x62, 0x63], [0x61, 0x62, 0x63, 0xC3], [0xED, 0xA0, 0x80, 0x61]] {
      do throws(SecurityKeyError) {
        _ = try CheckedPIN(SecretBytes(bad), minimumLength: 4)
        Issue.record("\(bad) was taken")
      } catch { #expect(error == .pinUnusable) }
    }
  }

  @Test("a PIN set in one form opens the key in the other")
  func acrossKeyboards() async throws {
    let bench = try Bench(pin: Array("Käse und Brot".utf8))
    try await bench.key.setPIN(SecretBytes(Array("Ka\u{308}se und Brot".utf8)))
    let id = try await bench.register(Bench.registration()).credentialID
    let answer = try await bench.assert(Bench.assertion([id], uv: .required))
    #expect(answer.credentialID == id)
    #expect(bench.virtual.pinRetries == 8)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

@Suite("PIN")
struct PINTests {
  /// A key with a PIN and a credential made without asking for it, so that what follows asks first.
  static func bench(_ profile: ModelProfile = .virtual, floor: Int = 3) async throws -> (Bench, [UInt8]) {
    let bench = try Bench(profile, pinTriesFloor: floor)
    try await bench.setPIN()
    let id = try await bench.register(Bench.registration(prf: true)).credentialID
    bench.asked.withLock { $0 = [] }
    bench.virtual.log.clear()
    return (bench, id)
  }

  func assert(_ bench: Bench, _ id: [UInt8], _ pin: String) async -> String? {
    bench.typed.withLock { $0 = Array(pin.utf8) }
    return await failure { try await bench.assert(Bench.assertion([id])) }
  }

  @Test(
    "a wrong PIN costs one try and says how many are left", arguments: [ModelProfile.virtual, .protocol1, .protocol2])
  func wrongPIN(profile: ModelProfile) async throws {
    let (bench, id) = try await Self.bench(profile)
    bench.typed.withLock { $0 = Array("9999".utf8) }
    await #expect(throws: SecurityKeyError.pinInvalid(triesLeft: 7)) {
      try await bench.assert(Bench.assertion([id]))
    }
    #expect(bench.virtual.pinRetries == 7)
    #expect(bench.pinQuestions == 1)
    let asked = try #require(bench.asked.withLock { $0.first })
    #expect(asked == PINRequest(keyName: "bench", triesLeft: 8, minimumLength: 4))
    #expect(await assert(bench, id, "1234") == nil)
    #expect(bench.virtual.pinRetries == 8)
  }

  @Test(
    "a PIN of the wrong length or form costs no try",
    arguments: [
      ("", "pinTooShort"), ("123", "pinTooShort"), ("äöü", "pinTooShort"),
      (String(repeating: "1", count: 64), "pinUnusable"),
      (String(repeating: "ä", count: 32), "pinUnusable"), ("12\u{0}34", "pinUnusable"), ("12\n34", "pinUnusable"),
    ])
  func lengths(pin: String, expected: String) async throws {
    let (bench, id) = try await Self.bench()
    #expect(await assert(bench, id, pin) == expected)
    #expect(bench.virtual.pinRetries == 8)
    #expect(
      bench.virtual.log.entries.allSatisfy { $0.command == .clientPIN && $0.subcommand == 1 || $0.command == .getInfo })
  }

  @Test("bytes that are no UTF-8 are no PIN, and 63 bytes are one")
  func edges() async throws {
    let (bench, id) = try await Self.bench()
    bench.typed.withLock { $0 = [0x31, 0x32, 0xFF, 0x34] }
    #expect(await failure { try await bench.assert(Bench.assertion([id])) } == "pinUnusable")
    let long = Array(String(repeating: "7", count: 63).utf8)
    try await bench.key.changePIN(to: SecretBytes(long), old: { _ in SecretBytes(Bench.pin) })
    bench.typed.withLock { $0 = long }
    #expect(await failure { try await bench.assert(Bench.assertion([id])) } == nil)
  }

  @Test("three wrong PINs in a row: the key wants to be unplugged, and no try is spent after that")
  func softBlock() async throws {
    let (bench, id) = try await Self.bench()
    #expect(await assert(bench, id, "0000") == "pinInvalid")
    #expect(await assert(bench, id, "0001") == "pinInvalid")
    #expect(await assert(bench, id, "0002") == "pinAuthBlocked")
    #expect(bench.virtual.pinRetries == 5)
    // The right PIN is not even asked for.
    bench.asked.withLock { $0 = [] }
    #expect(await assert(bench, id, "1234") == "pinAuthBlocked")
    #expect(bench.pinQuestions == 0)
    bench.virtual.powerCycle()
    #expect(await assert(bench, id, "1234") == nil)
  }

  @Test("it stops when three tries are left, and goes on when told to")
  func floor() async throws {
    let (bench, id) = try await Self.bench()
    for turn in 0..<5 {
      _ = await assert(bench, id, "000\(turn)")
      bench.virtual.powerCycle()
    }
    #expect(bench.virtual.pinRetries == 3)
    bench.asked.withLock { $0 = [] }
    #expect(await assert(bench, id, "1234") == "pinTriesLow")
    #expect(bench.pinQuestions == 0 && bench.virtual.pinRetries == 3)
  }

  @Test("the last try: blocked, whatever the key calls it", arguments: [false, true])
  func blocked(callsItInvalid: Bool) async throws {
    let profile = ModelProfile.virtual.varied("q23") {
      if callsItInvalid { $0.quirks = [.lastWrongPINIsInvalid, .noSoftBlock] }
    }
    let (bench, id) = try await Self.bench(profile, floor: 0)
    for turn in 0..<2 { #expect(await assert(bench, id, "000\(turn)") == "pinInvalid") }
    for turn in 2..<8 {
      bench.virtual.powerCycle()
      _ = await assert(bench, id, "000\(turn)")
    }
    #expect(bench.virtual.pinRetries == 0)
    bench.virtual.powerCycle()
    bench.asked.withLock { $0 = [] }
    #expect(await assert(bench, id, "1234") == "pinBlocked")
    #expect(bench.pinQuestions == 0, "no PIN is asked for in vain")
  }

  @Test("the wrong PIN that blocks is reported as blocked")
  func lastWrong() async throws {
    let profile = ModelProfile.virtual.varied("one-try") {
      $0.pinRetries = 1
      $0.quirks = [.lastWrongPINIsInvalid]
    }
    let (bench, id) = try await Self.bench(profile, floor: 0)
    #expect(await assert(bench, id, "0000") == "pinBlocked")
  }

  @Test("nobody to ask: named, and no try spent")
  func nobody() async throws {
    let (bench, id) = try await Self.bench()
    #expect(await failure { try await bench.key.getAssertion(Bench.assertion([id]), pin: nil) } == "pinRequired")
    #expect(bench.virtual.pinRetries == 8)
  }

  @Test("what the person's side throws comes through, and the key is usable after")
  func providerThrows() async throws {
    struct WalkedAway: Error {}
    let (bench, id) = try await Self.bench()
    await #expect(throws: WalkedAway.self) {
      try await bench.key.getAssertion(Bench.assertion([id])) { _ in throw WalkedAway() }
    }
    #expect(await assert(bench, id, "1234") == nil)
  }

  @Test("set, change, and the rules of both")
  func setAndChange() async throws {
    let bench = try Bench()
    #expect(
      await failure { try await bench.key.changePIN(to: SecretBytes(Array("5678".utf8)), old: bench.person) }
        == "pinNotSet")
    #expect(await failure { try await bench.key.setPIN(SecretBytes(Array("123".utf8))) } == "pinTooShort")
    try await bench.setPIN()
    #expect(await failure { try await bench.setPIN() } == "pinAlreadySet")
    try await bench.key.changePIN(to: SecretBytes(Array("5678".utf8)), old: bench.person)
    bench.typed.withLock { $0 = Array("1234".utf8) }
    #expect(
      await failure { try await bench.key.changePIN(to: SecretBytes(Array("0000".utf8)), old: bench.person) }
        == "pinInvalid")
    bench.typed.withLock { $0 = Array("5678".utf8) }
    try await bench.key.setMinimumPINLength(6, pin: bench.person)
    // The key now demands a longer PIN before anything else.
    #expect(await failure { try await bench.register() } == "pinChangeRequired")
    #expect(
      await failure { try await bench.key.changePIN(to: SecretBytes(Array("12345".utf8)), old: bench.person) }
        == "pinTooShort")
    try await bench.key.changePIN(to: SecretBytes(Array("123456".utf8)), old: bench.person)
    bench.typed.withLock { $0 = Array("123456".utf8) }
    #expect(await failure { try await bench.register() } == nil)
  }

  @Test("a U2F key has no PIN to set, and says so")
  func u2f() async throws {
    let bench = try Bench(.u2f)
    #expect(await failure { try await bench.setPIN() } == "fido2Needed")
    #expect(try await bench.key.pinTriesLeft() == nil)
  }

  @Test(
    "tries are read with the protocol that the key has",
    arguments: [ModelProfile.virtual, .protocol1, .protocol2, .ctap20])
  func tries(profile: ModelProfile) async throws {
    let bench = try Bench(profile.varied("retries") { $0.quirks.insert(.retriesNeedProtocol) })
    #expect(try await bench.key.pinTriesLeft() == nil)
    try await bench.setPIN()
    #expect(try await bench.key.pinTriesLeft() == 8)
  }

  @Test("a key that lists protocol 2 and fails with it is served with protocol 1")
  func protocol2Fails() async throws {
    let profile = ModelProfile.virtual.varied("q35") { $0.quirks = [.protocol2Fails] }
    let bench = try Bench(profile)
    try await bench.setPIN()
    #expect(await failure { try await bench.register() } == nil)
    #expect(bench.pinQuestions == 1)
    #expect(bench.virtual.pinRetries == 8)
  }

  @Test("nobody knows whether protocol 2 has cost a try: the PIN is not sent again")
  func protocol2FailsUncounted() async throws {
    let profile = ModelProfile.virtual.varied("q35") { $0.quirks = [.protocol2Fails] }
    let bench = try Bench(profile)
    try await bench.setPIN()
    try await bench.key.open()
    // How many tries are left: an answer without the number.
    bench.faults.add(.command(bench.faults.commands, .replaceReply([0, 0xA0])))
    #expect(await failure { try await bench.register() } == "pinAuthInvalid")
    #expect(bench.pinQuestions == 1)
    #expect(bench.virtual.log.count(.makeCredential) == 1)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import TestSupport
import Testing
import VirtualAuthenticator

@testable import SecurityKeys

/// Keys on card readers and USB keys wait for the same touch.
@Suite("Choice by touch: cards", .serialized)
struct CardChoiceTests {
  /// A USB key that nobody touches by itself, and a reader beside it.
  struct Table {
    let usb: Bench
    let desk: Desk
    let card: VirtualCard
    let cardKey: VirtualAuthenticator

    init(_ profile: ModelProfile = .virtual, lies: Bool) async throws {
      usb = try await KeyChoiceTests.bench(0)
      cardKey = try VirtualAuthenticator(profile: profile)
      card = VirtualCard(cardKey)
      desk = Desk(lies ? card : nil)
    }

    func choose() -> Task<(Int?, String?), Never> {
      let endpoints = [usb.endpoint, desk.endpoint(reader: Desk.reader)]
      return Task {
        var chosen: KeyChoice.Chosen?
        let failed = await failure {
          chosen = try await KeyChoice.touched(among: endpoints, timings: Bench.patient)
        }
        await chosen?.others.value
        return (chosen?.index, failed)
      }
    }

    /// Until the USB key waits and the reader has been looked at.
    func bothWait() async throws {
      let looks = desk.looks.withLock { $0 }
      try await eventually { KeyChoiceTests.isWaiting(usb) && desk.looks.withLock { $0 } >= looks + 3 }
    }
  }

  @Test(
    "a card that is laid on a reader is chosen, and the USB key hears CANCEL", arguments: [ModelProfile.virtual, .u2f])
  func laid(profile: ModelProfile) async throws {
    let table = try await Table(profile, lies: false)
    let choice = table.choose()
    try await table.bothWait()
    table.desk.lay(table.card)
    let (index, failed) = await choice.value
    #expect(index == 1 && failed == nil)
    #expect(table.usb.virtual.log.entries.last?.status == .keepaliveCancel)
    #expect(table.cardKey.log.count(.clientPIN) == 0 && table.cardKey.storedCredentials == 0)
    // It still lies there, and is used without being laid on once more.
    let key = SecurityKey(table.desk.endpoint(reader: Desk.reader), timings: Bench.quick)
    #expect(await failure { try await key.makeCredential(Bench.registration()) } == nil)
    await key.close()
  }

  @Test("a card that lay there before is not taken for touched, and is once it is lifted and laid on again")
  func lying() async throws {
    for taps in [false, true] {
      let table = try await Table(lies: true)
      let choice = table.choose()
      try await table.bothWait()
      if taps { table.desk.tapAgain() } else { table.usb.virtual.touch.touch() }
      let (index, failed) = await choice.value
      #expect(index == (taps ? 1 : 0) && failed == nil)
      #expect(!table.desk.state.withLock { $0.slots[0].isHeld }, "let go of")
      if !taps { #expect(table.desk.apdus.isEmpty, "nothing was said to a card that nobody tapped") }
    }
  }

  @Test("what is laid there and is no key does not end the wait, and neither does a reader that goes away")
  func noKey() async throws {
    let table = try await Table(lies: false)
    let choice = table.choose()
    try await table.bothWait()
    table.desk.lay(ScriptedCard([]))
    try await eventually { !table.desk.apdus.isEmpty }
    table.desk.lift()
    try await table.bothWait()
    table.desk.lay(table.card)
    #expect(await choice.value.0 == 1)

    let other = try await Table(lies: false)
    let second = other.choose()
    try await other.bothWait()
    other.desk.state.withLock { $0.slots = [] }
    other.usb.virtual.touch.touch()
    #expect(await second.value.0 == 0)
  }

  @Test("nobody touches anything: timed out; and a cancel reaches the reader as well")
  func nobody() async throws {
    let table = try await Table(lies: true)
    let timings = KeyTimings(touch: .milliseconds(400), command: .seconds(60), drain: .seconds(60))
    let endpoints = [table.usb.endpoint, table.desk.endpoint(reader: Desk.reader)]
    #expect(await failure { try await KeyChoice.touched(among: endpoints, timings: timings) } == "timedOut")
    let choice = table.choose()
    try await table.bothWait()
    choice.cancel()
    #expect(await choice.value.1 == "cancelled")
    #expect(!table.desk.state.withLock { $0.slots[0].isHeld })
  }

  // MARK: - Who waits

  static func reader(_ name: String, _ access: FoundKey.Access) -> (key: FoundKey, access: FoundKey.Access) {
    (FoundKey(reader: name, isSimulated: false), access)
  }

  static func usb(_ path: String) throws -> FoundKey {
    try #require(FoundKey(DiscoveryTests.node(path)))
  }

  @Test("one key is used outright; of several all wait, and every reader on which one can be laid")
  func contenders() async throws {
    let (one, two) = (try Self.usb("/dev/hidraw1"), try Self.usb("/dev/hidraw2"))
    let (key, bank) = (Self.reader("R key", .ready), Self.reader("R bank", .ready))
    let (empty, face) = (Self.reader("R empty", .noCard), Self.reader("Yubico YubiKey CCID", .useUSB))
    func among(_ usb: [FoundKey], _ readers: [(key: FoundKey, access: FoundKey.Access)]) async -> Contenders {
      await Contenders.among(usb, readers) { $0.placeName == "R key" || $0.placeName == "R key too" }
    }
    #expect(await among([], []) == .none)
    #expect(await among([], [empty, face]) == .none)
    #expect(await among([one], [empty, face]) == .one(one), "an empty reader makes nobody touch a key twice")
    #expect(await among([one], [bank]) == .one(one), "nor does a bank's card")
    #expect(await among([], [key, empty]) == .one(key.key))
    #expect(await among([], [bank]) == .one(bank.key), "and it will say that it is no key")
    #expect(await among([one, two], [face]) == .several([one, two]))
    #expect(await among([one, two], [empty, face]) == .several([one, two, empty.key]))
    #expect(await among([one], [key, empty, face]) == .several([one, key.key, empty.key]))
    #expect(await among([], [key, bank]) == .one(key.key))
    let too = Self.reader("R key too", .ready)
    #expect(await among([], [key, too]) == .several([key.key, too.key]))
  }

  @Test("whether a card is a key is asked of the card")
  func isKey() async throws {
    #expect(await Contenders.isKey(Desk(VirtualCard(try VirtualAuthenticator())).endpoint()))
    #expect(await Contenders.isKey(Desk(ScriptedCard([])).endpoint()) == false)
  }
}

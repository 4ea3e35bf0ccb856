// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

/// The whole of what Seal does, on a card.
@Suite("Cards: ceremonies")
struct CardCeremonyTests {
  @Test("PIN, registration, assertion, PRF: as on any other wire")
  func everything() async throws {
    let bench = try CardBench()
    let facts = try await bench.key.open()
    #expect(facts.transport == "pcsc" && facts.isSimulated && facts.name == Desk.reader)
    try await bench.key.setPIN(SecretBytes(Bench.pin))
    let made = try await bench.session.makeCredential(Bench.registration(exclude: CardBench.long(), prf: true))
    #expect(try Bench.flags(made).contains(.userVerified))
    let salts = PRFSalts(first: [UInt8](repeating: 7, count: 32), second: [UInt8](repeating: 8, count: 32))
    let once = try await bench.session.getAssertion(Bench.assertion([made.credentialID], salts: salts))
    let twice = try await bench.session.getAssertion(Bench.assertion([made.credentialID], salts: salts))
    let first = try #require(once.prf)
    let again = try #require(twice.prf)
    let isSame = first.first.isEqual(to: again.first)
    #expect(isSame)
    #expect(try Bench.flags(once).contains(.userVerified))
    let long = Bench.assertion(CardBench.long() + [made.credentialID])
    #expect(try await bench.session.getAssertion(long).credentialID == made.credentialID)
    #expect(bench.pinQuestions == 4 && bench.virtual.pinRetries == 8)
    #expect(await failure { try await bench.session.getAssertion(Bench.assertion(CardBench.long())) } == "notOnThisKey")
    #expect(try await bench.key.pinTriesLeft() == 8)
    await bench.key.close()
  }

  @Test("a wrong PIN costs one try, and says how many are left")
  func wrongPIN() async throws {
    let bench = try CardBench()
    try await bench.key.setPIN(SecretBytes(Bench.pin))
    let failed = await failure {
      try await bench.key.makeCredential(Bench.registration()) { _ in SecretBytes(Array("9999".utf8)) }
    }
    #expect(failed == "pinInvalid" && bench.virtual.pinRetries == 7)
    #expect(await failure { try await bench.session.makeCredential(Bench.registration()) } == nil)
    #expect(bench.virtual.pinRetries == 8)
  }

  @Test("a U2F key by APDU: registered, used, and strangers' handles refused")
  func u2f() async throws {
    let bench = try CardBench(.u2f)
    let facts = try await bench.key.open()
    #expect(facts.info == nil)
    let made = try await bench.session.makeCredential(Bench.registration(exclude: CardBench.long(3), uv: .discouraged))
    let used = try await bench.session.getAssertion(
      Bench.assertion(CardBench.long(3) + [made.credentialID], uv: .discouraged))
    #expect(used.credentialID == made.credentialID)
    #expect(
      await failure { try await bench.session.makeCredential(Bench.registration(exclude: [made.credentialID])) }
        == "alreadyRegistered")
    #expect(
      await failure { try await bench.session.getAssertion(Bench.assertion(CardBench.long(3))) } == "notOnThisKey")
  }

  @Test("a U2F key that wants a fresh tap goes on after it")
  func u2fNewTap() async throws {
    let bench = try CardBench(.u2f, touch: .never, timings: Bench.patient)
    let attention = bench.attend(taps: false)
    let task = Task { await failure { try await bench.session.makeCredential(Bench.registration()) } }
    try await eventually { bench.seen.withLock({ $0.contains(.tapAgainNeeded(reader: Desk.reader)) }) }
    let lifted = try #require(bench.desk.lift())
    try await Task.sleep(for: .milliseconds(20))
    bench.virtual.touch.setPolicy(.automatic)
    bench.desk.lay(lifted)
    #expect(await task.value == nil)
    await bench.key.close()
    await attention.value
  }

  @Test("the touch of a card that polls is seen, and its events are those of any key")
  func touch() async throws {
    let bench = try CardBench(touch: .after(milliseconds: 200))
    let attention = bench.attend()
    #expect(await failure { try await bench.session.makeCredential(Bench.registration()) } == nil)
    await bench.key.close()
    await attention.value
    let seen = bench.seen.withLock { $0 }
    #expect(seen.contains(.touchNeeded) && seen.contains(.touched) && seen.last == .finished)
    #expect(bench.desk.apdus.contains { $0.starts(with: [0x80, 0x11, 0x00]) }, "it was polled")
  }

  @Test("cancelled while it waits: the card hears it and answers the next command", arguments: [false, true])
  func cancel(byTask: Bool) async throws {
    let bench = try CardBench(touch: .never, timings: Bench.patient)
    let task = Task { await failure { try await bench.session.makeCredential(Bench.registration()) } }
    try await eventually { bench.virtual.touch.pending != nil }
    byTask ? task.cancel() : bench.key.cancel()
    #expect(await task.value == "cancelled")
    #expect(bench.virtual.touch.pending == nil, "the card goes on waiting")
    #expect(bench.desk.apdus.contains { $0.starts(with: [0x80, 0x11, 0x11]) })
    bench.virtual.touch.setPolicy(.automatic)
    #expect(await failure { try await bench.session.makeCredential(Bench.registration()) } == nil)
  }

  @Test("nobody touches: the deadline ends it, and the card is free again")
  func deadline() async throws {
    let timings = KeyTimings(
      touch: Pace.milliseconds(2000), command: Pace.milliseconds(8000), drain: .milliseconds(300))
    let bench = try CardBench(touch: .never, timings: timings)
    #expect(await failure { try await bench.session.makeCredential(Bench.registration()) } == "timedOut")
    bench.virtual.touch.setPolicy(.automatic)
    #expect(await failure { try await bench.session.makeCredential(Bench.registration()) } == nil)
  }

  @Test("a reader that hangs is left behind: by the deadline, and by a cancel")
  func hangingReader() async throws {
    let timings = KeyTimings(
      touch: Pace.milliseconds(3000), command: Pace.milliseconds(8000), drain: .milliseconds(50))
    let bench = try CardBench(timings: timings)
    try await bench.key.open()
    let count = bench.desk.apdus.count
    bench.desk.state.withLock { $0.faults = [count: .hang] }
    #expect(await failure { try await bench.session.makeCredential(Bench.registration()) } == "noAnswer")
    // Until the reader comes back, it is held: by this program, which does not know it any more.
    #expect(await failure { try await bench.session.makeCredential(Bench.registration()) } == "readerInUse")
    bench.desk.state.withLock { $0.hangsNoMore = true }
    try await eventually { !bench.desk.state.withLock { $0.slots[0].isHeld } }
    #expect(await failure { try await bench.session.makeCredential(Bench.registration()) } == nil)
  }

  @Test("no card yet: the person is asked for it, and it goes on when it comes")
  func waitsForCard() async throws {
    let bench = try CardBench()
    bench.desk.lift()
    let attention = bench.attend()
    let task = Task { await failure { try await bench.key.open() } }
    try await eventually { bench.seen.withLock({ $0.contains(.cardNeeded(reader: Desk.reader)) }) }
    bench.desk.lay(bench.card)
    #expect(await task.value == nil)
    await bench.key.close()
    await attention.value
  }

  @Test("no card in time, and cancelled while waiting for one")
  func noCard() async throws {
    let timings = KeyTimings(touch: .milliseconds(150), command: .milliseconds(50), drain: .milliseconds(50))
    let bench = try CardBench(timings: timings)
    bench.desk.lift()
    #expect(await failure { try await bench.key.open() } == "noCard")
    let patient = bench.secondKey(timings: Bench.quick)
    let attention = bench.attend(patient)
    let task = Task { await failure { try await patient.open() } }
    // What is cancelled is an act that has begun.
    try await eventually { bench.seen.withLock({ $0.contains(.cardNeeded(reader: Desk.reader)) }) }
    patient.cancel()
    #expect(await task.value == "cancelled")
    await patient.close()
    await attention.value
  }

  @Test("lifted between two acts: the next act asks for the card, and asks it anew what it is")
  func liftedBetween() async throws {
    let bench = try CardBench()
    _ = try await bench.session.makeCredential(Bench.registration())
    let other = VirtualCard(try VirtualAuthenticator(profile: .u2f), answerToReset: [0x3B, 0x00])
    bench.desk.lift()
    bench.desk.lay(other)
    #expect(try await bench.key.open().info != nil, "what was known stays known until the card is used")
    let made = try await bench.session.makeCredential(Bench.registration(uv: .discouraged))
    #expect(try AttestationObject(parsing: made.attestationObject).format == "fido-u2f")
  }

  // MARK: - One ceremony for each tap

  @Test("a card that wants a tap for each ceremony gets it; a PIN is not asked for twice where the key is proven")
  func tapForEach() async throws {
    let bench = try CardBench(traits: CardTraits().with { $0.oneCeremonyPerTap = true })
    let attention = bench.attend()
    try await bench.key.setPIN(SecretBytes(Bench.pin))
    let made = try await bench.session.makeCredential(Bench.registration())
    let used = try await bench.session.getAssertion(Bench.assertion([made.credentialID]))
    #expect(try Bench.flags(used).contains(.userVerified))
    #expect(bench.pinQuestions == 2)
    // From now on it is known, and asked for before the PIN is.
    _ = try await bench.session.getAssertion(Bench.assertion([made.credentialID]))
    #expect(bench.pinQuestions == 3)
    await bench.key.close()
    await attention.value
    #expect(bench.seen.withLock { $0.count { $0 == .tapAgainNeeded(reader: Desk.reader) } } == 2)
    #expect(bench.virtual.pinRetries == 8)
  }

  @Test("where nothing proves that it is the same key, the PIN is asked for again")
  func tapForRegistration() async throws {
    let bench = try CardBench(traits: CardTraits().with { $0.oneCeremonyPerTap = true })
    let attention = bench.attend()
    try await bench.key.setPIN(SecretBytes(Bench.pin))
    _ = try await bench.session.makeCredential(Bench.registration())
    _ = try await bench.session.makeCredential(Bench.registration())
    #expect(bench.pinQuestions == 3)
    // Whoever remembers a PIN is told that it may be another key's.
    #expect(bench.asked.withLock { $0.map(\.mayBeAnotherKey) } == [false, false, true])
    await bench.key.close()
    await attention.value
  }

  @Test("a reader that is opened again may hold another key, unless a credential shows that it is the same")
  func openedAgain() async throws {
    let bench = try CardBench()
    try await bench.key.setPIN(SecretBytes(Bench.pin))
    let made = try await bench.session.makeCredential(Bench.registration())
    await bench.key.close()
    let asked = Locked<[Bool]>([])
    let pin: PINProvider = { request in
      asked.withLock { $0.append(request.mayBeAnotherKey) }
      return SecretBytes(Bench.pin)
    }
    func again() -> SecurityKey { SecurityKey(bench.desk.endpoint(), timings: Bench.quick, follows: true) }
    let proven = again()
    _ = try await proven.getAssertion(Bench.assertion([made.credentialID]), pin: pin)
    await proven.close()
    let doubtful = again()
    _ = try await doubtful.makeCredential(Bench.registration(), pin: pin)
    await doubtful.close()
    let found = again()
    let known = try await found.find([CredentialDescriptor(id: made.credentialID)], rpID: Bench.rpID, pin: pin)
    #expect(known != nil)
    _ = try await found.makeCredential(Bench.registration(), pin: pin)
    await found.close()
    #expect(asked.withLock { $0 } == [false, true, false])
  }

  @Test("another key of the same model laid on instead says no to the credential, and sees no PIN")
  func anotherOfTheModel() async throws {
    let bench = try CardBench(traits: CardTraits().with { $0.oneCeremonyPerTap = true })
    try await bench.key.setPIN(SecretBytes(Bench.pin))
    let made = try await bench.session.makeCredential(Bench.registration())
    let other = try CardBench()
    try await other.key.setPIN(SecretBytes(Array("1357".utf8)))
    await other.key.close()
    let events = bench.key.events
    let attention = Task {
      for await event in events {
        guard case .tapAgainNeeded = event else { continue }
        bench.desk.lift()
        bench.desk.lay(other.card)
      }
    }
    #expect(
      await failure { try await bench.session.getAssertion(Bench.assertion([made.credentialID])) } == "anotherKey")
    #expect(other.virtual.pinRetries == 8)
    await bench.key.close()
    await attention.value
  }

  @Test("a key that says of itself what changes with each call is the same key")
  func identity() throws {
    let info = ModelProfile.virtual.info
    var other = info
    other.encIdentifier = Random.bytes(32)
    other.remainingDiscoverableCredentials = 7
    other.uvCountSinceLastPinEntry = 3
    #expect(other.identity == info.identity)
    other.options["alwaysUv"] = true
    #expect(other.identity != info.identity)
  }

  @Test("another key laid on instead is told from the one before, and sees no PIN")
  func anotherKey() async throws {
    let bench = try CardBench(traits: CardTraits().with { $0.oneCeremonyPerTap = true })
    try await bench.key.setPIN(SecretBytes(Bench.pin))
    let made = try await bench.session.makeCredential(Bench.registration())
    let profile = try #require(ModelProfile.named("protocol2"))
    let other = try VirtualAuthenticator(profile: profile)
    let events = bench.key.events
    let attention = Task {
      for await event in events {
        guard case .tapAgainNeeded = event else { continue }
        bench.desk.lift()
        bench.desk.lay(VirtualCard(other))
      }
    }
    #expect(
      await failure { try await bench.session.getAssertion(Bench.assertion([made.credentialID])) } == "anotherKey")
    #expect(other.log.count(.clientPIN) == 0)
    await bench.key.close()
    await attention.value
  }

  @Test("a card that always verifies, and wants a tap for each ceremony: a long list, one token at a time")
  func alwaysVerifying() async throws {
    let profile = ModelProfile.virtual.varied("always") { $0.info.options["alwaysUv"] = true }
    let bench = try CardBench(profile, traits: CardTraits().with { $0.oneCeremonyPerTap = true })
    let attention = bench.attend()
    try await bench.key.setPIN(SecretBytes(Bench.pin))
    let made = try await bench.session.makeCredential(Bench.registration())
    let long = Bench.assertion(CardBench.long(40) + [made.credentialID])
    #expect(try await bench.session.getAssertion(long).credentialID == made.credentialID)
    #expect(bench.virtual.pinRetries == 8)
    await bench.key.close()
    await attention.value
    #expect(bench.seen.withLock { $0.contains(.tapAgainNeeded(reader: Desk.reader)) })
  }

  @Test("nobody taps again: named, and the PIN is gone")
  func noNewTap() async throws {
    let timings = KeyTimings(touch: .milliseconds(200), command: Pace.milliseconds(8000), drain: .milliseconds(100))
    let bench = try CardBench(traits: CardTraits().with { $0.oneCeremonyPerTap = true }, timings: timings)
    _ = try await bench.session.makeCredential(Bench.registration())
    #expect(await failure { try await bench.session.makeCredential(Bench.registration()) } == "newTapNeeded")
  }
}

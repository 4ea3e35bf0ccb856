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

@Suite("Long lists", .serialized)
struct LongListTests {
  static func bench(
    _ profile: ModelProfile, quirks: Set<Quirk> = [], pin: Bool = false, prf: Bool = false
  ) async throws -> (bench: Bench, id: [UInt8]) {
    let bench = try Bench(profile.varied("list") { $0.quirks = quirks })
    if pin { try await bench.setPIN() }
    return (bench, try await bench.register(Bench.registration(prf: prf)).credentialID)
  }

  /// A hold on the key that remembers nothing, used once.
  static func fresh<R>(_ bench: Bench, _ body: (SecurityKey) async throws -> R) async throws -> R {
    let key = bench.secondKey()
    bench.virtual.log.clear()
    bench.asked.withLock { $0 = [] }
    do {
      let result = try await body(key)
      await key.close()
      return result
    } catch {
      await key.close()
      throw error
    }
  }

  static func assert(_ bench: Bench, _ list: [[UInt8]]) async throws -> [UInt8] {
    try await fresh(bench) { try await $0.getAssertion(Bench.assertion(list), pin: bench.person).credentialID }
  }

  static func register(_ bench: Bench, exclude list: [[UInt8]]) async throws {
    _ = try await fresh(bench) {
      try await $0.makeCredential(Bench.registration(exclude: list), pin: bench.person)
    }
  }

  /// The others in ci-full: they are busy for long, and other tests wait for keys meanwhile.
  static let models: [ModelProfile] =
    Extent.isFull ? ModelProfile.builtIn : [.virtual, .small, .ctap20, .u2f, .alwaysUv]

  @Test("a directory of 1,000 ids on every model, known and unknown", arguments: models)
  func thousand(profile: ModelProfile) async throws {
    let always = profile.name == "always-uv"
    let (bench, id) = try await Self.bench(profile, pin: always)
    let touches = bench.touches
    let length = min(id.count, 94)
    let known = Bench.list(1000, length: length, id: id, at: 700)
    let got = try await Self.assert(bench, known)
    #expect(got == id && bench.touches == touches + 1)
    #expect(await failure { try await Self.register(bench, exclude: known) } == "alreadyRegistered")
    let unknown = Bench.list(1000, length: length, id: id, at: nil)
    let before = bench.touches
    #expect(await failure { try await Self.assert(bench, unknown) } == "notOnThisKey")
    #expect(bench.touches == before, "nobody touches a key that is not the one")
    try await Self.register(bench, exclude: unknown)
    #expect(bench.pinQuestions == (always ? 1 : 0))
  }

  @Test("a long search says how far it has come, and a short one says nothing", arguments: [1000, 8])
  func progress(count: Int) async throws {
    let (bench, id) = try await Self.bench(.small)
    let key = bench.secondKey()
    let told = Task {
      var told: [(Int, Int)] = []
      for await event in key.events { if case .probing(let done, let total) = event { told.append((done, total)) } }
      return told
    }
    _ = await failure { try await key.getAssertion(Bench.assertion(Bench.list(count, length: 64, id: id, at: nil))) }
    await key.close()
    let seen = await told.value
    if count == 8 {
      #expect(seen.isEmpty)
    } else {
      #expect((20...60).contains(seen.count))
      #expect(seen.map(\.0) == seen.map(\.0).sorted() && seen.allSatisfy { $0.1 == count && $0.0 <= count })
    }
  }

  @Test("a cancel ends a long search")
  func cancel() async throws {
    let (bench, id) = try await Self.bench(.small)
    let key = bench.secondKey()
    let task = Task {
      await failure { try await key.getAssertion(Bench.assertion(Bench.list(5000, length: 64, id: id, at: nil))) }
    }
    for await event in key.events { if case .probing = event { break } }
    key.cancel()
    #expect(await task.value == "cancelled")
    #expect(bench.virtual.log.count(.getAssertion) < 5000)
    await key.close()
  }

  @Test(
    "the second sign-in is a single command, whatever the list",
    arguments: [ModelProfile.small, .medium, .ctap20, .u2f]
  )
  func hints(profile: ModelProfile) async throws {
    let (bench, id) = try await Self.bench(profile)
    let hints = MemoryHints()
    let list = Bench.assertion(Bench.list(40, length: 64, id: id, at: 30))
    var counts: [Int] = []
    for _ in 0..<3 {
      let key = SecurityKey(bench.endpoint, timings: Bench.quick, hints: hints)
      counts.append(try await bench.commands { _ = try await key.getAssertion(list) })
      await key.close()
    }
    // In U2F the first of a list is made sure of first.
    #expect(counts[0] >= 5 && counts[1] == (profile.speaksCTAP2 ? 1 : 2) && counts[2] == counts[1])
  }

  @Test("a hint that is wrong costs one command and is forgotten")
  func wrongHint() async throws {
    let (bench, id) = try await Self.bench(.small)
    let hints = MemoryHints()
    let list = Bench.list(10, length: 64, id: id, at: 5)
    let mark = KeyMark(place: bench.socketID, aaguid: SimulatedKey.aaguid)
    hints.remember(list[9], of: Bench.rpID, on: mark)
    let key = SecurityKey(bench.endpoint, timings: Bench.quick, hints: hints)
    let commands = try await bench.commands { _ = try await key.getAssertion(Bench.assertion(list)) }
    #expect(commands == 1 + 6 + 1)
    #expect(hints.lastCredential(of: Bench.rpID, on: mark) == id)
    // One that is not in the list is not asked for.
    #expect(
      await failure { try await key.getAssertion(Bench.assertion(ProbeTests.unknown(3))) } == "notOnThisKey")
    await key.close()
  }

  @Test("Q62: a key that overlooks an id in a list is asked id by id, and from then on only so")
  func overlooks() async throws {
    let old = ModelProfile.ctap20.varied("old") { $0.limits(1200, 8, 128) }
    for list in [5, 30] {
      let (bench, id) = try await Self.bench(old, quirks: [.listsOfSeveralNeverMatch])
      let request = Bench.assertion(Bench.list(list, length: 64, id: id, at: list - 1))
      try await Self.fresh(bench) { key in
        let got = try await key.getAssertion(request).credentialID
        #expect(got == id)
        // Without the memory of which it was, but with that of its manners.
        bench.virtual.log.clear()
        let found = try await key.find(request.allowList, rpID: Bench.rpID)
        #expect(found?.id == id)
        #expect(bench.commands == list)
      }
      let absent = Bench.list(list, length: 64, id: id, at: nil)
      #expect(await failure { try await Self.assert(bench, absent) } == "notOnThisKey")
    }
  }

  @Test(
    "Q62: a CTAP 2.1 key that overlooks an id in a list is found out by a credential it is known to have",
    arguments: [3, 30], [false, true])
  func overlooksOnCTAP21(count: Int, withPIN: Bool) async throws {
    let profile = ModelProfile.virtual.varied("liar") {
      $0.limits(1200, 8, 128)
      $0.quirks = [.listsOfSeveralNeverMatch]
    }
    let bench = try Bench(profile)
    if withPIN { try await bench.setPIN() }
    let hints = MemoryHints()
    func fresh() -> SecurityKey { SecurityKey(bench.endpoint, timings: Bench.quick, hints: hints) }
    func attempt(_ act: (SecurityKey) async throws -> Void) async -> String? {
      bench.virtual.log.clear()
      let key = fresh()
      let failed = await failure { try await act(key) }
      await key.close()
      return failed
    }
    await bench.key.close()
    var made: [[UInt8]] = []
    for _ in 0..<2 {
      let failed = await attempt { key in
        made.append(try await key.makeCredential(Bench.registration(), pin: bench.person).credentialID)
      }
      #expect(failed == nil)
    }
    // The second is remembered, the first is what is looked for.
    let list = Bench.list(count, length: 64, id: made[0], at: count - 1)
    let failed = await attempt { key in
      let got = try await key.getAssertion(Bench.assertion(list), pin: bench.person).credentialID
      #expect(got == made[0])
    }
    #expect(failed == nil)
    // Now that one is remembered: an exclude list with it ends with one silent command, and no second credential.
    #expect(
      await attempt { _ = try await $0.makeCredential(Bench.registration(exclude: list), pin: bench.person) }
        == "alreadyRegistered")
    #expect(bench.commands == 1 && bench.virtual.log.entries.allSatisfy { $0.waits == 0 })
    // And a list without any of its credentials is still none of its.
    let absent = Bench.list(count, length: 64, id: made[0], at: nil)
    #expect(
      await attempt { _ = try await $0.getAssertion(Bench.assertion(absent), pin: bench.person) } == "notOnThisKey")
  }

  @Test(
    "Q62: a key that may overlook an id in an exclude list is asked for each before it registers",
    arguments: [[.listsOfSeveralNeverMatch], []] as [Set<Quirk>])
  func overlooksInExcludeList(quirks: Set<Quirk>) async throws {
    let old = ModelProfile.ctap20.varied("old") { $0.limits(1200, 8, 128) }
    let (bench, id) = try await Self.bench(old, quirks: quirks)
    let touches = bench.touches
    let known = Bench.list(5, length: 64, id: id, at: 4)
    #expect(await failure { try await Self.register(bench, exclude: known) } == "alreadyRegistered")
    #expect(bench.touches == touches && bench.virtual.log.count(.makeCredential) == 0)
    let absent = Bench.list(5, length: 64, id: id, at: nil)
    #expect(await failure { try await Self.register(bench, exclude: absent) } == nil)
    // The list, and each of it.
    #expect(bench.virtual.log.count(.getAssertion) == 1 + 5 && bench.touches == touches + 1)
    // One that takes no probes gets the list.
    try await Self.fresh(bench) { key in
      try await key.open()
      for i in 0..<6 { bench.faults.add(.command(bench.faults.commands + i, .status(.unsupportedOption))) }
      _ = try await key.makeCredential(Bench.registration(exclude: absent), pin: bench.person)
    }
    let request = try #require(bench.virtual.log.entries.last { $0.command == .makeCredential }?.request)
    #expect(try CBORDecoder.decode(request, at: 1)[5]?.array?.count == 5)
  }

  @Test("the same question costs an honest key one command, and only where none of the ids is its")
  func honest() async throws {
    let (bench, id) = try await Self.bench(ModelProfile.virtual.varied("honest") { $0.limits(1200, 8, 128) })
    await bench.key.close()
    let hints = MemoryHints()
    hints.remember(id, of: Bench.rpID, on: KeyMark(place: bench.socketID, aaguid: SimulatedKey.aaguid))
    let key = SecurityKey(bench.endpoint, timings: Bench.quick, hints: hints)
    let absent = Bench.assertion(Bench.list(24, length: 64, id: id, at: nil))
    for expected in [3 + 1, 3] {
      let commands = await bench.commands {
        #expect(await failure { try await key.getAssertion(absent) } == "notOnThisKey")
      }
      #expect(commands == expected, "what is proved once is not asked again")
    }
    await key.close()
  }

  @Test("Q7: \"already registered\" for another relying party's credential is not believed")
  func otherParty() async throws {
    let (bench, id) = try await Self.bench(.virtual, quirks: [.excludesAcrossRPs])
    var request = Bench.registration()
    request.isDiscoverable = true
    request.rpID = "example.org"
    let other = try await bench.register(request).credentialID
    #expect(await failure { try await bench.register(Bench.registration(exclude: [other])) } == nil)
    #expect(
      await failure { try await bench.register(Bench.registration(exclude: [other, id])) } == "alreadyRegistered")
  }

  @Test("a PIN is not asked for on a key that is not the one", arguments: [1, 3, 40])
  func noPINForNothing(count: Int) async throws {
    let (bench, id) = try await Self.bench(.medium, pin: true)
    let absent = Bench.list(count, length: 64, id: id, at: nil)
    #expect(await failure { try await Self.assert(bench, absent) } == "notOnThisKey")
    #expect(bench.pinQuestions == 0 && bench.virtual.log.count(.clientPIN) == 0)
    #expect(bench.virtual.log.entries.allSatisfy { $0.waits == 0 })
  }

  @Test("a key that takes no probes is asked outright")
  func refusesProbes() async throws {
    let (bench, id) = try await Self.bench(.medium, pin: true)
    try await Self.fresh(bench) { key in
      try await key.open()
      bench.faults.add(.command(bench.faults.commands, .status(.unsupportedOption)))
      let got = try await key.getAssertion(Bench.assertion([id]), pin: bench.person).credentialID
      #expect(got == id)
    }
  }

  // MARK: - alwaysUv

  static let always: [(name: String, prf: Bool, builtIn: Bool, quirks: Set<Quirk>)] = [
    ("PIN", false, false, []), ("PIN, protocol 2 fails", false, false, [.protocol2Fails]), ("PRF", true, false, []),
    ("fingerprint", false, true, []), ("fingerprint and PRF", true, true, []),
  ]

  @Test(
    "Q46: a key that always verifies is probed with one token, which the ceremony shares", arguments: always.indices)
  func alwaysUv(row: Int) async throws {
    let (_, prf, builtIn, quirks) = Self.always[row]
    var profile = (builtIn ? ModelProfile.biometric : .virtual).varied("always") {
      $0.limits(510, 1, 94)
      $0.info.options["largeBlobs"] = nil
    }
    profile.quirks = quirks.union([.alwaysUvHidesCredentials])
    let bench = try Bench(profile)
    try await bench.setPIN()
    if builtIn { _ = try await bench.key.enrolFingerprint(named: "thumb", pin: bench.person) }
    try await bench.key.setAlwaysUv(true, pin: bench.person)
    let id = try await bench.register(Bench.registration(prf: prf)).credentialID
    let list = Bench.list(30, length: 64, id: id, at: 20)
    let salts = PRFSalts(first: Random.bytes(32), second: Random.bytes(32))
    let fingers = bench.fingers
    let request = Bench.assertion(list, salts: prf ? salts : nil)
    let got = try await Self.fresh(bench) { try await $0.getAssertion(request, pin: bench.person) }
    #expect(got.credentialID == id)
    #expect(try Bench.flags(got).contains(.userVerified))
    #expect(bench.pinQuestions == (builtIn ? 0 : 1) && bench.fingers - fingers == (builtIn ? 1 : 0))
    let fellBack = quirks.contains(.protocol2Fails)
    // Key agreement, token, 21 probes, the assertion; with a protocol that fails, three commands more; with a reader, how
    // many tries it has left.
    let expected = (fellBack ? 27 : 24) + (builtIn ? 1 : 0)
    #expect(bench.commands == expected)
    // The secret is the one that libfido2 gets for the same credential.
    if prf {
      let again = try await bench.assert(Bench.assertion([id], salts: salts))
      let same = Self.isSame(got.prf, again.prf)
      #expect(same)
    }
    #expect(await failure { try await Self.register(bench, exclude: list) } == "alreadyRegistered")
    let made = try await Self.fresh(bench) {
      try await $0.makeCredential(
        Bench.registration(exclude: Bench.list(30, length: 64, id: id, at: nil), prf: prf), pin: bench.person)
    }
    #expect(try Bench.flags(made).contains(.userVerified))
    #expect(await failure { try await bench.assert(Bench.assertion([made.credentialID])) } == nil)
    let found = try await Self.fresh(bench) {
      try await $0.find(ProbeTests.ids(list), rpID: Bench.rpID, pin: bench.person)
    }
    #expect(found?.id == id)
  }

  static func isSame(_ a: PRFOutput?, _ b: PRFOutput?) -> Bool {
    guard let a, let b else { return false }
    return a.first.isEqual(to: b.first) && bytes(a.second) == bytes(b.second) && bytes(a.second) != nil
  }

  static func bytes(_ secret: borrowing SecretBytes?) -> [UInt8]? {
    switch secret {
    case .some(let secret): secret.exposed()
    case .none: nil
    }
  }

  @Test("a wrong PIN before a search costs one try, and nothing is probed")
  func wrongPIN() async throws {
    let profile = ModelProfile.alwaysUv.varied("always") { $0.limits(510, 1, 94) }
    let (bench, id) = try await Self.bench(profile, pin: true)
    bench.typed.withLock { $0 = Array("9999".utf8) }
    let list = Bench.list(5, length: 64, id: id, at: 2)
    let outcome = await failure { try await Self.assert(bench, list) }
    #expect(outcome == "pinInvalid" && bench.virtual.pinRetries == 7)
    #expect(bench.virtual.log.count(.getAssertion) == 0)
  }

  // MARK: - U2F

  @Test(
    "Q57, Q58: handles that the key answers oddly are skipped",
    arguments: [
      [], [.u2fForeignHandleWrongLength], [.u2fLongHandleHIDError], [.u2fCheckOnlyAlwaysYes],
      [.u2fForeignHandleWrongLength, .u2fLongHandleHIDError],
    ] as [Set<Quirk>])
  func u2f(quirks: Set<Quirk>) async throws {
    let (bench, id) = try await Self.bench(.u2f, quirks: quirks)
    let list = ProbeTests.unknown(3, length: 200) + ProbeTests.unknown(3) + [id] + ProbeTests.unknown(2, length: 300)
    #expect(try await Self.assert(bench, list) == id)
    let foreign = list.filter { $0 != id }
    #expect(await failure { try await Self.assert(bench, foreign) } == "notOnThisKey")
    // A key that knows everything is no witness.
    let expected = quirks.contains(.u2fCheckOnlyAlwaysYes) ? nil : "alreadyRegistered"
    #expect(await failure { try await Self.register(bench, exclude: list) } == expected)
    #expect(await failure { try await Self.register(bench, exclude: foreign) } == nil)
  }
}

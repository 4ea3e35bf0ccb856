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

/// One thing going wrong at each APDU of each ceremony: it ends in success or a name, never on a weaker protocol, never
/// with more than one PIN try gone, and the next ceremony works.
@Suite("Cards: faults")
struct CardFaultTests {
  static let timings = KeyTimings(
    touch: Pace.milliseconds(1500), command: Pace.milliseconds(8000), drain: .milliseconds(100))
  static let ceremonies: [SweepCeremony] = [
    .open, .register, .registerWithPIN, .tapWithPIN, .prfTap, .u2fRegister, .u2fTap,
  ]

  struct Outcome: Sendable {
    let ceremony: SweepCeremony
    let index: Int
    let fault: CardFault
    let failure: String?
    let usedU2F: Bool
    let triesLost: Int
    let fired: Int
    let failureAfterwards: String?
  }

  private static func prepare(_ ceremony: SweepCeremony) async throws -> (CardBench, [UInt8]) {
    let bench = try CardBench(ceremony.profile, timing: Sweep.keyTiming())
    if ceremony.needsPIN { try await bench.key.setPIN(SecretBytes(Bench.pin)) }
    var id: [UInt8] = []
    switch ceremony {
    case .tapWithPIN, .u2fTap:
      id = try await bench.session.makeCredential(Bench.registration(uv: .preferred)).credentialID
    case .prfTap: id = try await bench.session.makeCredential(Bench.registration(prf: true)).credentialID
    default: break
    }
    await bench.key.close()
    try await eventually { !bench.desk.state.withLock { $0.slots[0].isHeld } }
    bench.virtual.log.clear()
    return (bench, id)
  }

  private static func perform(
    _ ceremony: SweepCeremony, _ bench: CardBench, _ id: [UInt8], _ key: SecurityKey
  ) async throws {
    let session = KeySession(key, pin: bench.person)
    switch ceremony {
    case .open: try await key.open()
    case .prfTap:
      let salts = PRFSalts(first: [UInt8](repeating: 7, count: 32))
      _ = try await session.getAssertion(Bench.assertion([id], salts: salts))
    case .tapWithPIN, .u2fTap: _ = try await session.getAssertion(Bench.assertion([id]))
    default: _ = try await session.makeCredential(Bench.registration())
    }
  }

  static func extent(_ ceremony: SweepCeremony) async throws -> Int {
    let (bench, id) = try await prepare(ceremony)
    let before = bench.desk.apdus.count
    let key = bench.secondKey(timings: timings)
    try await perform(ceremony, bench, id, key)
    await key.close()
    return bench.desk.apdus.count - before
  }

  static func run(_ ceremony: SweepCeremony, _ index: Int, _ fault: CardFault) async throws -> Outcome {
    let (bench, id) = try await prepare(ceremony)
    bench.desk.state.withLock { $0.faults = [$0.apdus.count + index: fault] }
    let tries = bench.virtual.pinRetries
    let key = bench.secondKey(timings: timings)
    let attention = bench.attend(key)
    let failed = await failure { try await perform(ceremony, bench, id, key) }
    let fired = bench.desk.state.withLock { s in
      s.faults = [:]
      return s.fired
    }
    let lost = tries - bench.virtual.pinRetries
    // Whoever lifted the card lays it on again.
    if bench.desk.state.withLock({ $0.slots[0].card == nil }) { bench.desk.lay(bench.card) }
    var after = await failure { try await perform(ceremony, bench, id, key) }
    // On a busy computer a few hundred milliseconds can pass without anything happening: once more, then it counts.
    if after != nil { after = await failure { try await perform(ceremony, bench, id, key) } }
    await key.close()
    await attention.value
    let usedU2F = bench.virtual.log.entries.contains { if case .u2f = $0.kind { true } else { false } }
    return Outcome(
      ceremony: ceremony, index: index, fault: fault, failure: failed, usedU2F: usedU2F, triesLost: lost, fired: fired,
      failureAfterwards: after)
  }

  static func runAll(_ ceremony: SweepCeremony, _ faults: [CardFault], width: Int = Pace.factor > 1 ? 4 : 12)
    async throws -> [Outcome]
  {
    let extent = try await extent(ceremony)
    // Every fault and every APDU in each run, and all of their pairs in a full one.
    let cases = (0..<extent).flatMap { index in faults.indices.map { (index, $0) } }
      .filter { Extent.isFull || faults.count < 4 || ($0.0 + $0.1).isMultiple(of: 3) }
      .map { ($0.0, faults[$0.1]) }
    return try await withThrowingTaskGroup(of: Outcome.self) { group in
      var results: [Outcome] = []
      var next = Pace.sample(cases).makeIterator()
      func add() -> Bool {
        guard let (index, fault) = next.next() else { return false }
        group.addTask { try await run(ceremony, index, fault) }
        return true
      }
      for _ in 0..<width { if !add() { break } }
      while let result = try await group.next() {
        results.append(result)
        _ = add()
      }
      return results
    }
  }

  static let faults: [CardFault] = [
    .requestLost, .replyLost, .cut(to: 0), .cut(to: 1), .cut(to: 2), .cut(to: 9), .flip(bit: 0), .flip(bit: 3),
    .flip(bit: 8), .flip(bit: 9), .flip(bit: 77), .flip(bit: 300), .refuse(0x6700), .refuse(0x6A82), .refuse(0x6A86),
    .refuse(0x6D00), .refuse(0x6E00), .refuse(0x6F00), .refuse(0x6985), .refuse(0x9000), .refuse(0x9100),
    .refuse(0x6110), .refuse(0x6C10), .status(0x6D00), .status(0x6F00), .status(0x9100), .status(0x6100),
    .status(0x6A82), .status(0x6985),
  ]

  @Test("each fault at each APDU", arguments: ceremonies)
  func everyAPDU(ceremony: SweepCeremony) async throws {
    let results = try await Self.runAll(ceremony, Self.faults)
    for result in results {
      let what: Comment = "\(result.ceremony) APDU \(result.index) \(result.fault): \(result.failure ?? "done")"
      if ceremony.profile.name != "u2f" {
        #expect(!result.usedU2F, what)
        #expect(!NoDowngradeTests.falsehoods.contains(result.failure ?? ""), what)
      }
      #expect(result.failureAfterwards == nil, "\(what), then \(result.failureAfterwards ?? "")")
      #expect(result.triesLost <= 0, what)
    }
    // How often a card is polled depends on the computer, so some of the later ones never come.
    #expect(results.count { $0.fired > 0 } > results.count / 2)
    #expect(results.contains { $0.failure != nil })
  }

  @Test(
    "cancelled at each APDU: the card hears of it where it waits, and answers the next command",
    arguments: [SweepCeremony.open, .registerWithPIN, .prfTap, .u2fTap])
  func cancelled(ceremony: SweepCeremony) async throws {
    for index in 0..<(try await Self.extent(ceremony)) {
      let (bench, id) = try await Self.prepare(ceremony)
      let key = bench.secondKey(timings: Self.timings)
      bench.desk.state.withLock { s in
        let moment = s.apdus.count + index
        s.onAPDU = { if $0 == moment { key.cancel() } }
      }
      let failed = await failure { try await Self.perform(ceremony, bench, id, key) }
      // How often a card is polled varies: what did not come the first time is not to come the second time.
      bench.desk.state.withLock { $0.onAPDU = nil }
      #expect(failed == nil || failed == "cancelled", "APDU \(index): \(failed ?? "")")
      #expect(bench.virtual.touch.pending == nil)
      #expect(await failure { try await Self.perform(ceremony, bench, id, key) } == nil, "after APDU \(index)")
      #expect(bench.virtual.pinRetries == 8)
      await key.close()
    }
  }

  @Test("the key is lifted at each APDU, before it hears it and after", arguments: ceremonies)
  func lifted(ceremony: SweepCeremony) async throws {
    for result in try await Self.runAll(ceremony, [.lift, .liftAfter]) where result.fired > 0 {
      let what: Comment = "APDU \(result.index) \(result.fault)"
      // While it is looked for, the key is still to come; after that it is gone.
      #expect(["cardRemoved", "noCard"].contains(result.failure ?? ""), what)
      #expect(result.failureAfterwards == nil, what)
      #expect(result.triesLost <= 0, what)
    }
  }
}

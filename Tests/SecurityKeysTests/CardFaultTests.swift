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
  static func timings(_ patience: Int64 = 1) -> KeyTimings {
    KeyTimings(
      touch: Pace.milliseconds(1500 * patience), command: Pace.milliseconds(8000 * patience),
      drain: .milliseconds(100 * patience))
  }

  static let ceremonies: [SweepCeremony] = [
    .open, .register, .registerWithPIN, .tapWithPIN, .prfTap, .u2fRegister, .u2fTap,
  ]

  /// One fault at one APDU.
  struct Case: Sendable {
    let ceremony: SweepCeremony
    let index: Int
    let fault: CardFault
  }

  /// A ceremony in the table.
  static func heading(_ ceremony: SweepCeremony) -> String {
    ceremony == .tapWithPIN ? "NFC tap" : "NFC \(ceremony.rawValue)"
  }

  private static func prepare(
    _ ceremony: SweepCeremony, patience: Int64 = 1
  ) async throws -> (CardBench, [UInt8]) {
    let bench = try CardBench(ceremony.profile, timing: Sweep.keyTiming(patience))
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
    let key = bench.secondKey(timings: timings(30))
    try await perform(ceremony, bench, id, key)
    await key.close()
    return bench.desk.apdus.count - before
  }

  static func run(_ one: Case, patience: Int64) async throws -> SweepResult {
    let (bench, id) = try await prepare(one.ceremony, patience: patience)
    bench.desk.state.withLock { $0.faults = [$0.apdus.count + one.index: one.fault] }
    let tries = bench.virtual.pinRetries
    let start = Deadline.now
    let key = bench.secondKey(timings: timings(patience))
    let attention = bench.attend(key)
    let failed = await failure { try await perform(one.ceremony, bench, id, key) }
    let elapsed = Duration.nanoseconds(Deadline.now.nanoseconds - start.nanoseconds)
    let fired = bench.desk.state.withLock { s in
      s.faults = [:]
      return s.fired
    }
    let lost = tries - bench.virtual.pinRetries
    // Whoever lifted the card lays it on again.
    if bench.desk.state.withLock({ $0.slots[0].card == nil }) { bench.desk.lay(bench.card) }
    key.refusedPINs.forgetAll()
    let after = await failure { try await perform(one.ceremony, bench, id, key) }
    await key.close()
    await attention.value
    let usedU2F = bench.virtual.log.entries.contains { if case .u2f = $0.kind { true } else { false } }
    return SweepResult(
      ceremony: one.ceremony, fault: nil, failure: failed, elapsed: elapsed, usedU2F: usedU2F, triesLost: lost,
      failureAfterwards: after, fired: fired,
      triesLostAtLast: after == nil && one.ceremony.needsPIN ? tries - bench.virtual.pinRetries : 0)
  }

  static func complaints(_ result: SweepResult, _ one: Case) -> [String] {
    var complaints: [String] = []
    if let name = result.failure, name.isEmpty || !name.allSatisfy({ $0.isLetter || $0.isNumber }) {
      complaints.append("no name: \(name)")
    }
    if one.ceremony.profile.name != "u2f" {
      if result.usedU2F { complaints.append("used as U2F") }
      if let said = result.failure, NoDowngradeTests.falsehoods.contains(said) { complaints.append("said \(said)") }
    }
    // While it is looked for, the key is still to come; after that it is gone.
    if one.fault == .lift || one.fault == .liftAfter, result.fired > 0,
      !["cardRemoved", "noCard"].contains(result.failure)
    {
      complaints.append("lifted, and \(result.failure ?? "done")")
    }
    if let after = result.failureAfterwards {
      complaints.append("\(result.failure ?? "success"), and \(after) afterwards")
    }
    if result.triesLost > 0 { complaints.append("\(result.triesLost) tries lost") }
    if result.triesLostAtLast > 0 { complaints.append("the right PIN did not bring the tries back") }
    return complaints
  }

  static let faults: [CardFault] = [
    .requestLost, .replyLost, .cut(to: 0), .cut(to: 1), .cut(to: 2), .cut(to: 9), .flip(bit: 0), .flip(bit: 3),
    .flip(bit: 8), .flip(bit: 9), .flip(bit: 77), .flip(bit: 300), .refuse(0x6700), .refuse(0x6A82), .refuse(0x6A86),
    .refuse(0x6D00), .refuse(0x6E00), .refuse(0x6F00), .refuse(0x6985), .refuse(0x9000), .refuse(0x9100),
    .refuse(0x6110), .refuse(0x6C10), .status(0x6D00), .status(0x6F00), .status(0x9100), .status(0x6100),
    .status(0x6A82), .status(0x6985), .lift, .liftAfter,
  ]

  @Test("a command that may cost a PIN try is not repeated for its Le")
  func pinIsSentOnce() async throws {
    let bench = try CardBench()
    try await bench.key.setPIN(SecretBytes(Bench.pin))
    try await bench.key.open()
    // Tries, key agreement, and the token, which the card answers after it has counted.
    bench.desk.state.withLock { $0.faults = [$0.apdus.count + 2: .status(0x6C10)] }
    let failed = await failure {
      try await bench.key.makeCredential(Bench.registration()) { _ in SecretBytes(Array("9999".utf8)) }
    }
    #expect(failed == "cardRefused" && bench.virtual.pinRetries == 7)
    #expect(bench.desk.state.withLock { $0.fired } == 1)
    // What costs nothing is.
    bench.desk.state.withLock { $0.faults = [$0.apdus.count: .refuse(0x6C00)] }
    #expect(try await bench.key.pinTriesLeft() == 7)
    #expect(bench.desk.state.withLock { $0.fired } == 2)
  }

  @Test("each fault at each APDU")
  func everyAPDU() async throws {
    var all: [Case] = []
    for ceremony in Self.ceremonies {
      let extent = try await Self.extent(ceremony)
      for index in 0..<extent { all += Self.faults.map { Case(ceremony: ceremony, index: index, fault: $0) } }
    }
    let chosen = Extent.isFull ? all : FaultSweepTests.sample(all, 240 / Int(min(4, Pace.factor)))
    var table = OutcomeTable(Self.ceremonies.map(Self.heading))
    let results = try await Sweep.each(chosen, width: Extent.isFull ? 32 : 12) { one in
      try await Sweep.judge({ Self.complaints($0, one) }) { try await Self.run(one, patience: $0) }
    }
    for (one, result) in results {
      table.add(
        Self.heading(one.ceremony), one.fault.kind, result.fired == 0 ? "did not happen" : result.failure ?? "done")
      if !result.complaints.isEmpty {
        Issue.record("\(one.ceremony) APDU \(one.index) \(one.fault): \(result.complaints.joined(separator: "; "))")
      }
    }
    #expect(results.count == chosen.count)
    // How often a card is polled depends on the computer, so some of the later ones never come.
    #expect(results.count { $0.1.fired > 0 } > results.count / 2)
    #expect(results.contains { $0.1.fired > 0 && $0.1.failure == nil } && results.contains { $0.1.failure != nil })
    try table.write(.cards, cases: results.count, of: all.count)
  }

  @Test(
    "cancelled at each APDU: the card hears of it where it waits, and answers the next command",
    arguments: [SweepCeremony.open, .registerWithPIN, .prfTap, .u2fTap])
  func cancelled(ceremony: SweepCeremony) async throws {
    for index in 0..<(try await Self.extent(ceremony)) {
      let (bench, id) = try await Self.prepare(ceremony)
      let key = bench.secondKey(timings: Self.timings(30))
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
}

extension CardFault {
  /// What kind it is in the table.
  fileprivate var kind: String {
    switch self {
    case .requestLost: "request lost"
    case .replyLost: "reply lost"
    case .cut: "answer cut"
    case .flip: "bit of the answer"
    case .refuse: "refused"
    case .status: "done, and another status word"
    case .lift: "lifted"
    case .liftAfter: "lifted after it was done"
    case .hang: "reader hangs"
    }
  }
}

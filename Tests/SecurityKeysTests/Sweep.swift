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

/// One ceremony with one fault in it, after everything around it has been prepared without faults.
enum SweepCeremony: String, CaseIterable, Sendable {
  case open, register, registerWithPIN, tapWithPIN, prfTap, probe, probeOneByOne, signInWithList, u2fRegister, u2fTap

  var profile: ModelProfile {
    switch self {
    case .u2fRegister, .u2fTap: .u2f
    case .probeOneByOne: .small
    case .signInWithList: .medium
    default: .virtual
    }
  }

  var needsPIN: Bool { self == .registerWithPIN || self == .tapWithPIN || self == .prfTap }
}

/// What came of a case.
struct SweepResult: Sendable {
  let ceremony: SweepCeremony
  let fault: Fault?
  /// Nil for success.
  let failure: String?
  let elapsed: Duration
  /// Whether the key was ever spoken to in U2F.
  let usedU2F: Bool
  /// PIN tries that the case cost.
  let triesLost: Int
  /// What the same ceremony gave right afterwards, on the same open key; nil for success.
  let failureAfterwards: String?
  /// Faults that came to pass before the second time.
  let fired: Int
  /// PIN tries that are missing after the second time.
  var triesLostAtLast = 0
  /// How many times as long the key was waited for, after a complaint that might have been the machine's.
  var patience: Int64 = 1
  /// What is wrong with it.
  var complaints: [String] = []
  /// Whether it ended before any deadline that a person would wait for. ``Sweep/judge(_:_:)`` complains otherwise.
  var isInTime: Bool { elapsed < .seconds(60) * Int(Pace.factor * (patience > 6 ? 5 : 1)) }
}

enum Sweep {
  /// Deadlines of a few hundred milliseconds, so that thousands of cases take minutes; longer when the case must
  /// prove that it was not the computer that was late.
  static func timings(_ patience: Int64) -> KeyTimings {
    KeyTimings(
      touch: Pace.milliseconds(900 * patience), command: Pace.milliseconds(400 * patience),
      drain: Pace.milliseconds(80 * patience))
  }
  /// For what must go well: time that passes without a fault is the computer's.
  static let patient = KeyTimings(touch: .seconds(60), command: .seconds(60), drain: .milliseconds(80))

  /// The key's own clocks, in proportion.
  static func keyTiming(_ patience: Int64 = 1) -> KeyTiming {
    var timing = KeyTiming()
    timing.keepaliveInterval = 20
    timing.messageTimeout = 150 * patience * Pace.factor
    timing.touchTimeout = 500 * patience * Pace.factor
    return timing
  }

  /// A key that is ready for the ceremony: plugged in afresh, with its PIN and credential, not open.
  static func prepare(
    _ ceremony: SweepCeremony, patience: Int64 = 1, wire: Wire = .pair
  ) async throws -> (bench: Bench, id: [UInt8]) {
    let bench = try Bench(ceremony.profile, timing: keyTiming(patience), wire: wire)
    if ceremony.needsPIN { try await bench.setPIN() }
    var id: [UInt8] = []
    switch ceremony {
    case .tapWithPIN, .u2fTap, .probe, .probeOneByOne, .signInWithList:
      id = try await bench.register().credentialID
    case .prfTap: id = try await bench.register(Bench.registration(prf: true)).credentialID
    default: break
    }
    await bench.key.close()
    bench.virtual.log.clear()
    return (bench, id)
  }

  static func perform(_ ceremony: SweepCeremony, _ bench: Bench, _ id: [UInt8], _ key: SecurityKey) async throws {
    let session = KeySession(key, pin: bench.person)
    switch ceremony {
    case .open: try await key.open()
    case .register, .registerWithPIN, .u2fRegister: _ = try await session.makeCredential(Bench.registration())
    case .tapWithPIN, .u2fTap: _ = try await session.getAssertion(Bench.assertion([id]))
    case .probe, .probeOneByOne:
      let ids = [[UInt8](repeating: 8, count: 64), id, [UInt8](repeating: 9, count: 64)]
      let found = try await key.find(ids.map { CredentialDescriptor(id: $0) }, rpID: Bench.rpID)
      guard let found else { throw SecurityKeyError.notOnThisKey }
      #expect(found.id == id)
    case .signInWithList:
      // Three probes, the last of which finds it.
      let others = (0..<20).map { [UInt8](repeating: $0, count: 128) }
      let got = try await session.getAssertion(Bench.assertion(others[..<17] + [id] + others[17...]))
      #expect(got.credentialID == id)
    case .prfTap:
      let salts = PRFSalts(first: [UInt8](repeating: 7, count: 32))
      _ = try await session.getAssertion(Bench.assertion([id], salts: salts))
    }
  }

  /// Runs the ceremony with the fault, then once more without.
  static func run(
    _ ceremony: SweepCeremony, patience: Int64 = 1, wire: Wire = .pair, _ make: @Sendable (FaultScript) -> Fault?
  ) async throws -> SweepResult {
    let (bench, id) = try await prepare(ceremony, patience: patience, wire: wire)
    let fault = make(bench.faults)
    if let fault { bench.faults.add(fault) }
    let tries = bench.virtual.pinRetries
    let start = Deadline.now
    let key = bench.secondKey(timings: timings(patience))
    let failed = await failure { try await perform(ceremony, bench, id, key) }
    let elapsed = Duration.nanoseconds(Deadline.now.nanoseconds - start.nanoseconds)
    let fired = bench.faults.fired
    let lost = tries - bench.virtual.pinRetries
    // Whoever begins again does so in a run of its own, in which a PIN that came to harm on its way may be given again.
    key.refusedPINs.forgetAll()
    let after = await failure { try await perform(ceremony, bench, id, key) }
    await key.close()
    let usedU2F = bench.virtual.log.entries.contains { if case .u2f = $0.kind { true } else { false } }
    return SweepResult(
      ceremony: ceremony, fault: fault, failure: failed, elapsed: elapsed, usedU2F: usedU2F, triesLost: lost,
      failureAfterwards: after, fired: fired,
      triesLostAtLast: after == nil && ceremony.needsPIN ? tries - bench.virtual.pinRetries : 0)
  }

  /// How many packets each way, and commands, the ceremony takes when all goes well.
  ///
  /// Keepalives come and go with time, so it is the least of two runs: a fault at each of those packets happens.
  static func extent(
    _ ceremony: SweepCeremony, wire: Wire = .pair
  ) async throws -> (toKey: Int, toHost: Int, commands: Int) {
    let one = try await measured(ceremony, wire)
    let other = try await measured(ceremony, wire)
    return (min(one.toKey, other.toKey), min(one.toHost, other.toHost), min(one.commands, other.commands))
  }

  private static func measured(
    _ ceremony: SweepCeremony, _ wire: Wire
  ) async throws -> (toKey: Int, toHost: Int, commands: Int) {
    let (bench, id) = try await prepare(ceremony, wire: wire)
    let before = (
      bench.faults.packets(.toKey), bench.faults.packets(.toHost), bench.faults.commands
    )
    let key = bench.secondKey(timings: patient)
    try await perform(ceremony, bench, id, key)
    await key.close()
    return (
      bench.faults.packets(.toKey) - before.0, bench.faults.packets(.toHost) - before.1,
      bench.faults.commands - before.2
    )
  }

  /// A fault at the n-th packet or command from now on.
  enum Plan: Sendable, Hashable {
    case packet(Fault.Direction, Int, Fault.PacketAction)
    case command(Int, Fault.CommandAction)
    /// The reply comes so late that the command is cancelled, and the key does not care.
    case stubborn(Int, milliseconds: Int64)

    func fault(_ script: FaultScript) -> Fault {
      switch self {
      case .packet(let direction, let index, let action):
        return .packet(direction, script.packets(direction) + index, action)
      case .command(let index, let action): return .command(script.commands + index, action)
      case .stubborn(let index, let milliseconds):
        script.add(.command(script.commands + index, .ignoreCancel))
        return .command(script.commands + index, .delay(milliseconds: milliseconds))
      }
    }
  }

  /// Runs the plan and says what is wrong with what came of it.
  ///
  /// Deadlines are real time, and a crowded computer can let a few hundred milliseconds pass in which nothing happens.
  /// So a complaint, an end that came too late among them, must stand with deadlines six times and then thirty times
  /// as long.
  static func judge(
    _ ceremony: SweepCeremony, _ plan: Plan, wire: Wire = .pair, _ complaints: @Sendable (SweepResult) -> [String]
  ) async throws -> SweepResult {
    try await judge(complaints) { patience in
      try await run(ceremony, patience: patience, wire: wire) { plan.fault($0) }
    }
  }

  /// The same for any way to run a case.
  static func judge(
    _ complaints: @Sendable (SweepResult) -> [String],
    _ run: @Sendable (_ patience: Int64) async throws -> SweepResult
  ) async throws -> SweepResult {
    var result: SweepResult
    var patience: Int64 = 1
    repeat {
      result = try await run(patience)
      result.patience = patience
      result.complaints = complaints(result)
      if !result.isInTime { result.complaints.append("\(result.failure ?? "success") only after \(result.elapsed)") }
      patience *= patience == 1 ? 6 : 5
    } while !result.complaints.isEmpty && patience <= 30
    return result
  }

  /// Judges every plan, many at a time: they mostly wait. A slow run takes a sample of them (``Pace``).
  static func judgeAll(
    _ ceremony: SweepCeremony, _ plans: [Plan], width: Int = Pace.factor > 1 ? 4 : 16,
    _ complaints: @escaping @Sendable (SweepResult) -> [String]
  ) async throws -> [SweepResult] {
    let results = try await each(Pace.sample(plans), width: width) { try await judge(ceremony, $0, complaints) }
    for (_, result) in results where !result.complaints.isEmpty {
      Issue.record("\(result.fault.map { "\($0)" } ?? "-"): \(result.complaints.joined(separator: "; "))")
    }
    return results.map(\.1)
  }

  /// The result of every case, `width` of them at a time.
  static func each<Case: Sendable>(
    _ cases: [Case], width: Int, _ judge: @escaping @Sendable (Case) async throws -> SweepResult
  ) async throws -> [(Case, SweepResult)] {
    try await withThrowingTaskGroup(of: (Case, SweepResult).self) { group in
      var results: [(Case, SweepResult)] = []
      var begun = 0
      while results.count < cases.count {
        while begun < min(cases.count, results.count + width) {
          let one = cases[begun]
          begun += 1
          group.addTask { (one, try await judge(one)) }
        }
        guard let result = try await group.next() else { break }
        results.append(result)
      }
      return results
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

/// Cancelled, timed out, pulled out: the key hears of it, and can be used again.
@Suite("Interruptions")
struct InterruptionTests {
  enum Act: String, CaseIterable { case register, assert, prf, select, u2fRegister }

  static func bench(_ act: Act, quirks: Set<Quirk> = [], timings: KeyTimings = Bench.quick) async throws -> (
    Bench, [UInt8]
  ) {
    let profile = (act == .u2fRegister ? ModelProfile.u2f : .virtual).varied("slow") { $0.quirks = quirks }
    let bench = try Bench(profile, timings: timings)
    var id: [UInt8] = []
    if act == .prf { try await bench.setPIN() }
    if act == .assert || act == .prf {
      id = try await bench.register(Bench.registration(prf: act == .prf)).credentialID
    }
    bench.virtual.touch.setPolicy(.never)
    return (bench, id)
  }

  static func perform(_ act: Act, _ bench: Bench, _ id: [UInt8]) async throws {
    switch act {
    case .register, .u2fRegister: _ = try await bench.register()
    case .assert: _ = try await bench.assert(Bench.assertion([id]))
    case .prf: _ = try await bench.assert(Bench.assertion([id], salts: PRFSalts(first: Random.bytes(32))))
    case .select: _ = try await bench.key.waitForTouch()
    }
  }

  /// Starts the act and waits until the key waits for its touch.
  static func start(_ act: Act, _ bench: Bench, _ id: [UInt8]) async throws -> Task<String?, Never> {
    let task = Task { await failure { try await perform(act, bench, id) } }
    // U2F never waits: it answers at once, and asks again. A computer that is busy may take its time.
    let patience = Deadline.now.nanoseconds + 60_000_000_000
    while bench.virtual.touch.pending == nil, act != .u2fRegister || bench.virtual.log.entries.isEmpty {
      if Deadline.now.nanoseconds > patience {
        Issue.record("the key never asked for a touch")
        break
      }
      try await Task.sleep(for: .milliseconds(5))
    }
    return task
  }

  @Test("cancel ends the wait, the key hears it and works at once after", arguments: Act.allCases, [false, true])
  func cancel(act: Act, byTask: Bool) async throws {
    let (bench, id) = try await Self.bench(act)
    let task = try await Self.start(act, bench, id)
    let start = Deadline.now
    byTask ? task.cancel() : bench.key.cancel()
    #expect(await task.value == "cancelled")
    #expect(Deadline.now.nanoseconds - start.nanoseconds < 60_000_000_000)
    // In U2F there is nothing to cancel: the key answered long ago.
    if act != .u2fRegister { #expect(bench.virtual.touch.pending == nil, "the key goes on waiting") }
    bench.virtual.touch.setPolicy(.automatic)
    #expect(await failure { try await Self.perform(act, bench, id) } == nil)
  }

  @Test(
    "a key that ignores CANCEL holds nobody up, and is resynchronised", arguments: [Act.register, .assert, .select])
  func deafKey(act: Act) async throws {
    let (bench, id) = try await Self.bench(act, quirks: [.ignoresCancel])
    let task = try await Self.start(act, bench, id)
    bench.key.cancel()
    #expect(await task.value == "cancelled")
    // INIT ends the wait of this one; nothing is left of it.
    bench.virtual.touch.setPolicy(.automatic)
    #expect(await failure { try await Self.perform(act, bench, id) } == nil)
  }

  @Test("a key that ignores CANCEL and INIT is busy until its own time is over")
  func deadlyBusyKey() async throws {
    // The key's own time, at any pace of ours: a busy key is waited for a while and no longer.
    var timing = Bench.timing
    timing.touchTimeout = 1000
    let profile = ModelProfile.virtual.varied("busy") { $0.quirks = [.ignoresCancel, .initDoesNotAbort] }
    let bench = try Bench(profile, touch: .never, timing: timing)
    // The key gives up after a second, so the cancel comes from the key's own thread, not from a test that may be late.
    bench.virtual.touch.setPolicy(.prompt { _ in bench.key.cancel() })
    #expect(await failure { try await bench.register() } == "cancelled")
    #expect(bench.touches == 1)
    bench.virtual.touch.setPolicy(.automatic)
    #expect(await failure { try await bench.register() } == nil)
  }

  @Test("nobody touches: our own deadline ends it, whatever the key does", arguments: Act.allCases, [false, true])
  func deadline(act: Act, endless: Bool) async throws {
    let timings = KeyTimings(touch: Pace.milliseconds(1500), command: .seconds(60), drain: .milliseconds(200))
    let (bench, id) = try await Self.bench(act, quirks: endless ? [.endlessKeepalives] : [], timings: timings)
    let start = Deadline.now
    #expect(await failure { try await Self.perform(act, bench, id) } == "timedOut")
    let elapsed = Deadline.now.nanoseconds - start.nanoseconds
    // Not before the deadline, and at all: the test's own threads can be late by many seconds when every core is busy.
    #expect((1_490_000_000...120_000_000_000).contains(elapsed), "\(elapsed)")
    bench.virtual.touch.setPolicy(.automatic)
    #expect(await failure { try await Self.perform(act, bench, id) } == nil)
  }

  @Test("unplugged while it waits for the touch", arguments: Act.allCases)
  func unplug(act: Act) async throws {
    let (bench, id) = try await Self.bench(act)
    let task = try await Self.start(act, bench, id)
    bench.unplug()
    #expect(await task.value == "unplugged")
    // Plugged in again, the same object goes on.
    bench.virtual.powerCycle()
    bench.virtual.touch.setPolicy(.automatic)
    #expect(await failure { try await Self.perform(act, bench, id) } == nil)
  }

  @Test(
    "unplugged at every command", arguments: [SweepCeremony.open, .registerWithPIN, .tapWithPIN, .prfTap, .u2fRegister])
  func unplugAtEveryCommand(ceremony: SweepCeremony) async throws {
    let extent = try await Sweep.extent(ceremony)
    let plans =
      (0..<extent.commands).map { Sweep.Plan.command($0, .unplug) }
      + (0..<extent.toHost).map { .packet(.toHost, $0, .unplug) }
      + (0..<extent.toKey).map { .packet(.toKey, $0, .unplug) }
    let results = try await Sweep.judgeAll(ceremony, plans) { result in
      guard result.fired > 0 else { return [] }
      var complaints: [String] = []
      if result.failure != "unplugged" { complaints.append("said \(result.failure ?? "success")") }
      if let after = result.failureAfterwards { complaints.append("\(after) afterwards") }
      if result.triesLost > 1 { complaints.append("\(result.triesLost) tries lost") }
      return complaints
    }
    #expect(results.contains { $0.fired > 0 })
  }

  @Test("cancel between two acts does nothing to the next one")
  func cancelAtRest() async throws {
    let bench = try Bench()
    bench.key.cancel()
    #expect(await failure { try await bench.register() } == nil)
    bench.key.cancel()
    #expect(await failure { try await bench.register() } == nil)
  }

  @Test("a task that is cancelled before it begins does nothing")
  func cancelledBefore() async throws {
    let bench = try Bench()
    let task = Task {
      try? await Task.sleep(for: .seconds(10))
      return await failure { try await bench.register() }
    }
    task.cancel()
    #expect(await task.value == "cancelled")
    #expect(bench.touches == 0)
  }

  @Test("cancelled while the person looks for the PIN: nothing is spent")
  func cancelDuringPIN() async throws {
    let bench = try Bench()
    try await bench.setPIN()
    let task = Task {
      await failure {
        try await bench.key.makeCredential(Bench.registration()) { _ in
          bench.key.cancel()
          return SecretBytes(Bench.pin)
        }
      }
    }
    #expect(await task.value == "cancelled")
    #expect(bench.virtual.pinRetries == 8 && bench.touches == 0)
  }

  @Test("two acts at once on one key: the second is told that the key is busy")
  func overlap() async throws {
    let (bench, _) = try await Self.bench(.register)
    let (gate, refused) = (Locked(false), Locked(false))
    try await bench.key.open()
    try await bench.setPIN()
    let task = Task {
      await failure {
        try await bench.key.makeCredential(Bench.registration()) { _ in
          gate.withLock { $0 = true }
          while !refused.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
          return SecretBytes(Bench.pin)
        }
      }
    }
    while !gate.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
    #expect(await failure { try await bench.register() } == "keyBusy")
    bench.virtual.touch.setPolicy(.automatic)
    refused.withLock { $0 = true }
    #expect(await task.value == nil)
  }

  @Test("the touch that comes with the cancel: what really happened is reported")
  func race() async throws {
    let (bench, id) = try await Self.bench(.assert)
    for _ in 0..<20 {
      let task = try await Self.start(.assert, bench, id)
      let made = bench.virtual.log.count(.getAssertion)
      bench.virtual.touch.touch()
      bench.key.cancel()
      let outcome = await task.value
      #expect(outcome == nil || outcome == "cancelled")
      #expect(bench.virtual.log.count(.getAssertion) >= made)
    }
    bench.virtual.touch.setPolicy(.automatic)
    #expect(await failure { try await bench.assert(Bench.assertion([id])) } == nil)
  }

  @Test("events: opened, touch needed, touched, finished, and the stream ends with the key")
  func events() async throws {
    let bench = try Bench(touch: .after(milliseconds: 150))
    let collected = Task {
      var seen: [KeyEvent] = []
      for await event in bench.key.events where seen.last != event { seen.append(event) }
      return seen
    }
    _ = try await bench.register()
    await bench.key.close()
    let seen = await collected.value
    #expect(seen.first == .opened(name: "bench"))
    #expect(seen.contains(.touchNeeded))
    #expect(seen.firstIndex(of: .touched) ?? 0 > seen.firstIndex(of: .touchNeeded) ?? .max)
    #expect(seen.last == .finished)
  }

  @Test("a key object that is let go closes its wire and ends its stream")
  func letGo() async throws {
    let virtual = try VirtualAuthenticator()
    let (descriptor, host) = try VirtualKeyHost.inProcess(virtual)
    var key: SecurityKey? = SecurityKey(
      .reports(id: "let-go", name: "x", kindName: "virtual", isSimulated: true) { descriptor })
    try await key?.open()
    let events = try #require(key?.events)
    key = nil
    for await _ in events {}
    for _ in 0..<12_000 where host.isRunning { usleep(5000) }
    #expect(!host.isRunning, "the wire is still open")
    host.stop()
  }

  @Test("many keys at once: one slow key delays no other")
  func parallel() async throws {
    let benches = try (0..<8).map { i in try Bench(touch: .after(milliseconds: i == 0 ? 1500 : 100)) }
    let start = Deadline.now
    let times = await withTaskGroup(of: (Int, Int64, String?).self) { group in
      for (i, bench) in benches.enumerated() {
        group.addTask {
          let failed = await failure { try await bench.register() }
          return (i, Deadline.now.nanoseconds - start.nanoseconds, failed)
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(times.allSatisfy { $0.2 == nil })
    #expect(times.last?.0 == 0, "the slow one is the last")
  }
}

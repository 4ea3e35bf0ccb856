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

/// Several keys, and the touched one is used.
@Suite("Choice by touch", .serialized)
struct KeyChoiceTests {
  /// Every way to ask for a touch, and every odd answer to it.
  static let kinds: [(name: String, profile: ModelProfile, quirks: Set<Quirk>, pin: Bool)] = [
    ("CTAP 2.1", .virtual, [], false), ("CTAP 2.1 with PIN", .virtual, [], true), ("alwaysUv", .alwaysUv, [], true),
    ("CTAP 2.0", .ctap20, [], false), ("CTAP 2.0 with PIN", .ctap20, [], true),
    ("Q18", .ctap20, [.emptyPinAuthInvalid], true), ("Q19", .ctap20, [.emptyPinAuthNeedsProtocol], false),
    ("U2F", .u2f, [], false),
  ]

  static func bench(_ kind: Int, timing: KeyTiming = Bench.timing) async throws -> Bench {
    let profile = kinds[kind].profile.varied("choice") {
      $0.quirks = kinds[kind].quirks
      $0.touchTimeoutStatus = .actionTimeout
    }
    let bench = try Bench(profile, timing: timing)
    if kinds[kind].pin { try await bench.setPIN() }
    await bench.key.close()
    bench.virtual.log.clear()
    bench.virtual.touch.setPolicy(.never)
    return bench
  }

  static func choose(_ benches: [Bench], timings: KeyTimings = Bench.quick) -> Task<(Int?, String?), Never> {
    Task {
      var chosen: KeyChoice.Chosen?
      let failed = await failure {
        chosen = try await KeyChoice.touched(among: benches.map(\.endpoint), timings: timings)
      }
      await chosen?.others.value
      return (chosen?.index, failed)
    }
  }

  static func waitUntil(_ what: Comment, _ condition: () -> Bool) async throws {
    let patience = Deadline.now.nanoseconds + 60_000_000_000
    while !condition() {
      if Deadline.now.nanoseconds > patience {
        Issue.record(what)
        return
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  static func isWaiting(_ bench: Bench) -> Bool {
    // A U2F key is asked again and again.
    bench.virtual.profile.speaksCTAP2 ? bench.virtual.touch.pending != nil : !bench.virtual.log.entries.isEmpty
  }

  @Test("all wait; the touched one is chosen, and the others hear CANCEL and work at once", arguments: kinds.indices)
  func everyKind(touched: Int) async throws {
    var benches: [Bench] = []
    for kind in Self.kinds.indices { benches.append(try await Self.bench(kind)) }
    let choice = Self.choose(benches, timings: Bench.patient)
    for bench in benches { try await Self.waitUntil("a key does not wait") { Self.isWaiting(bench) } }
    benches[touched].virtual.touch.touch()
    let (index, failed) = await choice.value
    #expect(index == touched && failed == nil)
    for (i, bench) in benches.enumerated() {
      #expect(bench.virtual.pinRetries == 8 && bench.pinQuestions == 0, "nothing is spent")
      // U2F knows no CANCEL: it is not asked again, and forgets.
      #expect(bench.virtual.touch.pending == nil || !bench.virtual.profile.speaksCTAP2)
      if i != touched, bench.virtual.profile.speaksCTAP2 {
        #expect(bench.virtual.log.entries.last?.status == .keepaliveCancel, "\(Self.kinds[i].name)")
      }
      bench.virtual.touch.setPolicy(.automatic)
      #expect(await failure { try await bench.register() } == nil, "\(Self.kinds[i].name)")
      #expect(bench.virtual.storedCredentials == 0)
    }
  }

  @Test(
    "a key that answers before anybody can have touched it is not taken for touched",
    arguments: [CTAPStatus.missingParameter, .pinInvalid, .pinAuthInvalid, .pinNotSet])
  func tooQuick(status: CTAPStatus) async throws {
    let benches = [try await Self.bench(3), try await Self.bench(0)]
    benches[0].virtual.touch.setPolicy(.automatic)
    // After getInfo comes the question.
    benches[0].faults.add(.command(benches[0].faults.commands + 1, .status(status)))
    let choice = Self.choose(benches, timings: Bench.patient)
    try await Self.waitUntil("no key waits") { Self.isWaiting(benches[1]) && benches[0].faults.fired == 1 }
    benches[1].virtual.touch.touch()
    #expect(await choice.value.0 == 1)
  }

  @Test("a key that does not even open delays no other")
  func stuck() async throws {
    let bench = try await Self.bench(0)
    bench.virtual.touch.setPolicy(.automatic)
    let released = Locked(false)
    let stuck = KeyEndpoint(id: "stuck", name: "stuck", kindName: "virtual", isSimulated: true) {
      _ throws(TransportError) in
      // Holds its own thread, and only that, until the choice is over.
      while !released.withLock({ $0 }) { usleep(5000) }
      throw .absent("stuck")
    }
    let chosen = try await KeyChoice.touched(among: [stuck, bench.endpoint], timings: Bench.patient)
    #expect(chosen.index == 1)
    released.withLock { $0 = true }
    await chosen.others.value
  }

  @Test("keys that are gone, refuse, or will not do are passed over; when all are, the first reason is told")
  func unusable() async throws {
    let gone = KeyEndpoint(id: "gone", name: "gone", kindName: "virtual", isSimulated: true) {
      _ throws(TransportError) in throw .unplugged
    }
    let mute = try await Self.bench(0)
    mute.faults.add(.command(mute.faults.commands + 1, .status(.invalidCommand)))
    let good = try await Self.bench(0)
    good.virtual.touch.setPolicy(.automatic)
    let old = try await Self.bench(7)
    old.virtual.touch.setPolicy(.automatic)
    let noU2F: @Sendable (KeyFacts) -> SecurityKeyError? = { $0.info == nil ? .fido2Needed : nil }
    let chosen = try await KeyChoice.touched(
      among: [gone, old.endpoint, mute.endpoint, good.endpoint], timings: Bench.patient, objection: noU2F)
    #expect(chosen.index == 3)
    await chosen.others.value
    #expect(
      await failure {
        try await KeyChoice.touched(among: [gone, old.endpoint], timings: Bench.patient, objection: noU2F)
      }
        == "unplugged")
    #expect(await failure { try await KeyChoice.touched(among: [], timings: Bench.patient) } == "noSuchKey")
  }

  @Test("nobody touches: timed out, and no key is left waiting")
  func nobody() async throws {
    let benches = [try await Self.bench(0), try await Self.bench(4)]
    let timings = KeyTimings(touch: .milliseconds(400), command: .seconds(60), drain: .seconds(60))
    let (index, failed) = await Self.choose(benches, timings: timings).value
    #expect(index == nil && failed == "timedOut")
    #expect(benches.allSatisfy { $0.virtual.touch.pending == nil })
  }

  @Test("a key whose patience is shorter is asked again")
  func impatient() async throws {
    var timing = Bench.timing
    timing.touchTimeout = 100
    let benches = [try await Self.bench(0, timing: timing), try await Self.bench(4, timing: timing)]
    let choice = Self.choose(benches, timings: Bench.patient)
    try await Self.waitUntil("not asked again") {
      benches[0].virtual.log.count(.selection) > 2 && benches[1].virtual.log.count(.makeCredential) > 2
    }
    benches[1].virtual.touch.setPolicy(.automatic)
    #expect(await choice.value.0 == 1)
    #expect(benches[1].virtual.pinRetries == 8)
  }

  @Test("a cancel reaches every key")
  func cancelled() async throws {
    let benches = [try await Self.bench(0), try await Self.bench(1), try await Self.bench(4)]
    let choice = Self.choose(benches, timings: Bench.patient)
    for bench in benches { try await Self.waitUntil("a key does not wait") { Self.isWaiting(bench) } }
    choice.cancel()
    #expect(await choice.value.1 == "cancelled")
    for bench in benches {
      #expect(bench.virtual.log.entries.last?.status == .keepaliveCancel)
      bench.virtual.touch.setPolicy(.automatic)
      #expect(await failure { try await bench.register() } == nil)
    }
  }

  @Test("with few PIN tries left the question that may cost one is not asked")
  func fewTries() async throws {
    let benches = [try await Self.bench(4), try await Self.bench(0)]
    benches[1].virtual.touch.setPolicy(.automatic)
    let chosen = try await KeyChoice.touched(
      among: benches.map(\.endpoint), timings: Bench.patient, pinTriesFloor: 8)
    #expect(chosen.index == 1)
    await chosen.others.value
    #expect(benches[0].virtual.log.count(.makeCredential) == 0)
  }

  @Test("where the PIN tries cannot be read, the question that may cost one is not asked")
  func unknownTries() async throws {
    let benches = [try await Self.bench(4), try await Self.bench(0)]
    benches[1].virtual.touch.setPolicy(.automatic)
    // After getInfo.
    benches[0].faults.add(.command(benches[0].faults.commands + 1, .status(.invalidParameter)))
    let chosen = try await KeyChoice.touched(among: benches.map(\.endpoint), timings: Bench.patient)
    #expect(chosen.index == 1)
    await chosen.others.value
    #expect(benches[0].virtual.log.count(.makeCredential) == 0)
  }

  @Test("Q25: a key that calls a missed touch 0x36 is asked again")
  func lateStatus() async throws {
    var timing = Bench.timing
    timing.touchTimeout = 900 * Pace.factor
    let bench = try Bench(.ctap20.varied("late") { $0.touchTimeoutStatus = .puatRequired }, timing: timing)
    try await bench.setPIN()
    await bench.key.close()
    bench.virtual.touch.setPolicy(.script([.never], then: .automatic))
    // Late is after a third of it.
    let timings = KeyTimings(touch: Pace.milliseconds(2400), command: .seconds(60), drain: .seconds(1))
    let chosen = try await KeyChoice.touched(among: [bench.endpoint], timings: timings)
    #expect(chosen.index == 0 && bench.virtual.log.count(.makeCredential) == 2)
    await chosen.others.value
  }

  @Test("all rounds together have one deadline")
  func oneDeadline() async throws {
    var timing = Bench.timing
    timing.touchTimeout = 1500 * Pace.factor
    let bench = try await Self.bench(0, timing: timing)
    let timings = KeyTimings(touch: Pace.milliseconds(2000), command: .seconds(60), drain: .seconds(60))
    let (_, failed) = await Self.choose([bench], timings: timings).value
    #expect(failed == "timedOut")
    // The key gave up the first, and we the second.
    let rounds = bench.virtual.log.entries.filter { $0.command == .selection }.map(\.status)
    #expect(rounds == [.userActionTimeout, .keepaliveCancel])
  }

  @Test("the PIN is asked for the touched key and sent to no other")
  func onePIN() async throws {
    let benches = [try await Self.bench(1), try await Self.bench(1)]
    benches[1].virtual.touch.setPolicy(.automatic)
    let chosen = try await KeyChoice.touched(among: benches.map(\.endpoint), timings: Bench.patient)
    #expect(chosen.index == 1)
    let key = SecurityKey(benches[chosen.index].endpoint, timings: Bench.patient)
    _ = try await key.makeCredential(Bench.registration(), pin: benches[1].person)
    await chosen.others.value
    await key.close()
    #expect(benches[1].pinQuestions == 1)
    #expect(benches[0].virtual.log.entries.allSatisfy { $0.command != .clientPIN })
  }
}

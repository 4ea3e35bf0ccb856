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

@Suite("Hostile keys")
struct HostileKeyTests {
  @Test("2^31 promised credentials and an endless getNextAssertion: bounded", arguments: [1, 0, 3])
  func endlessAssertions(listed: Int) async throws {
    let bench = try Bench(.virtual.varied("hostile") { $0.quirks = [.endlessAssertions] })
    var request = Bench.registration()
    request.isDiscoverable = true
    let id = try await bench.register(request).credentialID
    let list = listed == 0 ? [] : (1..<listed).map { _ in Random.bytes(64) } + [id]
    #expect(await failure { try await bench.assert(Bench.assertion(list)) } == nil)
    #expect(bench.virtual.log.count(.getNextAssertion) <= 63)
    #expect(await failure { try await bench.assert(Bench.assertion([id])) } == nil)
  }

  @Test("totals of credential management that no memory could hold: bounded")
  func endlessTotals() async throws {
    let bench = try Bench()
    try await bench.setPIN()
    var request = Bench.registration()
    request.isDiscoverable = true
    _ = try await bench.register(request)
    // tries, key agreement, token, metadata; key agreement, token, first relying party
    let first: CBORValue = .intMap([
      (3, .textMap([("id", .text("a.example"))])), (4, .bytes(Random.bytes(32))), (5, .unsigned(1 << 62)),
    ])
    bench.faults.add(.command(bench.faults.commands + 6, .replaceReply([0] + CBORValue.encode(first))))
    let outcome = await failure { try await bench.key.passkeys(pin: bench.person) }
    #expect(outcome != nil)
    #expect(await failure { try await bench.key.passkeys(pin: bench.person) } == nil)
  }

  @Test(
    "any reply to any command may be garbage: a named error, and the key works after",
    arguments: [
      SweepCeremony.register, .registerWithPIN, .tapWithPIN, .prfTap, .u2fRegister, .u2fTap,
    ])
  func garbage(ceremony: SweepCeremony) async throws {
    let extent = try await Sweep.extent(ceremony)
    let long = [UInt8](repeating: 0x81, count: 7600)
    let garbage: [[UInt8]] = [
      [], [0], [0, 0xFF], [0] + long, [0, 0xA0], [0, 0xA1, 0x01], [0, 0xBF], [0, 0xBF, 0xFF],
      [0, 0x5B, 0x7F] + [UInt8](repeating: 0xFF, count: 7),
      [0, 0x9B] + [UInt8](repeating: 0xFF, count: 8), [0, 0xBB] + [UInt8](repeating: 0xFF, count: 8), [0, 0xF6],
      [0, 0x00],
      [0, 0xA3, 1, 0x60, 2, 0x40, 3, 0xA0], [0, 0xA3, 1, 0xA0, 2, 0x40, 3, 0x40],
      [0, 0xA1, 2, 0x58, 0x10] + [UInt8](repeating: 1, count: 16),
      [0, 0xA2, 1, 1, 1, 1], [0x90], [0x90, 0x00], [5, 4, 0x90, 0x00], [1, 0, 0, 0, 1, 0x30, 0x90, 0x00],
      [5] + [UInt8](repeating: 4, count: 65) + [0xFF, 1, 2, 0x90, 0x00],
    ]
    var plans: [Sweep.Plan] = []
    for index in 0..<extent.commands {
      plans += garbage.map { .command(index, .replaceReply($0)) }
      plans += [0, 1, 2, 5, 20, 40].map { .command(index, .truncateReply(to: $0)) }
      // Another bit in getInfo makes another key of it: one that does not list hmac-secret, for instance.
      if index > 0 { plans += stride(from: 0, to: 700, by: 9).map { .command(index, .flipReplyBit($0)) } }
    }
    let isU2F = ceremony == .u2fRegister || ceremony == .u2fTap
    _ = try await Sweep.judgeAll(ceremony, plans) { result in
      var complaints: [String] = []
      if result.triesLost > 1 { complaints.append("\(result.triesLost) tries lost") }
      if result.usedU2F != isU2F { complaints.append(isU2F ? "not used as U2F" : "used as U2F") }
      if result.fired > 0, let after = result.failureAfterwards { complaints.append("\(after) afterwards") }
      return complaints
    }
  }

  /// Whatever count stands in a reply, libcbor makes room for it.
  @Test("libfido2 sees nothing of a reply that does not read")
  func unreadable() {
    let huge = [UInt8](repeating: 0xFF, count: 8)
    for body: [UInt8] in [
      [0xBB] + huge, [0x9B] + huge, [0x5B] + huge, [0xA1, 0x01], [0xA1, 0x01, 0xBB] + huge, [0xBF],
    ] {
      #expect(FidoBridge.shown([0] + body, to: [1]) == [0], "\(body)")
    }
    for reply: [UInt8] in [[], [0], [0x2E], [0x31, 0xBB], [0, 0xA1, 0x01, 0x60]] {
      #expect(FidoBridge.shown(reply, to: [1]) == reply, "\(reply)")
    }
  }

  @Test("a wire that never is silent is left at the deadline")
  func noise() async throws {
    // Another program's channel: its messages are dropped and renew nothing.
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
    let (near, far) = (ends[0], ends[1])
    let stop = Locked(false)
    let done = Locked(false)
    #expect(
      DetachedThread.start {
        var report = [UInt8](repeating: 0, count: 64)
        report.replaceSubrange(0..<8, with: [1, 2, 3, 4, 0xBB, 0, 1, 2])
        while !stop.withLock({ $0 }) { if send(far, report, 64, Int32(MSG_NOSIGNAL)) < 0 { usleep(1000) } }
        close(far)
        done.withLock { $0 = true }
      })
    let timings = KeyTimings(touch: .milliseconds(500), command: .milliseconds(300), drain: .milliseconds(100))
    let key = SecurityKey(
      .reports(id: "noise", name: "noise", kindName: "virtual", isSimulated: true) { near }, timings: timings)
    let start = Deadline.now
    #expect(await failure { try await key.open() } == "noAnswer")
    #expect(Deadline.now.nanoseconds - start.nanoseconds < 60_000_000_000)
    stop.withLock { $0 = true }
    await key.close()
    for _ in 0..<12_000 where !done.withLock({ $0 }) { usleep(5000) }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import TestSupport
import Testing
import VirtualAuthenticator

@testable import SecurityKeys

/// Every ceremony, every packet and command of it, every fault there is: it ends in time, in success or in an error with
/// a name, on no weaker protocol, at the price of one PIN try at most; and the next ceremony on the same key works.
///
/// In ci-full all cases, otherwise a sample. The table of outcomes is written to `.build/fault-sweep.md`.
@Suite("Fault sweep", .serialized)
struct FaultSweepTests {
  static let ceremonies: [SweepCeremony] = [.register, .registerWithPIN, .signInWithList, .tapWithPIN, .prfTap]

  /// One fault, and what kind it is in the table.
  struct Case: Sendable {
    let plan: Sweep.Plan
    let kind: String
    /// The fault changes what is said, not only whether it is heard: then an answer may be wrong and still be an
    /// answer.
    var changesContent = false
  }

  static func packetCases(_ direction: Fault.Direction, _ index: Int) -> [Case] {
    func make(_ kind: String, _ action: Fault.PacketAction, content: Bool = false) -> Case {
      Case(plan: .packet(direction, index, action), kind: kind, changesContent: content)
    }
    var cases = [
      make("packet lost", .drop), make("packet twice", .duplicate), make("packet late", .delay(milliseconds: 30)),
      make("packet too late", .delay(milliseconds: 600)), make("unplugged", .unplug),
    ]
    cases += [0, 1, 4, 5, 7, 20, 63].map { make("packet cut", .truncate(to: $0)) }
    // Channel and command or sequence number.
    cases += [0, 3, 13, 22, 31, 32, 35, 37, 39].map { make("bit of the frame", .flipBit($0)) }
    // Never the first byte of a message: that is the command, and another command may be a destructive one.
    let content = [77, 100, 149, 200, 254, 301, 333, 400, 499]
    let head = direction == .toHost ? [41, 47, 50, 55, 56, 60, 63, 66] : []
    cases += (head + content).map { make("bit of the content", .flipBit($0), content: true) }
    return cases
  }

  static func commandCases(_ index: Int) -> [Case] {
    func make(_ kind: String, _ action: Fault.CommandAction, content: Bool = false) -> Case {
      Case(plan: .command(index, action), kind: kind, changesContent: content)
    }
    let statuses: [UInt8] = [
      0x01, 0x02, 0x03, 0x06, 0x0B, 0x11, 0x12, 0x14, 0x15, 0x16, 0x19, 0x21, 0x22, 0x26, 0x27, 0x28, 0x2B, 0x2C, 0x2D,
      0x2E, 0x2F, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x39, 0x3A, 0x3C, 0x3F, 0x40, 0x7F, 0xE0, 0xF1, 0xFF,
    ]
    var cases = statuses.map { make("status", .status(CTAPStatus(rawValue: $0)), content: true) }
    cases += [.channelBusy].map { make("BUSY", .hidError($0)) }
    cases += [.invalidLength, .invalidSequence, .messageTimeout, .invalidChannel, .other].map {
      make("wire error", .hidError($0))
    }
    cases += [
      make("reply lost", .noReply), make("reply late", .delay(milliseconds: 30)),
      make("reply too late", .delay(milliseconds: 1500)), make("unplugged", .unplug),
      Case(plan: .stubborn(index, milliseconds: 1500), kind: "too late, and CANCEL ignored"),
    ]
    cases += [0, 1, 2, 9, 40].map { make("reply cut", .truncateReply(to: $0), content: true) }
    cases += [0, 5, 7, 8, 16, 77, 300].map { make("bit of the reply", .flipReplyBit($0), content: true) }
    return cases
  }

  static func cases(_ ceremony: SweepCeremony) async throws -> [Case] {
    let extent = try await Sweep.extent(ceremony)
    return (0..<extent.toHost).flatMap { packetCases(.toHost, $0) }
      + (0..<extent.toKey).flatMap { packetCases(.toKey, $0) } + (0..<extent.commands).flatMap(commandCases)
  }

  static func complaints(_ result: SweepResult, _ one: Case) -> [String] {
    var complaints: [String] = []
    if let name = result.failure, name.isEmpty || !name.allSatisfy({ $0.isLetter || $0.isNumber }) {
      complaints.append("no name: \(name)")
    }
    if result.usedU2F { complaints.append("used as U2F") }
    if !one.changesContent, let said = result.failure, NoDowngradeTests.falsehoods.contains(said) {
      complaints.append("said \(said)")
    }
    if result.triesLost > 1 { complaints.append("\(result.triesLost) tries lost") }
    // A late fault can fall into the second time.
    if result.fired > 0, let after = result.failureAfterwards {
      complaints.append("\(result.failure ?? "success"), and \(after) afterwards")
    }
    if result.triesLostAtLast > 0 { complaints.append("the right PIN did not bring the tries back") }
    return complaints
  }

  @Test("every fault at every packet and command")
  func everything() async throws {
    var all: [(SweepCeremony, Case)] = []
    for ceremony in Self.ceremonies { all += try await Self.cases(ceremony).map { (ceremony, $0) } }
    #expect(all.count >= 5000)
    let chosen = Extent.isFull ? all : Self.sample(all, 200)
    var table = OutcomeTable(Self.ceremonies.map(\.rawValue))
    let results = try await Sweep.each(chosen, width: Extent.isFull ? 48 : 12) { ceremony, one in
      try await Sweep.judge(ceremony, one.plan) { Self.complaints($0, one) }
    }
    for ((ceremony, one), result) in results {
      table.add(ceremony.rawValue, one.kind, result.fired == 0 ? "did not happen" : result.failure ?? "done")
      if !result.complaints.isEmpty {
        Issue.record("\(ceremony) \(one.plan): \(result.complaints.joined(separator: "; "))")
      }
    }
    #expect(results.count == chosen.count)
    #expect(results.count { $0.1.fired > 0 } > results.count * 8 / 10)
    // Both ends are seen: faults that are made good, and faults that are named.
    #expect(results.contains { $0.1.fired > 0 && $0.1.failure == nil } && results.contains { $0.1.failure != nil })
    try table.write(.reports, cases: results.count, of: all.count)
  }

  /// Evenly spread, the first and the last among them.
  static func sample<T>(_ all: [T], _ count: Int) -> [T] {
    guard all.count > count, count > 1 else { return all }
    return (0..<count).map { all[$0 * (all.count - 1) / (count - 1)] }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import TestSupport
import Testing
import VirtualAuthenticator

@testable import SecurityKeys

/// Chosen cases of the fault sweep once more, on a real kernel: `Tests/Integration/faults.sh` runs this in a guest.
@Suite("Fault sweep on the kernel", .serialized, .enabled(if: Kernel.isOurs, Kernel.why))
struct KernelFaultTests {
  /// `count` cases of a ceremony, no two of a kind before every kind has had its turn.
  static func chosen(
    _ ceremony: SweepCeremony, _ count: Int, wire: Wire, _ random: inout SeededGenerator
  ) async throws -> [FaultSweepTests.Case] {
    let extent = try await Sweep.extent(ceremony, wire: wire)
    let all =
      (0..<extent.toHost).flatMap { FaultSweepTests.packetCases(.toHost, $0) }
      + (0..<extent.toKey).flatMap { FaultSweepTests.packetCases(.toKey, $0) }
      + (0..<extent.commands).flatMap(FaultSweepTests.commandCases)
    var kinds: [String: [FaultSweepTests.Case]] = [:]
    for one in all.shuffled(using: &random) { kinds[one.kind, default: []].append(one) }
    let order = kinds.keys.sorted().shuffled(using: &random)
    var turns = order.compactMap { kinds[$0] }
    var cases: [FaultSweepTests.Case] = []
    while cases.count < count, turns.contains(where: { !$0.isEmpty }) {
      for i in turns.indices where cases.count < count {
        if let one = turns[i].popLast() { cases.append(one) }
      }
    }
    return cases
  }

  @Test("ten faults in each ceremony through uhid, and two in each through a USB gadget")
  func chosenFaults() async throws {
    var random = SeededGenerator(seed: 50)
    var table = OutcomeTable(FaultSweepTests.ceremonies.map(\.rawValue))
    var happened = 0
    var count = 0
    for (wire, each) in [(Wire.uhid, 10), (.gadget, 2)] {
      for ceremony in FaultSweepTests.ceremonies {
        for one in try await Self.chosen(ceremony, each, wire: wire, &random) {
          let result = try await Sweep.judge(ceremony, one.plan, wire: wire) { FaultSweepTests.complaints($0, one) }
          table.add(ceremony.rawValue, one.kind, result.fired == 0 ? "did not happen" : result.failure ?? "done")
          count += 1
          if result.fired > 0 { happened += 1 }
          #expect(result.complaints.isEmpty, "\(wire) \(ceremony) \(one.plan)")
        }
      }
    }
    #expect(count == 60 && happened >= 50)
    let text = Array("\n\(table.text("Fault sweep on the kernel", cases: count, of: count))\n".utf8)
    _ = write(1, text, text.count)
  }
}

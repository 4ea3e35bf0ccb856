// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import SealFormats
import Testing

/// A computer's clock against the record: what is signed is dated by it.
@Suite struct HolderClockTests {
  /// A clock that the record speaks against.
  @Test func theClockIsCompared() async throws {
    let bench = try await EstateBench(.open)
    try await bench.seenAsItHappened()
    let newest = try #require(bench.capsule.events.map(\.terms.occurredAtEpoch).max())
    let (record, device) = (bench.holders[0].record, bench.holders[0])
    func name(_ now: Int64, accepts: Bool = false) async -> String? {
      await failure {
        let reading = try await bench.read(at: now, remembering: .never)
        _ = try HolderAct(tapping: reading, as: record, device: device.device(), acceptsClock: accepts)
      }
    }
    #expect(await name(bench.now) == nil)
    #expect(await name(newest - 301) == "clockBehind")
    #expect(await name(newest - 301, accepts: true) == "notOpen")
    #expect(await name(newest + 731 * 86_400) == "clockAhead")
    #expect(await name(newest + 731 * 86_400, accepts: true) == nil)
    // This computer has seen something later than its clock says now.
    _ = try await bench.read(
      bench.adding([try bench.event(.silenceObserved, by: bench.holders[2], Array("{}".utf8))]),
      at: bench.now + 86_400)
    #expect(await name(bench.now) == "clockBehind")
  }

  /// A confirmation is dated by the same clock, before the touch and after it.
  @Test func theClockOfAConfirmation() async throws {
    let bench = try await EstateBench(.sealed)
    let newest = try #require(bench.capsule.events.map(\.terms.occurredAtEpoch).max())
    let (record, device) = (bench.holders[0].record, bench.holders[0])
    func act(_ now: Int64, accepts: Bool = false) async throws -> HolderAct {
      let reading = try await bench.read(at: now, remembering: .never)
      return try HolderAct(confirming: reading, as: record, device: device.device(), acceptsClock: accepts)
    }
    func name(_ now: Int64, accepts: Bool = false) async -> String? {
      await failure { _ = try await act(now, accepts: accepts) }
    }
    let table: [(now: Int64, name: String?)] = [
      (newest, nil), (newest - 300, nil), (newest - 301, "clockBehind"), (newest + 730 * 86_400, nil),
      (newest + 730 * 86_400 + 1, "clockAhead"),
    ]
    for (now, expected) in table {
      #expect(await name(now) == expected)
      #expect(await name(now, accepts: true) == nil)
    }
    // A clock that was set during the touch.
    for (later, expected) in [(newest - 301, "clockBehind"), (newest + 731 * 86_400, "clockAhead")] {
      let act = try await act(bench.now)
      let signed = try await act.touch(Ceremony(key: device.key))
      let found = await failure { _ = try await act.entry(signed, at: later, in: bench.store) { bench.capsule } }
      #expect(found == expected)
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import SealFormats
import Testing

/// Which taps count, how many, and which of one's own is given out again.
@Suite struct HolderTallyTests {
  private func act(_ bench: EstateBench, _ person: Int, at now: Int64) async throws -> HolderAct {
    try HolderAct(
      tapping: try await bench.read(at: now), as: bench.holders[person].record,
      device: bench.holders[person].device(), acceptsClock: true)
  }

  private func tap(_ bench: EstateBench, _ person: Int, at now: Int64) async throws -> (HolderAct, EstateEvent) {
    let act = try await act(bench, person, at: now)
    let signed = try await act.touch(Ceremony(key: bench.holders[person].key))
    return (act, try await act.entry(signed, at: now, in: bench.store) { bench.capsule }.event)
  }

  /// A tap that was made while the clock ran years ahead does not stand in the way of the good one, before it or after.
  @Test func aTapOfTheFutureIsNotTheOneThatCounts() async throws {
    let bench = try await EstateBench(.open)
    try await bench.seenAsItHappened()
    let karin = bench.holders[0].record
    let ahead = bench.now + 1_100 * 86_400
    let (_, wrong) = try await tap(bench, 0, at: ahead)
    #expect(HolderAct.keptTap(in: try await bench.read(at: ahead), by: karin) == wrong)

    let now = bench.now + 60
    #expect(HolderAct.keptTap(in: try await bench.read(at: now), by: karin) == nil)
    let (second, right) = try await tap(bench, 0, at: now)
    #expect(second.tally.counted == 0)
    #expect(second.tally.idle.map(\.position) == [wrong.logPosition])
    #expect(second.tally.idle.first?.reason == .inTheFuture)
    #expect(second.tally(with: right).counted == 1)
    for moment in [now, now + 60, ahead + 60] {
      #expect(HolderAct.keptTap(in: try await bench.read(at: moment), by: karin) == right)
    }
    #expect(TapTally(try await bench.read(at: now).entries(), at: now).idle.isEmpty, "the good one is enough")
  }

  @Test func tapsAreCountedBeforeAndAfter() async throws {
    let bench = try await EstateBench(.open)
    try await bench.seenAsItHappened()
    for (person, count) in [(0, 0), (1, 1), (2, 2)] {
      let (act, event) = try await tap(bench, person, at: bench.now + Int64(person))
      #expect(act.tally.needed == 2)
      #expect(act.tally.counted == count)
      #expect(act.tally.isEnough == (count >= 2))
      #expect(act.tally(with: event).counted == count + 1)
      #expect(act.tally(with: event).isEnough == (count + 1 >= 2))
    }
  }

  /// The same person in two windows: the second touch is thrown away, and is told why.
  @Test func theSamePersonInAnotherWindow() async throws {
    let bench = try await EstateBench(.open)
    try await bench.seenAsItHappened()
    let late = try await act(bench, 0, at: bench.now)
    let signed = try await late.touch(Ceremony(key: bench.holders[0].key))
    let (_, event) = try await tap(bench, 0, at: bench.now + 5)
    await #expect(throws: HolderActError.madeMeanwhile(isTap: true, at: event.terms.occurredAtEpoch)) {
      _ = try await late.entry(signed, at: bench.now + 10, in: bench.store) { bench.capsule }
    }
    #expect(HolderActError.madeMeanwhile(isTap: true, at: 0).name == "changedMeanwhile")
  }

  /// The day from which a tap is possible on a computer that saw the claim late, and who may have known it for longer.
  @Test func whenItOpensHereIsSaid() async throws {
    let bench = try await EstateBench(.open)
    let reading = try await bench.read()
    let opens = bench.now + 35 * 86_400
    let refusal = TapRefusal.notOpen(.warning, opensAt: opens, isOpenAsStated: true)
    #expect(
      TapGate(entries: reading.entries()).refusals(for: bench.holders[0].record.rootHash, at: bench.now) == [refusal])
    #expect(refusal.message.contains(UTCText.format(opens)))
    #expect(refusal.next.contains("ask the other key holders"))
    #expect(await failure { _ = try await self.act(bench, 0, at: opens - 1) } == "notOpen")
    #expect(await failure { _ = try await self.act(bench, 0, at: opens) } == nil)

    let quiet = try await EstateBench(.sealed)
    let gate = TapGate(entries: try await quiet.read().entries())
    guard case .nobodyHasClaimed(let from?) = gate.refusals(for: quiet.holders[0].record.rootHash, at: quiet.now).first
    else {
      Issue.record("nobody has claimed")
      return
    }
    #expect(gate.clamped.status(at: from + 1)?.state == .overdue)
  }

  /// A file from before one's own confirmation is older, and nothing was left out of it; from one that is younger
  /// somebody did leave it out.
  @Test func anOlderFileIsOlder() async throws {
    let bench = try await EstateBench(.sealed)
    let act = try HolderAct(
      confirming: try await bench.read(), as: bench.holders[2].record, device: bench.holders[2].device())
    let signed = try await act.touch(Ceremony(key: bench.holders[2].key))
    _ = try await act.entry(signed, at: bench.now + 5, in: bench.store) { bench.capsule }
    func report(_ capsule: Capsule) async throws -> VerificationReport {
      var context = CapsuleContext(now: bench.now + 10, pins: [bench.owner.record.rootHash: bench.ownerKey])
      context.isStrict = true
      return try await bench.store.read(capsule, context, remembering: .never).verification.report
    }
    let older = try await report(bench.capsule)
    #expect(older.failures.isEmpty)
    #expect(older.warnings.contains { $0.name == "fileOlder" })
    var younger = bench.capsule
    younger.exportedAtEpoch = bench.now + 6
    #expect(try await report(younger).failures.map(\.name) == ["eventMissing"])
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import TestSupport
import Testing

/// Random records with few holders, claims and days, so that everything meets everything.
private struct RecordGenerator {
  // The same in every run: a failure can be run again.
  var random = SeededGenerator(seed: 2026)
  static let day: Int64 = 86_400
  static let start: Int64 = 1_800_000_000
  static let holders = ["wife", "brother", "attorney"]
  static let key = [UInt8](repeating: 7, count: 32)
  private var next = 0

  mutating func id() -> String {
    next += 1
    return "E\(next)-\(UInt8.random(in: 0...255, using: &random))"
  }

  mutating func day(_ range: ClosedRange<Int64> = 0...200) -> Int64 {
    Self.start + Int64.random(in: range, using: &random) * Self.day
  }

  mutating func entry(_ actor: String, _ fact: RecordEntry.Fact, at: Int64? = nil, seen: Bool? = nil) -> RecordEntry {
    let time = at ?? day()
    let isSeen = seen ?? (Int.random(in: 0..<4, using: &random) == 0)
    return RecordEntry(
      position: LogPosition(occurredAtEpoch: time, id: id()), actor: actor, fact: fact,
      tokenTime: Int.random(in: 0..<8, using: &random) == 0 ? time + Self.day : nil,
      firstSeen: isSeen ? time + Int64.random(in: 0...40, using: &random) * Self.day : nil)
  }

  mutating func ownerFact() -> RecordEntry.Fact {
    switch Int.random(in: 0..<8, using: &random) {
    case 0: .cancellation
    case 1: .vaultUpdated
    case 2: .ownerDeparted(keepEnvelopes: Bool.random(using: &random))
    case 3: .policyChanged(policy())
    case 4: statement()
    default: .heartbeat
    }
  }

  mutating func policy() -> ReleasePolicy {
    ReleasePolicy(
      silenceDays: [30, 90].randomElement(using: &random) ?? 30, warningDays: Int64.random(in: 1...21, using: &random),
      graceDays: Int64.random(in: 0...14, using: &random), threshold: Int64.random(in: 1...3, using: &random),
      objectionBehavior: Bool.random(using: &random) ? .pause : .veto)
  }

  mutating func statement() -> RecordEntry.Fact {
    .epochPublished(
      EpochPublishedPayload(
        epoch: UInt64.random(in: 1...2, using: &random), threshold: Int64.random(in: 1...3, using: &random),
        custodianHashes: Self.holders, custodianPublicKeys: [], shareCommitments: [],
        estateKeyCommitment: SHA256.hash(Self.key), materialDigest: []))
  }

  mutating func holderEntry(at: Int64? = nil) -> RecordEntry {
    let claim = ["c1", "c2"].randomElement(using: &random) ?? "c1"
    let epoch = UInt64.random(in: 1...2, using: &random)
    let fact: RecordEntry.Fact =
      switch Int.random(in: 0..<9, using: &random) {
      case 0, 1: .claim(id: claim, epoch: epoch)
      case 2: .objection(claimID: claim)
      case 3: .withdrawal(claimID: claim)
      case 4: .released(claimID: claim, epoch: epoch, keyHash: SHA256.hash(Self.key))
      default: .tap(claimID: claim, epoch: epoch)
      }
    return entry(Self.holders.randomElement(using: &random) ?? "wife", fact, at: at)
  }

  /// A record in which a tap is often allowed: creation, a statement, a claim after the silence, then anything.
  mutating func record() -> [RecordEntry] {
    var out = [
      entry("owner", .estateCreated(policy: policy(), createdAt: Self.start), at: Self.start, seen: false),
      entry("owner", statement(), at: Self.start, seen: false),
      entry("brother", .claim(id: "c1", epoch: 1), at: day(91...100), seen: false),
    ]
    for _ in 0..<Int.random(in: 0...5, using: &random) { out.append(holderEntry()) }
    if Int.random(in: 0..<3, using: &random) == 0 { out.append(entry("owner", ownerFact())) }
    return out
  }
}

@Suite(.arithmetic) struct ReleasePropertyTests {
  private static let days = stride(from: Int64(90), through: 200, by: 10).map {
    RecordGenerator.start + $0 * RecordGenerator.day
  }

  /// An owner's entry at or after the claim, of whatever kind, never makes a tap allowed: it kills the claim.
  @Test func ownersEntriesNeverAllow() {
    var generator = RecordGenerator()
    var allowed = 0
    for _ in 0..<900 {
      let record = generator.record()
      let now = Self.days.randomElement(using: &generator.random) ?? 0
      let before = TapGate(entries: record)
      allowed += before.refusals(for: "wife", at: now).isEmpty ? 1 : 0
      guard let claim = before.clamped.status(at: now)?.claim else { continue }
      let late = generator.entry("owner", generator.ownerFact(), at: claim.time + Int64.random(in: 0...5_000_000))
      let after = TapGate(entries: record + [late])
      // The killed claim stays current, so nobody can tap, and nobody who could not can now.
      for holder in RecordGenerator.holders {
        #expect(!after.refusals(for: holder, at: now).isEmpty)
      }
      // A heartbeat at any time allows nothing either, unless it takes a departure back.
      let early = generator.entry("owner", .heartbeat)
      let departed = record.contains { if case .ownerDeparted = $0.fact { true } else { false } }
      if !departed, !before.refusals(for: "wife", at: now).isEmpty {
        #expect(!TapGate(entries: record + [early]).refusals(for: "wife", at: now).isEmpty)
      }
    }
    // The generator must make taps possible, or the above shows nothing.
    #expect(allowed > 15)
  }

  /// Adding a tap never lowers the count.
  @Test func tapsNeverLowerTheCount() {
    var generator = RecordGenerator()
    var rose = 0
    for _ in 0..<900 {
      let record = generator.record()
      let now = Self.days.randomElement(using: &generator.random) ?? 0
      let clamped = Bool.random()
      let before = EstateView(entries: record, clamped: clamped).status(at: now)?.validTaps.count ?? 0
      let tap = generator.entry("wife", .tap(claimID: "c1", epoch: 1), at: generator.day(90...200))
      let after = EstateView(entries: record + [tap], clamped: clamped).status(at: now)?.validTaps.count ?? 0
      #expect(after >= before)
      rose += after > before ? 1 : 0
    }
    #expect(rose > 6)
  }

  /// Nothing depends on the order in which events arrived.
  @Test func orderOfArrivalDoesNotMatter() {
    var generator = RecordGenerator()
    for _ in 0..<400 {
      let record = generator.record()
      for clamped in [false, true] {
        let now = Self.days.randomElement(using: &generator.random) ?? 0
        let status = EstateView(entries: record, clamped: clamped).status(at: now)
        #expect(
          EstateView(entries: record.shuffled(using: &generator.random), clamped: clamped).status(at: now) == status)
      }
      let gate = TapGate(entries: record).refusals(for: "wife", at: Self.days[5])
      #expect(
        TapGate(entries: record.shuffled(using: &generator.random)).refusals(for: "wife", at: Self.days[5]) == gate)
    }
  }

  /// A release that was earned is not undone by any later entry but a second claim event under the same ID.
  @Test func releasesLast() {
    var generator = RecordGenerator()
    var released = 0
    for _ in 0..<1200 {
      var record = generator.record()
      record.append(
        generator.entry(
          "brother", .released(claimID: "c1", epoch: 1, keyHash: SHA256.hash(RecordGenerator.key)),
          at: generator.day(120...180), seen: false))
      let now = Self.days.last ?? 0
      let view = EstateView(entries: record, clamped: false)
      guard let status = view.status(at: now), status.state == .released else { continue }
      released += 1
      // Later than the latest moment at which the release can have been honoured, which is `now` itself.
      let later = generator.entry(
        "owner", [.heartbeat, .cancellation, .vaultUpdated].randomElement(using: &generator.random) ?? .heartbeat,
        at: now + 1)
      #expect(EstateView(entries: record + [later], clamped: false).status(at: now + 1)?.state == .released)
    }
    #expect(released > 6)
  }

  /// Numbers at the ends of the clock do not trap.
  @Test func extremes() {
    let ends: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
    var generator = RecordGenerator()
    for time in ends {
      for days in ends {
        let policy = ReleasePolicy(
          silenceDays: days, warningDays: days, graceDays: days, threshold: days, objectionBehavior: .pause)
        let record = [
          generator.entry("owner", .estateCreated(policy: policy, createdAt: time), at: 0, seen: false),
          generator.entry("owner", generator.statement(), at: 0, seen: false),
          RecordEntry(
            position: LogPosition(occurredAtEpoch: time, id: "c"), actor: "wife", fact: .claim(id: "c1", epoch: 1)),
          RecordEntry(
            position: LogPosition(occurredAtEpoch: time, id: "o"), actor: "wife", fact: .objection(claimID: "c1")),
          RecordEntry(
            position: LogPosition(occurredAtEpoch: .max, id: "w"), actor: "wife", fact: .withdrawal(claimID: "c1")),
          RecordEntry(
            position: LogPosition(occurredAtEpoch: time, id: "t"), actor: "wife", fact: .tap(claimID: "c1", epoch: 1)),
          RecordEntry(
            position: LogPosition(occurredAtEpoch: time, id: "r"), actor: "wife",
            fact: .released(claimID: "c1", epoch: 1, keyHash: SHA256.hash(RecordGenerator.key))),
        ]
        for now in ends {
          let gate = TapGate(entries: record)
          #expect(gate.clamped.status(at: now) != nil)
          #expect(!gate.refusals(for: "wife", at: now).isEmpty)
        }
      }
    }
  }

  @Test func refusalsAreNamed() {
    var generator = RecordGenerator()
    let fine = ReleasePolicy(silenceDays: 30, warningDays: 7, graceDays: 0, threshold: 1)
    func record(_ policy: ReleasePolicy, claimEpoch: UInt64 = 1, claimant: String = "wife") -> [RecordEntry] {
      let statement = EpochPublishedPayload(
        epoch: 1, threshold: policy.threshold, custodianHashes: ["wife", "brother"], custodianPublicKeys: [],
        shareCommitments: [], estateKeyCommitment: [], materialDigest: [])
      return [
        generator.entry("owner", .estateCreated(policy: policy, createdAt: 0), at: RecordGenerator.start, seen: false),
        RecordEntry(
          position: LogPosition(occurredAtEpoch: RecordGenerator.start, id: "s"), actor: "owner",
          fact: .epochPublished(statement)),
        RecordEntry(
          position: LogPosition(occurredAtEpoch: RecordGenerator.start + 31 * RecordGenerator.day, id: "c"),
          actor: claimant, fact: .claim(id: "c1", epoch: claimEpoch)),
      ]
    }
    let now = RecordGenerator.start + 38 * RecordGenerator.day
    func names(_ entries: [RecordEntry], _ holder: String = "wife") -> [String] {
      TapGate(entries: entries).refusals(for: holder, at: now).map(\.name)
    }
    #expect(names(record(fine)) == [])
    #expect(names([]) == ["noRecord"])
    #expect(names(record(fine), "stranger") == ["notAKeyHolder"])
    #expect(names(record(fine, claimEpoch: 2)) == ["claimOfAnotherEpoch"])
    #expect(names(record(fine, claimant: "attorney")) == ["claimantNotAKeyHolder"])
    #expect(names(Array(record(fine).dropFirst())) == ["notOpen", "notOpenByStatedTimes", "noRecord"])
    var odd = fine
    odd.silenceDays = 29
    #expect(names(record(odd)) == ["policyOutOfRange"])
    odd.silenceDays = 30
    odd.threshold = 3
    #expect(names(record(odd)) == ["policyOutOfRange"])
    let older = EpochPublishedPayload(
      epoch: 9, threshold: 1, custodianHashes: ["wife"], custodianPublicKeys: [], shareCommitments: [],
      estateKeyCommitment: [], materialDigest: [])
    let rollback =
      record(fine) + [
        RecordEntry(
          position: LogPosition(occurredAtEpoch: RecordGenerator.start - 1, id: "o"), actor: "owner",
          fact: .epochPublished(older))
      ]
    #expect(names(rollback) == ["epochNotHighest"])
    let published =
      record(fine) + [
        RecordEntry(
          position: LogPosition(occurredAtEpoch: now, id: "r"), actor: "brother",
          fact: .released(claimID: "c1", epoch: 1, keyHash: []))
      ]
    #expect(names(published) == ["keyAlreadyPublic"])
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealFormats

/// How many taps count for the current claim, by this computer's times, and how many are needed.
public struct TapTally: Sendable, Hashable {
  /// Taps that count.
  public let counted: Int
  /// Taps that the owner's rule asks for.
  public let needed: Int
  /// Taps for the claim that do not count, of whoever has none that does.
  public let idle: [IdleTap]

  /// Whether the claimant can open the estate.
  public var isEnough: Bool { counted >= needed }

  /// - Parameters:
  ///   - entries: what the release rules look at.
  ///   - now: seconds since 1970.
  public init(_ entries: [RecordEntry], at now: Int64) {
    let status = EstateView(entries: entries, clamped: true).status(at: now)
    counted = status?.validTaps.count ?? 0
    needed = status.flatMap { Int(exactly: max(1, $0.policy.threshold)) } ?? 1
    idle = status?.idleTaps ?? []
  }
}

extension HolderAct {
  /// The taps before this one.
  public var tally: TapTally { TapTally(entries, at: reading.context.now) }

  /// The taps with one that was made.
  public func tally(with event: EstateEvent) -> TapTally {
    TapTally(
      entries.filter { $0.position != event.logPosition } + [RecordEntry(event)],
      at: max(reading.context.now, event.terms.occurredAtEpoch))
  }

  private var entries: [RecordEntry] { reading.entries(usingRecordTimes: usesRecordTimes) }

  /// This holder's tap for the current claim, when it is known here and counts: it need not, and cannot, be made again.
  /// Of several it is the one that counts.
  ///
  /// - Parameters:
  ///   - claimID: the claim that the person means; nil for the current one.
  ///   - usesRecordTimes: as for a tap.
  public static func keptTap(
    in reading: EstateReading, by holder: DirectoryRecord, claimID: String? = nil, usesRecordTimes: Bool = false
  ) -> EstateEvent? {
    let entries = reading.entries(usingRecordTimes: usesRecordTimes)
    guard let status = EstateView(entries: entries, clamped: true).status(at: reading.context.now),
      let claim = status.claim, claimID == nil || claimID == claim.id,
      let tap = status.validTaps.first(where: { $0.holder == holder.rootHash })
    else { return nil }
    return reading.verification.admitted.last { $0.logPosition == tap.position }
  }

  /// The newest entry of that kind by `holder` that was not there before.
  static func newEntry(
    _ kind: EventKind, in fresh: EstateReading, since reading: EstateReading, by holder: String
  ) -> EstateEvent? {
    let before = Set(reading.verification.admitted.map(\.id))
    return fresh.verification.admitted.last {
      $0.kind == kind && $0.terms.actorHash == holder && !before.contains($0.id)
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// The admitted record of an estate as one device sees it: a pure function of events and times.
///
/// Nothing is stored and nothing depends on the order in which events arrived.
public struct EstateView: Sendable {
  struct Objection: Hashable, Sendable {
    let holder: String
    let time: Int64
    var withdrawnAt: Int64?
  }

  struct Tap: Hashable, Sendable {
    let holder: String
    let time: Int64
    let position: LogPosition
  }

  let entries: [RecordEntry]
  let times: [Int64]
  let isClamped: Bool
  let fallback: ReleasePolicy

  /// A view over admitted entries.
  ///
  /// - Parameters:
  ///   - clamped: whether claims, taps and releases are at least as late as this device first saw them.
  ///   - fallback: the rule when no event states one; Seal's defaults.
  public init(entries: [RecordEntry], clamped: Bool, fallback: ReleasePolicy = ReleasePolicy()) {
    self.init(sorted: entries.sorted { $0.position < $1.position }, clamped: clamped, fallback: fallback)
  }

  private init(sorted: [RecordEntry], clamped: Bool, fallback: ReleasePolicy) {
    entries = sorted
    times = sorted.map { $0.time(clamped: clamped) }
    isClamped = clamped
    self.fallback = fallback
  }

  /// The part of the record up to and with `moment`, by this device's times.
  func upTo(_ moment: Int64) -> EstateView {
    EstateView(
      sorted: zip(entries, times).filter { $0.1 <= moment }.map(\.0), clamped: isClamped, fallback: fallback)
  }

  /// The last sign of the owner: the latest time of any entry of the owner's.
  var anchor: Int64? {
    zip(entries, times).lazy.filter { $0.0.fact.isOwners }.map(\.1).max()
  }

  /// The rule in force: whole rules replace it, an epoch statement replaces the threshold; the last in the log wins.
  public var policy: ReleasePolicy {
    var policy = fallback
    for entry in entries {
      switch entry.fact {
      case .estateCreated(let stated?, _), .policyChanged(let stated?): policy = stated
      case .epochPublished(let statement?): policy.threshold = statement.threshold
      default: break
      }
    }
    return policy
  }

  /// Every epoch statement that reads, in log order.
  public var statements: [(position: LogPosition, statement: EpochPublishedPayload)] {
    entries.compactMap {
      if case .epochPublished(let statement?) = $0.fact { ($0.position, statement) } else { nil }
    }
  }

  /// The newest epoch statement, by time as written and ID.
  public var newestStatement: EpochPublishedPayload? { statements.last?.statement }

  /// Every claim event, in log order.
  public var claims: [Claim] {
    zip(entries, times).compactMap { entry, time in
      guard case .claim(let id, let epoch) = entry.fact else { return nil }
      return Claim(id: id, claimant: entry.actor, epoch: epoch, time: time, position: entry.position)
    }
  }

  /// The claim with the latest time, the first in the log among equals; none at all when its claimant used its ID more
  /// than once.
  public var currentClaim: Claim? {
    let claims = self.claims
    var newest: Claim?
    for claim in claims where newest.map({ claim.time > $0.time }) ?? true { newest = claim }
    guard let newest else { return nil }
    let same = claims.filter { $0.id == newest.id && $0.claimant == newest.claimant }
    return same.count == 1 ? newest : nil
  }

  /// Taps on a claim ID, by time and then log order. Nothing but the ID ties a tap to a claim.
  func taps(on claimID: String) -> [Tap] {
    zip(entries, times).compactMap { entry, time -> Tap? in
      guard case .tap(claimID, _) = entry.fact else { return nil }
      return Tap(holder: entry.actor, time: time, position: entry.position)
    }
    .sorted { ($0.time, $0.position) < ($1.time, $1.position) }
  }

  /// Objections to a claim ID with their withdrawals, by time and then log order: each withdrawal closes the first open
  /// objection by the same holder at or before it.
  func objections(to claimID: String) -> [Objection] {
    var objections: [(position: LogPosition, objection: Objection)] = []
    var withdrawals: [(position: LogPosition, holder: String, time: Int64)] = []
    for (entry, time) in zip(entries, times) {
      switch entry.fact {
      case .objection(claimID): objections.append((entry.position, Objection(holder: entry.actor, time: time)))
      case .withdrawal(claimID): withdrawals.append((entry.position, entry.actor, time))
      default: break
      }
    }
    objections.sort { ($0.objection.time, $0.position) < ($1.objection.time, $1.position) }
    withdrawals.sort { ($0.time, $0.position) < ($1.time, $1.position) }
    // In order of time, the first of a holder's open objections is always the one to close: queues, so that a record
    // full of objections costs no more than its length.
    var open: [String: (next: Int, indexes: [Int])] = [:]
    for (index, entry) in objections.enumerated() {
      open[entry.objection.holder, default: (0, [])].indexes.append(index)
    }
    for withdrawal in withdrawals {
      guard let queue = open[withdrawal.holder], queue.next < queue.indexes.count else { continue }
      let index = queue.indexes[queue.next]
      guard objections[index].objection.time <= withdrawal.time else { continue }
      objections[index].objection.withdrawnAt = withdrawal.time
      open[withdrawal.holder]?.next += 1
    }
    return objections.map(\.objection)
  }

  /// What the owner said on leaving: the newest departure, unless a heartbeat is stated strictly later. Envelopes are
  /// kept only when every departure says so.
  public var departure: Departure? {
    var newest: RecordEntry?
    var keeps = true
    var lastHeartbeat = Int64.min
    for entry in entries {
      switch entry.fact {
      case .ownerDeparted(let keep):
        newest = entry
        keeps = keeps && keep == true
      case .heartbeat: lastHeartbeat = max(lastHeartbeat, entry.statedTime)
      default: break
      }
    }
    guard let newest, lastHeartbeat <= newest.statedTime else { return nil }
    return Departure(at: newest.statedTime, keepsEnvelopes: keeps)
  }
}

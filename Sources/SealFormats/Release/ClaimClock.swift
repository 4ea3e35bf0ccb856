// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// One claim under one rule: when it opens, whether it is dead, which taps count (RELEASE.md 1.4 and 1.5).
struct ClaimClock {
  let claim: Claim
  let policy: ReleasePolicy
  let anchor: Int64?
  let objections: [EstateView.Objection]
  let cancellations: [Int64]

  init(_ claim: Claim, in view: EstateView) {
    self.claim = claim
    policy = view.policy
    anchor = view.anchor
    objections = view.objections(to: claim.id)
    cancellations = zip(view.entries, view.times).compactMap { $0.0.fact == .cancellation ? $0.1 : nil }
  }

  /// Why the claim counts for nothing, the tests in Seal's order.
  var void: ClaimVoid? {
    if let anchor, anchor >= claim.time { return .ownerEventAtOrAfterClaim }
    if cancellations.contains(where: { $0 >= claim.time }) { return .cancelledAtOrAfterClaim }
    if policy.objectionBehavior == .veto, objections.contains(where: { $0.time >= claim.time }) { return .vetoed }
    if let anchor, claim.time < saturating(anchor, plus: seconds(days: policy.silenceDays)) { return .openedTooEarly }
    return nil
  }

  /// Seconds the claim stood still before `moment`: every objection by itself, so overlaps count twice.
  func paused(at moment: Int64) -> Int64 {
    guard policy.objectionBehavior == .pause else { return 0 }
    return objections.filter { $0.time >= claim.time && $0.time < moment }.reduce(0) { sum, objection in
      let end = min(objection.withdrawnAt ?? moment, moment)
      return saturating(sum, plus: saturating(end, minus: objection.time))
    }
  }

  /// Whether an objection stands at `moment` and stops the clock.
  func isPaused(at moment: Int64) -> Bool {
    policy.objectionBehavior == .pause
      && objections.contains {
        $0.time >= claim.time && $0.time <= moment && ($0.withdrawnAt.map { $0 > moment } ?? true)
      }
  }

  private var warningEnd: Int64 { saturating(claim.time, plus: seconds(days: policy.warningDays)) }
  private var open: Int64 { saturating(warningEnd, plus: seconds(days: policy.graceDays)) }

  /// The clock with the pauses before `moment`.
  func timeline(at moment: Int64) -> ClaimTimeline {
    let paused = paused(at: moment)
    return ClaimTimeline(
      openedAt: claim.time, warningEndsAt: saturating(warningEnd, plus: paused),
      opensAt: saturating(open, plus: paused), paused: paused)
  }

  /// The moment from which taps count, with every pause that lies before it; nil while a pause has no end.
  var openingMoment: Int64? {
    var moment = open
    for _ in 0...objections.count {
      let next = saturating(open, plus: paused(at: moment))
      if next == moment { return isPaused(at: moment) ? nil : moment }
      moment = next
    }
    return nil
  }

  /// The taps that count at `now`: not in the future, not before the claim was open at the tap's own time, not during
  /// an objection, the first that counts for each holder. A pause that begins later does not undo one.
  func validTaps(_ taps: [EstateView.Tap], now: Int64) -> [ValidTap] {
    var seen = Set<String>()
    return taps.compactMap { tap in
      guard !seen.contains(tap.holder), idleness(of: tap, now: now) == nil else { return nil }
      seen.insert(tap.holder)
      return ValidTap(holder: tap.holder, time: tap.time, position: tap.position)
    }
  }

  /// The taps that do not count, of whoever has none among `valid`.
  func idleTaps(_ taps: [EstateView.Tap], besides valid: [ValidTap], now: Int64) -> [IdleTap] {
    let counted = Set(valid.map(\.holder))
    return taps.compactMap { tap in
      guard !counted.contains(tap.holder), let reason = idleness(of: tap, now: now) else { return nil }
      return IdleTap(holder: tap.holder, time: tap.time, position: tap.position, reason: reason)
    }
  }

  private func idleness(of tap: EstateView.Tap, now: Int64) -> IdleTap.Reason? {
    if tap.time > now { return .inTheFuture }
    if tap.time < timeline(at: tap.time).opensAt { return .tooEarly }
    return isPaused(at: tap.time) ? .duringObjection : nil
  }
}

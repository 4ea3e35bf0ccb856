// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

extension EstateView {
  /// Everything that can be said of the estate at `now`. A device without any event has no state: nil.
  public func status(at now: Int64) -> ReleaseStatus? {
    guard !entries.isEmpty else { return nil }
    let (anchor, policy, claim) = (self.anchor, self.policy, currentClaim)
    let clock = claim.map { ClaimClock($0, in: self) }
    let judgement = ReleaseJudge(self).judge()
    let void = clock?.void
    let timeline = void == nil ? clock?.timeline(at: now) : nil
    let live = void == nil ? clock : nil
    let all = live.map { self.taps(on: $0.claim.id) } ?? []
    let taps = live?.validTaps(all, now: now) ?? []
    let idle = live?.idleTaps(all, besides: taps, now: now) ?? []

    let state = self.state(at: now, clock, void, taps.count, judgement.release)
    return ReleaseStatus(
      now: now, state: state, silenceAnchor: anchor, policy: policy, claim: claim, void: void, timeline: timeline,
      validTaps: taps, idleTaps: idle, release: judgement.release, keyPublishedAt: judgement.keyPublishedAt,
      departure: departure,
      nextChange: nextChange(state, now, anchor, policy, timeline, judgement.release),
      holders: newestStatement?.custodianHashes ?? [])
  }

  private func isOverdue(_ now: Int64, _ anchor: Int64?, _ policy: ReleasePolicy) -> Bool {
    guard let anchor else { return true }
    return saturating(now, minus: anchor) > seconds(days: policy.silenceDays)
  }

  /// The transition table of RELEASE.md 1.5, from the top down.
  private func state(
    at now: Int64, _ clock: ClaimClock?, _ void: ClaimVoid?, _ taps: Int, _ release: HonouredRelease?
  ) -> ReleaseState {
    if let release, release.releasedAt <= now { return .released }
    let isOverdue = isOverdue(now, anchor, policy)
    guard let clock else { return isOverdue ? .overdue : .active }
    switch void {
    case .ownerEventAtOrAfterClaim, .cancelledAtOrAfterClaim: return isOverdue ? .overdue : .cancelled
    case .vetoed: return .objected
    case .openedTooEarly: return isOverdue ? .overdue : .active
    case nil: break
    }
    guard now >= clock.claim.time else { return isOverdue ? .overdue : .active }
    if clock.isPaused(at: now) { return .objected }
    let timeline = clock.timeline(at: now)
    if now < timeline.warningEndsAt { return .warning }
    if now < timeline.opensAt { return .grace }
    return Int64(taps) < clock.policy.threshold ? .claimOpen : .authorized
  }

  private func nextChange(
    _ state: ReleaseState, _ now: Int64, _ anchor: Int64?, _ policy: ReleasePolicy, _ timeline: ClaimTimeline?,
    _ release: HonouredRelease?
  ) -> Int64? {
    let own: Int64? =
      switch state {
      case .active, .cancelled: anchor.map { saturating($0, plus: seconds(days: policy.silenceDays)) }
      case .warning: timeline?.warningEndsAt
      case .grace: timeline?.opensAt
      case .overdue, .claimOpen, .authorized, .objected, .released: nil
      }
    let pending = release.flatMap { $0.releasedAt > now ? $0.releasedAt : nil }
    return [own, pending].compactMap { $0 }.min()
  }
}

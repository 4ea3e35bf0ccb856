// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// Decides whether a published Estate Key was earned (RELEASE.md 1.6).
struct ReleaseJudge {
  /// How often the record is replayed at most: for one release, one sender, all.
  private static let budgets = (release: 32, sender: 128, all: 1024)

  struct Judgement {
    var release: HonouredRelease?
    var keyPublishedAt: Int64?
  }

  private struct Candidate {
    let position: LogPosition
    let sender: String
    let claimID: String
    let time: Int64
    let claim: Claim
    let isCurrent: Bool
  }

  private let view: EstateView
  private let current: Claim?

  init(_ view: EstateView) {
    self.view = view
    current = view.currentClaim
  }

  func judge() -> Judgement {
    var judgement = Judgement()
    // Indexed once: a record full of releases costs no more than its length.
    let statements = Dictionary(grouping: view.statements.map(\.statement), by: \.epoch)
    let highest = statements.keys.max()
    let claims = Dictionary(grouping: view.claims) { [$0.claimant, $0.id] }
    var tappers: [String: Set<String>] = [:]
    for entry in view.entries {
      if case .tap(let claimID, _) = entry.fact { tappers[claimID, default: []].insert(entry.actor) }
    }
    var candidates: [Candidate] = []
    for (entry, time) in zip(view.entries, view.times) {
      guard case .released(let claimID, let epoch, let keyHash) = entry.fact, let signed = statements[epoch],
        signed.contains(where: { $0.estateKeyCommitment == keyHash })
      else { continue }
      judgement.keyPublishedAt = min(judgement.keyPublishedAt ?? time, time)
      // The right key from here on; now whether it was this sender's to publish.
      let needed = max(1, signed.map(\.threshold).min() ?? 1)
      guard epoch == highest, let own = claims[[entry.actor, claimID]], own.count == 1, own[0].epoch == epoch,
        Int64(tappers[claimID]?.count ?? 0) >= needed
      else { continue }
      candidates.append(
        Candidate(
          position: entry.position, sender: entry.actor, claimID: claimID, time: time, claim: own[0],
          isCurrent: current == own[0]))
    }
    judgement.release = firstEarned(candidates)
    return judgement
  }

  private func firstEarned(_ candidates: [Candidate]) -> HonouredRelease? {
    var earliest: [[String]: Candidate] = [:]
    for candidate in candidates {
      let key = [candidate.sender, candidate.claimID]
      if let known = earliest[key], (known.time, known.position) <= (candidate.time, candidate.position) { continue }
      earliest[key] = candidate
    }
    let ordered = earliest.values.sorted {
      $0.isCurrent == $1.isCurrent ? ($0.time, $0.position) < ($1.time, $1.position) : $0.isCurrent
    }
    var used = 0
    var usedBySender: [String: Int] = [:]
    for candidate in ordered {
      for moment in moments(of: candidate).prefix(Self.budgets.release) {
        guard used < Self.budgets.all, usedBySender[candidate.sender, default: 0] < Self.budgets.sender else { break }
        used += 1
        usedBySender[candidate.sender, default: 0] += 1
        if isEarned(candidate, at: moment) {
          return HonouredRelease(eventID: candidate.position.id, releasedAt: moment)
        }
      }
    }
    return nil
  }

  /// The release's own time, every later tap or withdrawal on the claim, and the moment the claim opens here.
  private func moments(of candidate: Candidate) -> [Int64] {
    var moments: Set<Int64> = [candidate.time]
    for (entry, time) in zip(view.entries, view.times) where time > candidate.time {
      switch entry.fact {
      case .tap(candidate.claimID, _), .withdrawal(candidate.claimID): moments.insert(time)
      default: break
      }
    }
    if let opening = ClaimClock(candidate.claim, in: view).openingMoment, opening > candidate.time {
      moments.insert(opening)
    }
    return moments.sorted()
  }

  /// Whether the release was earned with what had happened by `moment`. Taps that came before the claim was open count
  /// here, unlike in the state.
  private func isEarned(_ candidate: Candidate, at moment: Int64) -> Bool {
    let then = view.upTo(moment)
    let claim = candidate.claim
    guard claim.time <= moment else { return false }
    let clock = ClaimClock(claim, in: then)
    guard clock.void == nil, moment >= clock.timeline(at: moment).opensAt, !clock.isPaused(at: moment) else {
      return false
    }
    let tappers = then.taps(on: claim.id).filter { $0.time >= claim.time && !clock.isPaused(at: $0.time) }
    return Int64(Set(tappers.map(\.holder)).count) >= max(1, clock.policy.threshold)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealFormats

/// A countdown drawn in text.
struct EstateTimeline {
  private let status: ReleaseStatus
  private let verified: CapsuleVerification
  private let who: PeopleNames
  /// How its times were found.
  private let isByFirstSight: Bool
  private static let width = 64

  /// - Parameter isByFirstSight: claims and taps in it count from when this computer first saw them.
  init(_ status: ReleaseStatus, _ verified: CapsuleVerification, _ who: PeopleNames, isByFirstSight: Bool) {
    self.status = status
    self.isByFirstSight = isByFirstSight
    self.verified = verified
    self.who = who
  }

  private var silenceEnd: Int64? {
    guard let anchor = status.silenceAnchor else { return nil }
    let (end, overflow) = anchor.addingReportingOverflow(
      status.policy.silenceDays.multipliedReportingOverflow(by: 86_400).partialValue)
    return overflow ? nil : end
  }

  /// One line for each moment, oldest first, now among them.
  var moments: [String] {
    var found: [(time: Int64, text: String)] = []
    if let created = verified.admitted.first(where: { $0.kind == .estateCreated }) {
      found.append((created.terms.occurredAtEpoch, "the owner set the estate up"))
    }
    if let anchor = status.silenceAnchor {
      let last = verified.newestOwnerEvent.map { " (\($0.plainKind))" } ?? ""
      found.append((anchor, "last sign of the owner\(last)"))
    }
    if let end = silenceEnd {
      found.append(
        (
          end,
          end > status.now
            ? "a key holder may open a claim from here on, if the owner stays silent"
            : "from here on a key holder could open a claim"
        ))
    }
    if let claim = status.claim {
      let void = status.void.map { ", which counts for nothing (\($0.rawValue))" } ?? ""
      found += moments(of: claim.position, at: claim.time, "\(who(claim.claimant)) opened the claim\(void)", "claim")
    }
    if let timeline = status.timeline {
      found.append((timeline.warningEndsAt, "the warning ends"))
      found.append((timeline.opensAt, "the claim is open for taps"))
    }
    for tap in status.validTaps {
      found += moments(of: tap.position, at: tap.time, "\(who(tap.holder)) tapped", "tap of \(who(tap.holder))")
    }
    for tap in status.idleTaps {
      found += moments(
        of: tap.position, at: tap.time, "a tap of \(who(tap.holder)), which does not count: \(tap.reason.words)",
        "tap of \(who(tap.holder))")
    }
    if let release = status.release { found.append((release.releasedAt, "released")) }
    found.append((status.now, "now"))
    return found.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map {
      let mark = $0.element.text == "now" ? ">" : " "
      return "\(mark) \(UTCText.format($0.element.time))  \($0.element.text)"
    }
  }

  /// An entry at its own time, and, where that is another, the moment from which it counts on this computer.
  private func moments(
    of position: LogPosition, at time: Int64, _ text: String, _ what: String
  ) -> [(time: Int64, text: String)] {
    let stated = verified.statedTime(of: position)
    guard isByFirstSight, time != stated else { return [(stated, text)] }
    return [(stated, "\(text) (by the record)"), (time, "this computer first saw the \(what), which counts from here")]
  }

  /// The same as a bar, from the last sign of the owner to now or to the opening.
  var bar: [String] {
    guard let start = status.silenceAnchor else { return [] }
    let ends = [status.now, silenceEnd, status.timeline?.opensAt].compactMap { $0 }
    guard let end = ends.max(), end > start, end - start < 1 << 40 else { return [] }
    let step = Double(end - start) / Double(Self.width - 1)
    func column(_ time: Int64) -> Int {
      min(Self.width - 1, max(0, Int((Double(time - start) / step).rounded())))
    }
    let cells = (0..<Self.width).map { letter(start + Int64(Double($0) * step)) }
    let now = column(status.now)
    return [
      "  [" + String(cells) + "]", "   " + String(repeating: " ", count: now) + "^ now",
      "   . silence   - overdue   w warning   g grace   T taps count",
    ]
  }

  private func letter(_ time: Int64) -> Character {
    if let timeline = status.timeline, time >= timeline.openedAt {
      if time < timeline.warningEndsAt { return "w" }
      return time < timeline.opensAt ? "g" : "T"
    }
    return silenceEnd.map { time <= $0 } ?? true ? "." : "-"
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import SealFormats
import WebAuthnCore

/// An estate, explained to a person: who, the rule, where the countdown stands and when it next changes.
struct EstateExplanation {
  private let capsule: Capsule
  private let verified: CapsuleVerification
  private let context: CapsuleContext
  private let who: PeopleNames
  /// By the times that the record states.
  private let stated: ReleaseStatus?
  /// By this computer's own times.
  private let seen: ReleaseStatus?
  /// What this computer has to do with the estate.
  private let part: HolderPart
  /// This computer sees the estate for the first time, and whether it remembers that.
  private let firstLook: (isFirst: Bool, isKept: Bool)

  /// - Parameters:
  ///   - firstSeen: when this computer first had each event, now included; nil when that is not to be looked at.
  ///   - isFirstMeeting: it had seen nothing of the estate before.
  ///   - isKept: it remembers what it sees.
  ///   - here: the root hashes of whoever a device of this computer speaks for.
  ///   - known: everybody who is known here, and called as they are here.
  init(
    _ capsule: Capsule, _ verified: CapsuleVerification, _ context: CapsuleContext,
    firstSeen: [String: Int64]? = nil, isFirstMeeting: Bool = false, isKept: Bool = true, here: Set<String> = [],
    known: KnownPeople = KnownPeople()
  ) {
    self.capsule = capsule
    self.verified = verified
    self.context = context
    who = PeopleNames(verified, known: known)
    stated = EstateView(entries: verified.entries(), clamped: false).status(at: context.now)
    seen = firstSeen.flatMap {
      EstateView(entries: verified.entries(firstSeen: $0), clamped: true).status(at: context.now)
    }
    part = HolderPart(verified, entries: firstSeen.map { verified.entries(firstSeen: $0) }, here: here, context.now)
    firstLook = (isFirstMeeting, isKept)
  }

  // MARK: For a person

  var lines: [String] {
    var out = ["The estate of \(who(capsule.ownerHash))"]
    if capsule.isSimulated { out.append("It was made with virtual keys, and nobody in it is real (simulated).") }
    out.append("")
    out += people + who.differences.map { "  \($0)" } + [""] + rule + [""] + standing
    out += part.lines(who)
    if let shown = seen ?? stated {
      let timeline = EstateTimeline(shown, verified, who, isByFirstSight: seen != nil)
      out += ["", "Time line (UTC)"] + timeline.moments
      out += [""] + timeline.bar
    }
    let problems = verified.report.checks.filter { $0.outcome == .bad || $0.outcome == .warning }
    if !problems.isEmpty {
      out += ["", "Worth knowing"]
      var shown = VerificationReport()
      for check in problems { shown.add(check.outcome, check.name, check.subject, check.explanation) }
      out += shown.lines.map { "  \($0)" }
    }
    out.append("")
    out.append(
      verified.report.isGood
        ? "Every check is good." : "Some checks FAILED: do not rely on this record. See: sealkey capsule verify")
    return out.map(\.printable)
  }

  private var people: [String] {
    let owner = context.pins[capsule.ownerHash] == nil ? "root key NOT pinned here" : "root key pinned here"
    var out = ["  owner       \(who(capsule.ownerHash)), \(capsule.ownerHash.prefix(16)), \(owner)"]
    let status = seen ?? stated
    for hash in verified.statement?.custodianHashes ?? [] {
      let devices = verified.identities[hash]?.devices.count ?? 0
      var words = ["\(who(hash)), \(hash.prefix(16)), \(devices == 1 ? "1 device" : "\(devices) devices")"]
      let confirmed = verified.admitted.last { $0.kind == .custodyConfirmed && $0.terms.actorHash == hash }
      if let confirmed { words.append("confirmed \(UTCText.date(confirmed.terms.occurredAtEpoch))") }
      if let claim = status?.claim, claim.claimant == hash { words.append("opened the claim") }
      if status?.validTaps.contains(where: { $0.holder == hash }) ?? false { words.append("TAPPED") }
      if part.isHere(hash) { words.append("THIS COMPUTER") }
      out.append("  key holder  " + words.joined(separator: ", "))
    }
    return out
  }

  private var rule: [String] {
    guard let policy = stated?.policy else { return ["There is no rule: the record holds nothing that counts."] }
    let holders = verified.statement?.custodianHashes.count ?? 0
    let objection =
      policy.objectionBehavior == .veto
      ? "An objection ends the claim." : "An objection stops the clock until it is withdrawn."
    return [
      "The rule",
      "  After \(policy.silenceDays) days without a sign of the owner a key holder may open a claim.",
      "  The owner is then warned for \(policy.warningDays) days, and \(policy.graceDays) more days pass.",
      "  After that \(policy.threshold) of \(holders) key holders must tap. \(objection)",
    ]
  }

  private var standing: [String] {
    guard let stated else { return ["Where it stands: nowhere; the record holds nothing that counts."] }
    var out = ["Where it stands at \(UTCText.format(context.now))"]
    if let seen {
      out += describe(seen, "by what this computer has seen")
      if seen.state != stated.state || seen.nextChange != stated.nextChange {
        out += describe(stated, "by the times in the record")
        out.append("  A tap needs both to be open.")
      }
      out += firstSight(seen)
    } else {
      out += describe(stated, "by the times in the record")
    }
    if let departure = stated.departure {
      out.append(
        "  The owner left Seal at \(UTCText.format(departure.at)) and "
          + (departure.keepsEnvelopes ? "kept the envelopes." : "CANCELLED the envelopes."))
    }
    return out
  }

  /// Why this computer's times are not the record's.
  private func firstSight(_ seen: ReleaseStatus) -> [String] {
    let isLater =
      (seen.claim.map { $0.time != verified.statedTime(of: $0.position) } ?? false)
      || seen.validTaps.contains { $0.time != verified.statedTime(of: $0.position) }
    guard firstLook.isFirst || isLater else { return [] }
    var out: [String] = []
    if firstLook.isFirst { out.append("  This computer sees the estate for the first time.") }
    out.append(
      "  Claims and taps count here from when this computer first saw them, whatever date they bear: nobody is to")
    out.append("  be hurried by a record that just turned up.")
    if firstLook.isFirst, !firstLook.isKept {
      out.append("  Nothing of this look is kept, so the next one begins anew.")
    }
    return out
  }

  private func describe(_ status: ReleaseStatus, _ how: String) -> [String] {
    var out = ["  \(status.state.rawValue), \(how): \(Self.sentence(status))"]
    if let next = status.nextChange {
      out.append("  It next changes by itself at \(UTCText.format(next)).")
    } else if status.state != .released {
      out.append("  It does not change by itself: \(actors(status))")
    }
    return out
  }

  /// Who must do what for a state to end that no clock ends.
  private func actors(_ status: ReleaseStatus) -> String {
    let others = "The owner can still stop it, and a key holder can object."
    switch status.state {
    case .overdue: return "a key holder opens a claim in the app, or the owner shows a sign."
    case .claimOpen:
      let tapped = Set(status.validTaps.map(\.holder))
      let left = status.holders.filter { !tapped.contains($0) }.map { who($0) }
      let more = max(1, status.policy.threshold - Int64(status.validTaps.count))
      return "\(more) more of these must tap: \(left.joined(separator: ", ")). \(others)"
    case .authorized:
      let claimant = status.claim.map { who($0.claimant) } ?? "the claimant"
      return "\(claimant) can open the estate in the app now. \(others)"
    case .objected:
      return status.void == nil
        ? "whoever objected must take the objection back in the app, or the owner stops the claim."
        : "this claim is over; a key holder can open a new one in the app."
    case .active, .warning, .grace, .cancelled, .released: return "somebody must act in the app."
    }
  }

  private static func sentence(_ status: ReleaseStatus) -> String {
    switch status.state {
    case .active: "the owner was heard of within the silence."
    case .overdue: "the owner has been silent too long; a key holder may open a claim."
    case .warning: "a claim is open and the owner is being warned."
    case .grace: "the warning is over; the last days pass in which the owner can stop it."
    case .claimOpen:
      "key holders may tap; \(status.validTaps.count) of \(status.policy.threshold) have."
    case .authorized: "enough key holders have tapped; the claimant may open the estate."
    case .objected: "an objection stands."
    case .cancelled: "the owner stopped the claim."
    case .released: "the Estate Key is out, and nothing undoes that."
    }
  }

  // MARK: For a program

  var json: JSONValue {
    .object([
      ("kind", .string("capsule")), ("simulated", .bool(capsule.isSimulated)), ("ok", .bool(verified.report.isGood)),
      ("estateID", .string(verified.estateID)), ("ownerHash", .string(verified.ownerHash)),
      ("ownerName", .string(who(verified.ownerHash))),
      ("ownerPinned", .bool(context.pins[verified.ownerHash] != nil)), ("events", .int(verified.admitted.count)),
      ("recordHeadHex", .hex(verified.recordHead)), ("byStatedTimes", stated.map { Self.json($0) }),
      ("byFirstSight", seen.map { Self.json($0) }), ("firstMeeting", .bool(firstLook.isFirst)),
      (
        "holders",
        .array(
          (verified.statement?.custodianHashes ?? []).map {
            .object([("rootHash", .string($0)), ("name", .string(who($0)))] + part.json($0))
          })
      ),
      ("warnings", .array(verified.report.warnings.map { .string($0.name) })),
      ("failures", .array(verified.report.failures.map { .string($0.name) })),
    ])
  }

  static func json(_ status: ReleaseStatus) -> JSONValue {
    .object([
      ("now", .int(status.now)), ("state", .string(status.state.rawValue)),
      ("lastSignOfOwnerEpoch", status.silenceAnchor.map { .int($0) }),
      ("nextChangeEpoch", status.nextChange.map { .int($0) }),
      ("policy", status.policy.json),
      (
        "claim",
        status.claim.map {
          .object([
            ("id", .string($0.id)), ("claimantHash", .string($0.claimant)), ("epoch", .int($0.epoch)),
            ("openedAtEpoch", .int($0.time)), ("void", status.void.map { .string($0.rawValue) }),
            ("warningEndsAtEpoch", status.timeline.map { .int($0.warningEndsAt) }),
            ("opensAtEpoch", status.timeline.map { .int($0.opensAt) }),
          ])
        }
      ),
      (
        "taps",
        .array(
          status.validTaps.map {
            .object([("holderHash", .string($0.holder)), ("atEpoch", .int($0.time))])
          })
      ),
      (
        "idleTaps",
        .array(
          status.idleTaps.map {
            .object([
              ("holderHash", .string($0.holder)), ("atEpoch", .int($0.time)), ("reason", .string($0.reason.rawValue)),
            ])
          })
      ),
      ("releasedAtEpoch", status.release.map { .int($0.releasedAt) }),
    ])
  }
}

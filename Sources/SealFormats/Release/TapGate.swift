// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why this program does not let a holder tap. In the order in which they are looked for.
public enum TapRefusal: NamedError, Hashable {
  /// The record holds no event, no creation, or no owner's event.
  case noRecord
  /// Nobody has opened a claim. From `claimableFrom` on somebody may; nil when they may already.
  case nobodyHasClaimed(claimableFrom: Int64?)
  /// No claim is current: whoever opened the newest used its ID more than once.
  case noClaim
  /// The identity is not among the newest statement's holders.
  case notAKeyHolder
  /// The owner left and cancelled.
  case ownerCancelledOnLeaving
  /// The claim is not open for taps: on this device it is from `opensAt` on, where that is known, and by the times that
  /// the record states it may be already.
  case notOpen(ReleaseState, opensAt: Int64?, isOpenAsStated: Bool)
  /// This holder's tap counts already.
  case alreadyTapped
  /// The Estate Key is public: a tap would be pointless.
  case keyAlreadyPublic
  /// The claim's ID stands in more than one claim event.
  case claimIDUsedTwice
  /// By the times that the events state, without first sight, the claim is not open.
  case notOpenByStatedTimes(ReleaseState?, opensAt: Int64?)
  /// The claim names another epoch than the newest statement: it can never be released.
  case claimOfAnotherEpoch(claim: UInt64, newest: UInt64)
  /// The newest statement is not the one with the highest number.
  case epochNotHighest(newest: UInt64, highest: UInt64)
  /// The claimant is no longer a key holder.
  case claimantNotAKeyHolder
  /// The rule is outside what Seal's owner app keeps to.
  case policyOutOfRange(String)

  public var name: String {
    switch self {
    case .noRecord: "noRecord"
    case .noClaim, .nobodyHasClaimed: "noClaim"
    case .notAKeyHolder: "notAKeyHolder"
    case .ownerCancelledOnLeaving: "ownerCancelledOnLeaving"
    case .notOpen: "notOpen"
    case .alreadyTapped: "alreadyTapped"
    case .keyAlreadyPublic: "keyAlreadyPublic"
    case .claimIDUsedTwice: "claimIDUsedTwice"
    case .notOpenByStatedTimes: "notOpenByStatedTimes"
    case .claimOfAnotherEpoch: "claimOfAnotherEpoch"
    case .epochNotHighest: "epochNotHighest"
    case .claimantNotAKeyHolder: "claimantNotAKeyHolder"
    case .policyOutOfRange: "policyOutOfRange"
    }
  }

  public var message: String {
    switch self {
    case .noRecord: "The record does not begin with the estate's creation by its owner."
    case .nobodyHasClaimed: "Nobody has opened a claim yet, so there is nothing to tap for."
    case .noClaim: "Whoever opened the newest claim used its ID more than once, so there is no claim to tap for."
    case .notAKeyHolder: "This identity is not a key holder of the estate."
    case .ownerCancelledOnLeaving: "The owner left Seal and cancelled the envelopes."
    case .notOpen(let state, let opensAt, let isOpenAsStated):
      "The claim is not open for taps on this computer: the estate is in the state '\(state.rawValue)'."
        + Self.from(opensAt, state) + (isOpenAsStated ? " By the times that the record states it is open already." : "")
    case .alreadyTapped: "This key holder's tap for the claim counts already."
    case .keyAlreadyPublic: "The Estate Key is public already, so a tap would change nothing."
    case .claimIDUsedTwice: "The claim's ID was used for more than one claim, which an honest app never does."
    case .notOpenByStatedTimes(let state, let opensAt):
      "By the times that the record itself states, the claim is not open"
        + (state.map { ": the state would be '\($0.rawValue)'." } ?? ".") + Self.from(opensAt, state)
    case .claimOfAnotherEpoch(let claim, let newest):
      "The claim names epoch \(claim) and the owner's newest is \(newest), so it can never be released."
    case .epochNotHighest(let newest, let highest):
      "The owner's newest epoch statement is number \(newest), and there is a number \(highest)."
    case .claimantNotAKeyHolder: "Whoever opened the claim is no longer a key holder."
    case .policyOutOfRange(let what): "The owner's rule is outside what Seal's app allows: \(what)."
    }
  }

  private static func from(_ opensAt: Int64?, _ state: ReleaseState?) -> String {
    guard let opensAt else { return "" }
    let time = UTCText.format(opensAt)
    return state == .objected
      ? " If the objection were withdrawn now, it would be open from \(time) on."
      : " It is open from \(time) on."
  }

  public var next: String {
    switch self {
    case .nobodyHasClaimed(let from?):
      "There is nothing to do: a key holder can open a claim in the app from \(UTCText.format(from)) on, if the owner "
        + "stays silent."
    case .nobodyHasClaimed(nil): "A key holder can open a claim in the app. Look again when somebody has."
    case .notOpen(_, _, isOpenAsStated: true):
      "A claim counts from when this computer first saw it. Wait until it is open here, and ask the other key holders: "
        + "whoever has known the claim for longer may tap already."
    case .notOpen(.warning, _, _), .notOpen(.grace, _, _), .notOpenByStatedTimes(.warning?, _),
      .notOpenByStatedTimes(.grace?, _):
      "Wait until the claim is open; a tap before that is wasted."
    case .notOpen(.objected, opensAt: .some, _): "Wait until the objection is withdrawn."
    case .notOpen(.released, _, _): "There is nothing to do."
    case .notOpen(_, opensAt: nil, _):
      "This claim never opens. If the owner is silent for long enough, a key holder can open a new one in the app."
    case .keyAlreadyPublic, .alreadyTapped: "There is nothing to do."
    case .claimOfAnotherEpoch, .claimIDUsedTwice, .claimantNotAKeyHolder, .noClaim:
      "Ask a key holder to open a new claim in the app."
    default: "Get the newest record from the other key holders, and look at it with 'capsule show'."
    }
  }

  public var kind: FaultKind { .refused }
}

/// Whether a holder may tap, by this program's stricter rule.
///
/// A claim must be open both by clamped and by stated times. The clamp moves claims later and not check-ins or
/// objections, so a device that hears late could otherwise revive a claim that the owner stopped.
public struct TapGate: Sendable {
  /// The record by this device's times.
  public let clamped: EstateView
  /// The record by the times that it states.
  public let stated: EstateView

  /// A gate over admitted entries.
  public init(entries: [RecordEntry], fallback: ReleasePolicy = ReleasePolicy()) {
    clamped = EstateView(entries: entries, clamped: true, fallback: fallback)
    stated = EstateView(entries: entries, clamped: false, fallback: fallback)
  }

  /// Every reason against a tap by `holder` at `now`; empty when it may be made.
  public func refusals(for holder: String, at now: Int64) -> [TapRefusal] {
    guard let status = clamped.status(at: now) else { return [.noRecord] }
    guard let claim = status.claim else {
      guard clamped.claims.isEmpty else { return [.noClaim] }
      return [.nobodyHasClaimed(claimableFrom: status.state == .overdue ? nil : status.nextChange)]
    }
    guard status.holders.contains(holder) else { return [.notAKeyHolder] }
    var out: [TapRefusal] = []
    if status.isCancelledOnLeaving { out.append(.ownerCancelledOnLeaving) }
    let other = stated.status(at: now)
    let isSame = other?.claim?.position == claim.position
    let isOpenAsStated = isSame && (other?.state == .claimOpen || other?.state == .authorized)
    if status.state != .claimOpen, status.state != .authorized {
      out.append(.notOpen(status.state, opensAt: status.timeline?.opensAt, isOpenAsStated: isOpenAsStated))
    }
    if status.validTaps.contains(where: { $0.holder == holder }) { out.append(.alreadyTapped) }
    if let published = status.keyPublishedAt, published <= now { out.append(.keyAlreadyPublic) }
    if clamped.claims.filter({ $0.id == claim.id }).count > 1 { out.append(.claimIDUsedTwice) }
    if !isOpenAsStated {
      out.append(
        .notOpenByStatedTimes(isSame ? other?.state : nil, opensAt: isSame ? other?.timeline?.opensAt : nil))
    }
    return out + recordRefusals(claim, status)
  }

  /// What is wrong with the record itself.
  private func recordRefusals(_ claim: Claim, _ status: ReleaseStatus) -> [TapRefusal] {
    var out: [TapRefusal] = []
    let hasCreation = clamped.entries.contains {
      if case .estateCreated(.some, _) = $0.fact { true } else { false }
    }
    if !hasCreation { out.append(.noRecord) }
    if let newest = clamped.newestStatement {
      if claim.epoch != newest.epoch {
        out.append(.claimOfAnotherEpoch(claim: claim.epoch, newest: newest.epoch))
      }
      let highest = clamped.statements.map(\.statement.epoch).max() ?? newest.epoch
      if highest != newest.epoch { out.append(.epochNotHighest(newest: newest.epoch, highest: highest)) }
    }
    if !status.holders.contains(claim.claimant) { out.append(.claimantNotAKeyHolder) }
    out += status.policy.problems(holderCount: status.holders.count).map { .policyOutOfRange($0) }
    return out
  }
}

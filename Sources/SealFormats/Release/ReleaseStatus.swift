// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// Where an estate stands.
public enum ReleaseState: String, Sendable, Hashable {
  /// The owner was heard of within the silence.
  case active
  /// The owner was not: a holder may open a claim.
  case overdue
  /// A claim is open and the owner is being warned.
  case warning
  /// The warning is over.
  case grace
  /// Holders may tap.
  case claimOpen
  /// Enough holders have tapped: the claimant may combine.
  case authorized
  /// An objection stands.
  case objected
  /// The owner stopped the claim.
  case cancelled
  /// The Estate Key is out, and the release was earned. Nothing undoes it.
  case released
}

/// Why a claim counts for nothing.
public enum ClaimVoid: String, Sendable, Hashable {
  /// Any entry of the owner's, of the claim's second or later.
  case ownerEventAtOrAfterClaim
  /// A cancellation of the claim's second or later.
  case cancelledAtOrAfterClaim
  /// An objection under the veto rule, withdrawn or not.
  case vetoed
  /// Opened before the silence was over; it never matures.
  case openedTooEarly
}

/// A claim and its clock.
public struct ClaimTimeline: Sendable, Hashable {
  /// When it was opened, on this device.
  public let openedAt: Int64
  /// When the warning ends, with the pauses so far.
  public let warningEndsAt: Int64
  /// From when taps count, with the pauses so far.
  public let opensAt: Int64
  /// Seconds it has stood still. Overlapping objections are counted twice, as in Seal.
  public let paused: Int64
}

/// An open or dead claim.
public struct Claim: Sendable, Hashable {
  /// The claim's ID.
  public let id: String
  /// Who opened it.
  public let claimant: String
  /// The epoch that it names.
  public let epoch: UInt64
  /// Its time on this device.
  public let time: Int64
  /// Its place in the log.
  public let position: LogPosition
}

/// A holder's tap that counts.
public struct ValidTap: Sendable, Hashable {
  /// Whose.
  public let holder: String
  /// When, on this device.
  public let time: Int64
  /// Its place in the log: which of the holder's taps it is.
  public let position: LogPosition
}

/// A holder's tap for the claim that does not count.
public struct IdleTap: Sendable, Hashable {
  /// Why.
  public enum Reason: String, Sendable, Hashable {
    /// It is dated later than now.
    case inTheFuture
    /// The claim was not open yet.
    case tooEarly
    /// An objection stood.
    case duringObjection
  }

  /// Whose.
  public let holder: String
  /// When, on this device.
  public let time: Int64
  /// Its place in the log.
  public let position: LogPosition
  /// Why it does not count.
  public let reason: Reason
}

/// A release that was earned.
public struct HonouredRelease: Sendable, Hashable {
  /// The event's ID: recipients open with exactly this one.
  public let eventID: String
  /// When it counts from; it may lie ahead.
  public let releasedAt: Int64
}

/// What the owner said on leaving.
public struct Departure: Sendable, Hashable {
  /// When, as stated.
  public let at: Int64
  /// Whether the envelopes may still be released.
  public let keepsEnvelopes: Bool
}

/// Everything that can be said of an estate at one moment, on one device.
public struct ReleaseStatus: Sendable, Hashable {
  /// The moment, in seconds since 1970.
  public let now: Int64
  /// Where the estate stands.
  public let state: ReleaseState
  /// The last sign of the owner; nil for none at all.
  public let silenceAnchor: Int64?
  /// The rule in force.
  public let policy: ReleasePolicy
  /// The newest claim.
  public let claim: Claim?
  /// Why it counts for nothing.
  public let void: ClaimVoid?
  /// Its clock, when it counts.
  public let timeline: ClaimTimeline?
  /// The taps that count, oldest first.
  public let validTaps: [ValidTap]
  /// The taps for the claim that do not count, of whoever has none that does, oldest first.
  public let idleTaps: [IdleTap]
  /// The release that counts, now or later.
  public let release: HonouredRelease?
  /// When the Estate Key became public, earned or not.
  public let keyPublishedAt: Int64?
  /// What the owner said on leaving, unless a later heartbeat took it back.
  public let departure: Departure?
  /// When the state next changes by itself.
  public let nextChange: Int64?
  /// The holders of the newest epoch statement.
  public let holders: [String]

  /// Whether the owner left and cancelled: honest programs then refuse to claim, tap and combine.
  public var isCancelledOnLeaving: Bool { departure.map { !$0.keepsEnvelopes } ?? false }

  /// Whether a holder may open a claim.
  public var holderCanClaim: Bool {
    guard !isCancelledOnLeaving else { return false }
    if state == .overdue { return true }
    guard state == .objected, void == .vetoed else { return false }
    guard let silenceAnchor else { return true }
    return saturating(now, minus: silenceAnchor) > seconds(days: policy.silenceDays)
  }

  /// Whether the owner can still stop it.
  public var ownerCanCancel: Bool {
    switch state {
    case .warning, .grace, .claimOpen, .authorized, .objected: true
    case .active, .overdue, .cancelled, .released: false
    }
  }

  /// Whether the claimant may combine shares.
  public var claimantCanRelease: Bool { state == .authorized && !isCancelledOnLeaving }

  /// Seal's own gate for a tap, without this program's additions.
  public func mayTap(_ holder: String) -> Bool {
    holders.contains(holder) && claim != nil && !isCancelledOnLeaving
      && (state == .claimOpen || state == .authorized) && !validTaps.contains { $0.holder == holder }
  }
}

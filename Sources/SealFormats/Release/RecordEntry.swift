// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// One admitted event, reduced to what the release rules look at, with its times on one device.
public struct RecordEntry: Sendable, Hashable {
  /// What the event says. A payload that does not read leaves the event, without what it would have said.
  public enum Fact: Sendable, Hashable {
    /// The owner set the estate up.
    case estateCreated(policy: ReleasePolicy?, createdAt: Int64?)
    /// The owner changed the rule.
    case policyChanged(ReleasePolicy?)
    /// The owner sealed.
    case epochPublished(EpochPublishedPayload?)
    /// The owner is here.
    case heartbeat
    /// The owner changed the vault.
    case vaultUpdated
    /// The owner stops any claim up to now.
    case cancellation
    /// The owner left; nil when the body does not read, which counts as cancelling.
    case ownerDeparted(keepEnvelopes: Bool?)
    /// A holder opened a claim.
    case claim(id: String, epoch: UInt64)
    /// A holder objects.
    case objection(claimID: String)
    /// A holder takes an objection back.
    case withdrawal(claimID: String)
    /// A holder tapped.
    case tap(claimID: String, epoch: UInt64)
    /// A claimant published a key with this SHA-256.
    case released(claimID: String, epoch: UInt64, keyHash: [UInt8])
    /// Nothing that the release rules look at.
    case nothing

    var isOwners: Bool {
      switch self {
      case .estateCreated, .policyChanged, .epochPublished, .heartbeat, .vaultUpdated, .cancellation, .ownerDeparted:
        true
      case .claim, .objection, .withdrawal, .tap, .released, .nothing: false
      }
    }

    var isClampedToFirstSight: Bool {
      switch self {
      case .claim, .tap, .released: true
      default: false
      }
    }
  }

  /// Its place in the log.
  public let position: LogPosition
  /// Who wrote it.
  public let actor: String
  /// What it says.
  public let fact: Fact
  /// genTime of a verified token, else `occurredAtEpoch`.
  public let statedTime: Int64
  /// When this device first had it; nil for no clamp.
  public let firstSeen: Int64?

  /// An entry from its parts.
  public init(position: LogPosition, actor: String, fact: Fact, tokenTime: Int64? = nil, firstSeen: Int64? = nil) {
    self.position = position
    self.actor = actor
    self.fact = fact
    statedTime = tokenTime ?? position.occurredAtEpoch
    self.firstSeen = firstSeen
  }

  /// An entry from an admitted event.
  ///
  /// - Parameters:
  ///   - tokenTime: genTime of the event's token, when the token was verified.
  ///   - firstSeen: when this device first had the event.
  public init(_ event: EstateEvent, tokenTime: Int64? = nil, firstSeen: Int64? = nil) {
    self.init(
      position: event.logPosition, actor: event.terms.actorHash, fact: Fact(event), tokenTime: tokenTime,
      firstSeen: firstSeen)
  }

  /// The time on this device: claims, taps and releases are never older than the moment they were first seen.
  public func time(clamped: Bool) -> Int64 {
    guard clamped, fact.isClampedToFirstSight, let firstSeen else { return statedTime }
    return max(statedTime, firstSeen)
  }
}

extension RecordEntry.Fact {
  init(_ event: EstateEvent) {
    let body = event.terms.payload
    switch event.kind {
    case .estateCreated:
      let read = try? EstateCreatedPayload(parsing: body)
      self = .estateCreated(policy: read?.policy, createdAt: read?.createdAtEpoch)
    case .policyChanged: self = .policyChanged((try? PolicyChangedPayload(parsing: body))?.policy)
    case .epochPublished: self = .epochPublished(try? EpochPublishedPayload(parsing: body))
    case .heartbeat: self = .heartbeat
    case .vaultUpdated: self = .vaultUpdated
    case .cancellation: self = .cancellation
    case .ownerDeparted:
      self = .ownerDeparted(keepEnvelopes: (try? OwnerDepartedPayload(parsing: body))?.keepEnvelopes)
    case .releaseClaimed:
      let read = try? ReleaseClaimedPayload(parsing: body)
      self = read.map { .claim(id: $0.claimID, epoch: $0.epoch) } ?? .nothing
    case .objection:
      let read = try? ObjectionPayload(parsing: body)
      // An objection whose own body says that it is withdrawn is no objection.
      self = read.flatMap { $0.withdrawn ? nil : .objection(claimID: $0.claimID) } ?? .nothing
    case .objectionWithdrawn:
      self = (try? ObjectionPayload(parsing: body)).map { .withdrawal(claimID: $0.claimID) } ?? .nothing
    case .authorization:
      let read = try? AuthorizationPayload(parsing: body)
      self = read.map { .tap(claimID: $0.claimID, epoch: $0.epoch) } ?? .nothing
    case .released:
      let read = try? ReleasedPayload(parsing: body)
      self =
        read.map { .released(claimID: $0.claimID, epoch: $0.epoch, keyHash: SHA256.hash($0.estateKey)) } ?? .nothing
    case .silenceObserved, .custodyConfirmed, nil: self = .nothing
    }
  }
}

/// Sums of times that stop at the ends of the clock: policies and times are signed, and not bounded.
func saturating(_ a: Int64, plus b: Int64) -> Int64 {
  let (sum, overflow) = a.addingReportingOverflow(b)
  return overflow ? (b > 0 ? .max : .min) : sum
}

func saturating(_ a: Int64, minus b: Int64) -> Int64 {
  let (difference, overflow) = a.subtractingReportingOverflow(b)
  return overflow ? (b < 0 ? .max : .min) : difference
}

/// Days of exactly 86,400 seconds.
func seconds(days: Int64) -> Int64 {
  let (product, overflow) = days.multipliedReportingOverflow(by: 86_400)
  return overflow ? (days > 0 ? .max : .min) : product
}

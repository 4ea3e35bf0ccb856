// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// What an estate event says, and who may say it.
public enum EventKind: String, Sendable, Hashable, CaseIterable {
  /// The owner sets the estate up, with its policy.
  case estateCreated
  /// The owner seals: a new Estate Key, shared out anew.
  case epochPublished
  /// The owner changes the policy.
  case policyChanged
  /// The owner changes what is in the vault.
  case vaultUpdated
  /// The owner says: I am here.
  case heartbeat
  /// The owner stops a claim.
  case cancellation
  /// The owner leaves Seal, and says what becomes of the envelopes.
  case ownerDeparted
  /// A holder saw that the owner is overdue.
  case silenceObserved
  /// A holder opens a claim.
  case releaseClaimed
  /// A holder objects to a claim.
  case objection
  /// A holder takes an objection back.
  case objectionWithdrawn
  /// A holder taps for a claim.
  case authorization
  /// A claimant publishes the Estate Key.
  case released
  /// A holder says: I still have my key.
  case custodyConfirmed

  /// Whether the owner writes it; a key holder writes the others, and nobody writes both.
  public var isOwnerKind: Bool {
    switch self {
    case .estateCreated, .epochPublished, .policyChanged, .vaultUpdated, .heartbeat, .cancellation, .ownerDeparted:
      true
    case .silenceObserved, .releaseClaimed, .objection, .objectionWithdrawn, .authorization, .released,
      .custodyConfirmed:
      false
    }
  }

  /// Whether Seal's app has it stamped. A token on any other was put there by somebody else, and could move an objection
  /// or the beginning of the estate in time (RELEASE.md 5).
  public var isStamped: Bool {
    switch self {
    case .heartbeat, .cancellation, .releaseClaimed, .authorization, .released, .epochPublished, .ownerDeparted: true
    case .objection, .objectionWithdrawn, .silenceObserved, .custodyConfirmed, .policyChanged, .vaultUpdated,
      .estateCreated:
      false
    }
  }

  /// Whether its time is the later of what it states and when this device first had it (RELEASE.md 1.2).
  public var isClampedToFirstSight: Bool {
    self == .releaseClaimed || self == .authorization || self == .released
  }
}

extension EventKind {
  /// What it is called when a person reads of it.
  public var plainName: String {
    switch self {
    case .estateCreated: "estate set up"
    case .epochPublished: "sealing"
    case .policyChanged: "change of the rule"
    case .vaultUpdated: "change of the envelopes"
    case .heartbeat: "check-in"
    case .cancellation: "cancellation"
    case .ownerDeparted: "departure"
    case .silenceObserved: "silence noticed"
    case .releaseClaimed: "claim"
    case .objection: "objection"
    case .objectionWithdrawn: "objection withdrawn"
    case .authorization: "tap"
    case .released: "release"
    case .custodyConfirmed: "key confirmation"
    }
  }
}

extension EstateEvent {
  /// What the entry is called when a person reads of it; for a kind that nobody knows, the kind as it stands.
  public var plainKind: String { kind?.plainName ?? terms.kind }
}

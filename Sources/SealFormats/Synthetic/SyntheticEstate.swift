// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// A made-up estate, written event by event with real signatures, as far as one likes.
///
/// Dates are made up too; nothing else is. Every share opens, the released key is really combined from the shares that
/// the taps brought, and the recipient's key table and letter open with it.
public final class SyntheticEstate {
  /// How far the story goes.
  public enum Stage: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// The owner sealed, and checks in.
    case sealed
    /// The owner has been silent too long, and a holder saw it.
    case overdue
    /// A holder opened a claim.
    case claimed
    /// Warning and grace are over: taps count.
    case open
    /// Enough holders tapped.
    case authorized
    /// The claimant published the Estate Key.
    case released

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  private static let day: Int64 = 86_400

  /// The record so far.
  public private(set) var capsule: Capsule
  /// The claim's ID, once there is one.
  public private(set) var claimID = ""
  /// The moment at which the last written stage has just been reached, in seconds since 1970.
  public private(set) var moment: Int64

  private let owner: SyntheticPerson
  private let holders: [SyntheticPerson]
  private let recipients: [SyntheticPerson]
  private let policy: ReleasePolicy
  private let estateKey = SecretBytes.random(count: 32)
  private var head: [UInt8] = []
  private var statement: EpochPublishedPayload?
  private var material: EpochMaterial?

  /// An estate of these people.
  ///
  /// - Parameters:
  ///   - start: when the owner set it up, in seconds since 1970.
  ///   - isSimulated: marks the capsule; true unless real keys signed everything.
  public init(
    owner: SyntheticPerson, holders: [SyntheticPerson], recipients: [SyntheticPerson], start: Int64,
    policy: ReleasePolicy = ReleasePolicy(threshold: 2), isSimulated: Bool = true
  ) {
    self.owner = owner
    self.holders = holders
    self.recipients = recipients
    self.policy = policy
    moment = start
    capsule = Capsule(
      estateID: UUIDText.random(), ownerHash: owner.hash, exportedBy: owner.hash, exportedAtEpoch: start)
    capsule.isSimulated = isSimulated
    for person in [owner] + holders + recipients {
      capsule.identities[person.hash] = CapsuleIdentity(person.record)
    }
  }

  /// How long the story takes up to a stage, in seconds: subtract it from now to choose a start.
  public static func duration(of policy: ReleasePolicy, upTo stage: Stage = .released) -> Int64 {
    var sum = 21 * day + 2 * 60 + 3600
    if stage >= .overdue { sum += policy.silenceDays * day + 3600 }
    if stage >= .claimed { sum += day }
    if stage >= .open { sum += (policy.warningDays + policy.graceDays) * day }
    if stage >= .authorized { sum += policy.threshold * day / 2 }
    if stage >= .released { sum += day }
    return sum
  }

  /// Writes everything up to a stage. The order of holders matters: the second opens the claim, the others tap first.
  public func write(upTo stage: Stage) async throws {
    try await seal()
    if stage >= .overdue { try observeSilence() }
    if stage >= .claimed { try openClaim() }
    if stage >= .open { moment += (policy.warningDays + policy.graceDays) * Self.day }
    if stage >= .authorized {
      for holder in tappers.prefix(Int(policy.threshold)) {
        moment += Self.day / 2
        try await tap(holder)
      }
    }
    if stage >= .released { try release() }
    capsule.exportedAtEpoch = moment
    capsule.exportedBy = stage >= .claimed ? claimant.hash : owner.hash
    capsule.stateAtExport = state(stage)
  }

  private func state(_ stage: Stage) -> String {
    switch stage {
    case .sealed: ReleaseState.active.rawValue
    case .overdue: ReleaseState.overdue.rawValue
    case .claimed: ReleaseState.warning.rawValue
    case .open: ReleaseState.claimOpen.rawValue
    case .authorized: ReleaseState.authorized.rawValue
    case .released: ReleaseState.released.rawValue
    }
  }

  private var claimant: SyntheticPerson { holders.count > 1 ? holders[1] : holders[0] }
  private var tappers: [SyntheticPerson] { holders.filter { $0.hash != claimant.hash } + [claimant] }

  @discardableResult
  private func append(_ kind: EventKind, by person: SyntheticPerson, _ payload: [UInt8]) throws -> EstateEvent {
    let terms = EventTerms(
      id: UUIDText.random(), estateID: capsule.estateID, kind: kind.rawValue, actorHash: person.hash,
      actorDevicePublicKey: person.halves.devicePublicKey, occurredAtEpoch: moment, previousDigest: head,
      payload: payload)
    let event = try terms.signed { try person.halves.signature(for: $0) }
    capsule.entries.append(Capsule.Entry(event))
    head = event.digest
    return event
  }

  // MARK: The owner

  private func seal() async throws {
    try append(
      .estateCreated, by: owner, EstateCreatedPayload(policy: policy, createdAtEpoch: moment).encoded())
    moment += 60
    let (material, statement) = try epoch()
    let blob = material.encoded()
    capsule.epochBlobs[String(material.epoch)] = blob
    self.material = material
    self.statement = statement
    try append(.epochPublished, by: owner, statement.encoded())
    moment += 60
    let letters = try SyntheticLetters(
      estateID: capsule.estateID, epoch: material.epoch, estateKey: estateKey, owner: owner, recipients: recipients,
      writtenAt: moment)
    capsule.tableBlobs = letters.tables
    capsule.contentBlobs = letters.blobs
    try append(.vaultUpdated, by: owner, letters.statement.encoded())
    for week in 1...3 {
      moment += 7 * Self.day
      try append(.heartbeat, by: owner, [])
      if week == 2, let holder = holders.first { try await confirm(holder) }
    }
  }

  private func epoch() throws -> (EpochMaterial, EpochPublishedPayload) {
    let estateID = capsule.estateID
    let shares = try ShamirSharing.split(estateKey, threshold: Int(policy.threshold), count: holders.count)
    var slots: [EpochMaterial.HolderShare] = []
    for (position, holder) in holders.enumerated() {
      let index = UInt64(position) + 1
      let envelope = try shares.withShare(at: position) { (share) throws(WrapError) in
        try Wrap.seal(
          share.bytes, to: holder.halves.bundle.publicKeys,
          authenticating: SealAAD.share(estateID: estateID, epoch: 1, index: index))
      }
      slots.append(
        .init(
          custodianHash: holder.hash, shareIndex: index, envelopes: [envelope],
          commitment: shares.commitments[position]))
    }
    let ownerWrap = try Wrap.seal(
      estateKey, to: owner.halves.bundle.publicKeys,
      authenticating: SealAAD.estate(estateID: estateID, epoch: 1, purpose: "estatekey.owner"))
    let material = EpochMaterial(
      estateID: estateID, epoch: 1, threshold: policy.threshold, ownerWraps: [ownerWrap], custodianShares: slots,
      estateKeyCommitment: SHA256.hash(estateKey))
    let statement = EpochPublishedPayload(
      epoch: 1, threshold: policy.threshold, custodianHashes: holders.map(\.hash),
      custodianPublicKeys: holders.map(\.identity.publicKey), shareCommitments: shares.commitments,
      estateKeyCommitment: material.estateKeyCommitment, materialDigest: SHA256.hash(material.encoded()))
    return (material, statement)
  }

  // MARK: The holders

  private func confirm(_ holder: SyntheticPerson) async throws {
    moment += 3600
    let statement = Statement.custodyConfirm(estateID: capsule.estateID, epoch: 1, recordHeadDigest: head)
    let payload = CustodyConfirmedPayload(epoch: 1, recordHeadDigest: head, assertion: try await holder.tap(statement))
    try append(.custodyConfirmed, by: holder, payload.encoded())
  }

  private var lastHeartbeat: EstateEvent? { capsule.events.last { $0.kind == .heartbeat } }

  private func observeSilence() throws {
    moment += policy.silenceDays * Self.day + 3600
    let payload = SilenceObservedPayload(
      lastHeartbeatDigest: lastHeartbeat?.digest, lastHeartbeatAtEpoch: lastHeartbeat?.terms.occurredAtEpoch)
    try append(.silenceObserved, by: claimant, payload.encoded())
  }

  private func openClaim() throws {
    moment += Self.day
    claimID = UUIDText.random()
    let payload = ReleaseClaimedPayload(
      claimID: claimID, epoch: 1, lastHeartbeatAtEpoch: lastHeartbeat?.terms.occurredAtEpoch,
      reason: "No word for a long time.")
    try append(.releaseClaimed, by: claimant, payload.encoded())
  }

  /// One holder's tap, with the share wrapped to the claimant's devices.
  public func tap(_ holder: SyntheticPerson) async throws {
    guard let material else { return }
    let estateID = capsule.estateID
    let share = try material.openShare(of: holder.hash, with: holder.halves.bundle)
    let verified = try VerifiedIdentity(record: claimant.record)
    let wrapped = try share.wrapped(for: verified, estateID: estateID, epoch: material.epoch, claimID: claimID)
    let statement = Statement.releaseAuthorize(
      estateID: estateID, epoch: material.epoch, claimID: claimID, recordHeadDigest: head)
    let payload = AuthorizationPayload(
      claimID: claimID, epoch: material.epoch, recordHeadDigest: head, assertion: try await holder.tap(statement),
      shareForClaimant: wrapped.envelopes)
    try append(.authorization, by: holder, payload.encoded())
  }

  /// The claimant opens the shares that the taps brought, adds the claimant's own, and publishes the key.
  private func release() throws {
    guard let material, let statement else { return }
    moment += Self.day
    let combined = try ReleaseCombiner(estateID: capsule.estateID, statement: statement, material: material).combine(
      claimID: claimID, taps: capsule.events, claimant: claimant.hash, with: claimant.halves.bundle)
    let payload = ReleasedPayload(
      claimID: claimID, epoch: material.epoch, shareIndexes: combined.indexes, estateKey: combined.key.exposed())
    try append(.released, by: claimant, payload.encoded())
  }
}

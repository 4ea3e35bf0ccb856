// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// What a key holder does with a record: tap for a claim, or confirm that the key is still there. Everything that speaks
/// against it is found before the touch; then the key is touched, and everything is looked at once more.
public final class HolderAct: Sendable {
  /// Which act.
  public enum Kind: Sendable, Hashable {
    /// A tap that counts towards releasing the estate.
    case tap(Claim)
    /// The yearly word that the key is still there. It never counts towards a release.
    case confirm
  }

  /// Which act.
  public let kind: Kind
  /// The record that it is about.
  public let reading: EstateReading
  /// The key holder.
  public let holder: DirectoryRecord
  /// The owner's newest statement.
  public let statement: EpochPublishedPayload
  /// The record's head: what the touch signs.
  public let head: [UInt8]
  /// The key holder's share for the claimant's devices.
  public let envelopes: [WrapEnvelope]
  /// What became of each of the claimant's devices.
  public let outcomes: [Wrap.Outcome]
  let device: PrivateHalves
  private let claimID: String?
  let usesRecordTimes: Bool
  private let acceptsClock: Bool

  /// One key holder is enough, so every share is the Estate Key itself.
  public var isRuleOfOne: Bool { statement.threshold == 1 }
  /// The owner's last word that is known here: anything later is invisible.
  public var lastSignOfOwner: EstateEvent? { reading.verification.newestOwnerEvent }
  /// When it was, by the time that it states, in seconds since 1970.
  public var lastSignTime: Int64? { lastSignOfOwner.map { reading.verification.statedTime(of: $0.logPosition) } }

  /// Prepares a tap: opens this device's share, checks it, and wraps it for the claimant.
  ///
  /// - Parameters:
  ///   - claimID: the claim that the person means; nil for the current one.
  ///   - usesRecordTimes: take a claim that carries a trusted timestamp at that time, although this computer saw it
  ///     later.
  ///   - acceptsClock: a person has made sure that this computer's clock is right, although the record speaks against it.
  /// - Throws: ``HolderActError``; ``ShareError``: `noShare` and its kin; ``WrapError/noRecipients``.
  public convenience init(
    tapping reading: EstateReading, as holder: DirectoryRecord, device: consuming PrivateHalves, claimID: String? = nil,
    usesRecordTimes: Bool = false, acceptsClock: Bool = false
  ) throws {
    let statement = try Self.check(reading, holder, device.devicePublicKey)
    if !acceptsClock { try Self.checkClock(reading) }
    let claim = try Self.openClaim(reading, holder.rootHash, claimID, usesRecordTimes, at: reading.context.now)
    guard let material = reading.verification.material else { throw HolderActError.materialMissing }
    let share = try material.openShare(of: holder.rootHash, with: device.bundle)
    let claimant = try Self.claimant(claim.claimant, reading)
    let wrapped = try share.wrapped(
      for: claimant, estateID: reading.capsule.estateID, epoch: statement.epoch, claimID: claim.id)
    self.init(
      .tap(claim), reading, holder, statement, device, envelopes: wrapped.envelopes, outcomes: wrapped.outcomes,
      claimID: claimID, usesRecordTimes: usesRecordTimes, acceptsClock: acceptsClock)
  }

  /// Prepares a confirmation. It is dated like a tap: one from the future would say for years that the key is there.
  ///
  /// - Parameter acceptsClock: as for a tap.
  /// - Throws: ``HolderActError``.
  public convenience init(
    confirming reading: EstateReading, as holder: DirectoryRecord, device: consuming PrivateHalves,
    acceptsClock: Bool = false
  ) throws {
    let statement = try Self.check(reading, holder, device.devicePublicKey)
    if !acceptsClock { try Self.checkClock(reading) }
    self.init(
      .confirm, reading, holder, statement, device, envelopes: [], outcomes: [], claimID: nil, usesRecordTimes: false,
      acceptsClock: acceptsClock)
  }

  private init(
    _ kind: Kind, _ reading: EstateReading, _ holder: DirectoryRecord, _ statement: EpochPublishedPayload,
    _ device: consuming PrivateHalves, envelopes: [WrapEnvelope], outcomes: [Wrap.Outcome], claimID: String?,
    usesRecordTimes: Bool, acceptsClock: Bool
  ) {
    self.kind = kind
    self.reading = reading
    self.holder = holder
    self.statement = statement
    self.envelopes = envelopes
    self.outcomes = outcomes
    self.claimID = claimID
    self.usesRecordTimes = usesRecordTimes
    self.acceptsClock = acceptsClock
    head = reading.verification.recordHead
    self.device = device
  }

  // MARK: The touch

  /// What the touch signs.
  public var toBeSigned: Statement {
    let estateID = reading.capsule.estateID
    switch kind {
    case .tap(let claim):
      return .releaseAuthorize(
        estateID: estateID, epoch: statement.epoch, claimID: claim.id, recordHeadDigest: head)
    case .confirm: return .custodyConfirm(estateID: estateID, epoch: statement.epoch, recordHeadDigest: head)
    }
  }

  /// One touch, by the key holder's own root.
  public func touch(_ ceremony: Ceremony) async throws -> Ceremony.Signed {
    try await ceremony.sign(toBeSigned, as: holder)
  }

  /// The entry that a touch has made.
  public struct Made: Sendable {
    /// The signed entry.
    public let event: EstateEvent
    /// Why the store could not keep it; it is good all the same.
    public let storeProblem: (any NamedError)?
    /// Why the capsule could not be read once more, so that it was taken as it was before the touch.
    public let rereadProblem: (any NamedError)?
  }

  /// Looks at everything once more, writes the entry, and keeps it in the store: first of all, because a tap cannot be
  /// made again. For the same reason a store or a file that fails only now does not lose it: that is said instead.
  ///
  /// - Parameters:
  ///   - now: seconds since 1970, after the touch.
  ///   - reread: the capsule as it is now.
  /// - Throws: ``HolderActError``: `changedMeanwhile`, or what now speaks against it.
  public func entry(
    _ signed: Ceremony.Signed, at now: Int64, in store: LocalStore, reread: () throws -> Capsule
  ) async throws -> Made {
    guard let ownerKey = reading.ownerKey else { throw HolderActError.materialMissing }
    var rereadProblem: (any NamedError)?
    let capsule: Capsule
    do { capsule = try reread() } catch {
      guard let named = error as? any NamedError else { throw error }
      rereadProblem = named
      capsule = reading.capsule
    }
    var made: EstateEvent?
    do {
      let event = try await store.locked {
        let fresh = try await look(at: capsule, now, store)
        try recheck(fresh, now)
        let event = try makeEntry(signed, at: now)
        made = event
        try store.add(
          fresh.verification.toBeKept, reading.capsule.estateID, reading.capsule.ownerHash, ownerKey, now,
          trustsClock: fresh.verification.allows(clock: now))
        try store.add(
          [event], reading.capsule.estateID, reading.capsule.ownerHash, ownerKey, nil,
          isSimulated: signed.evidence.isSimulated)
        return event
      }
      return Made(event: event, storeProblem: nil, rereadProblem: rereadProblem)
    } catch {
      // The rules have the last word; a disk does not.
      guard let problem = error as? any NamedError, problem is FileError || problem is StoreError else { throw error }
      if case StoreError.publicKeyChanged = problem { throw error }
      if let made { return Made(event: made, storeProblem: problem, rereadProblem: rereadProblem) }
      try recheck(try await look(at: capsule, now, store), now)
      return Made(event: try makeEntry(signed, at: now), storeProblem: problem, rereadProblem: rereadProblem)
    }
  }

  /// The record as it is now; by what was known before the touch where the store does not read any more.
  private func look(at capsule: Capsule, _ now: Int64, _ store: LocalStore) async throws -> EstateReading {
    var context = reading.context
    context.now = now
    do {
      let fresh = try await store.read(capsule, context, remembering: .never)
      // What was seen before cannot be unseen: the store's disk is gone.
      if !fresh.isFirstMeeting || reading.isFirstMeeting { return fresh }
    } catch {
      guard error is FileError || error is StoreError else { throw error }
      if case StoreError.publicKeyChanged = error { throw error }
    }
    return EstateReading(
      capsule: capsule, context: context, verification: await CapsuleVerifier(context).verify(capsule),
      firstSeen: reading.firstSeen, simulated: reading.simulated, isFirstMeeting: reading.isFirstMeeting,
      storeProblem: nil)
  }

  private func recheck(_ fresh: EstateReading, _ now: Int64) throws(HolderActError) {
    guard fresh.verification.recordHead == head else {
      let isTap = if case .tap = kind { true } else { false }
      // The same person in another window: nothing went wrong, and nothing is left to do.
      if let own = Self.newEntry(
        isTap ? .authorization : .custodyConfirmed, in: fresh, since: reading, by: holder.rootHash)
      {
        throw .madeMeanwhile(isTap: isTap, at: own.terms.occurredAtEpoch)
      }
      throw .changedMeanwhile("the record went on")
    }
    _ = try Self.check(fresh, holder, device.devicePublicKey)
    // The entry is dated by the clock as it is now, which may have been set meanwhile.
    if !acceptsClock { try Self.checkClock(fresh) }
    if case .tap(let claim) = kind {
      let current = try Self.openClaim(fresh, holder.rootHash, claimID, usesRecordTimes, at: now)
      guard current.position == claim.position else { throw .changedMeanwhile("another claim took its place") }
    }
  }

  private func makeEntry(_ signed: Ceremony.Signed, at now: Int64) throws -> EstateEvent {
    let payload: [UInt8]
    let eventKind: EventKind
    switch kind {
    case .tap(let claim):
      eventKind = .authorization
      payload = AuthorizationPayload(
        claimID: claim.id, epoch: statement.epoch, recordHeadDigest: head, assertion: signed.assertion,
        shareForClaimant: envelopes
      ).encoded()
    case .confirm:
      eventKind = .custodyConfirmed
      payload = CustodyConfirmedPayload(
        epoch: statement.epoch, recordHeadDigest: head, assertion: signed.assertion
      ).encoded()
    }
    return try EventTerms(
      id: UUIDText.random(), estateID: reading.capsule.estateID, kind: eventKind.rawValue, actorHash: holder.rootHash,
      actorDevicePublicKey: device.devicePublicKey, occurredAtEpoch: now, previousDigest: head, payload: payload
    ).signed { try device.signature(for: $0) }
  }

  /// The capsule with everything that is known here of the estate, and with `event`.
  public func capsule(adding event: EstateEvent) -> Capsule {
    var capsule = reading.capsule.united(with: reading.verification)
    if !capsule.entries.contains(where: { $0.event.terms == event.terms }) {
      capsule.entries.append(Capsule.Entry(event))
    }
    return capsule
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import Testing
import WebAuthnCore

/// A key holder's tap on a record: everything against it is found before the touch.
@Suite struct HolderActTests {
  private func act(
    _ bench: EstateBench, _ reading: EstateReading, as person: Int = 0, claimID: String? = nil,
    usesRecordTimes: Bool = false
  ) throws -> HolderAct {
    try HolderAct(
      tapping: reading, as: bench.holders[person].record, device: bench.holders[person].device(), claimID: claimID,
      usesRecordTimes: usesRecordTimes)
  }

  @Test func aTapIsPreparedMadeAndKept() async throws {
    let bench = try await EstateBench(.open)
    try await bench.seenAsItHappened()
    let reading = try await bench.read()
    #expect(!reading.isFirstMeeting)
    let act = try act(bench, reading)
    #expect(await bench.holders[0].key.touches == 2, "its endorsement and one confirmation, and nothing since")
    #expect(act.head == bench.capsule.events.last?.digest)
    #expect(act.outcomes.count == 1)
    let signed = try await act.touch(Ceremony(key: bench.holders[0].key))
    let event = try await act.entry(signed, at: bench.now + 5, in: bench.store) { bench.capsule }.event
    #expect(event.terms.previousDigest == act.head)
    #expect(event.terms.occurredAtEpoch == bench.now + 5)

    // The capsule with it passes every check, and the claimant can open the share.
    let written = act.capsule(adding: event)
    let again = try await bench.read(try Capsule(parsing: written.encoded()), at: bench.now + 10)
    #expect(again.verification.report.failures.isEmpty)
    let status = try #require(EstateView(entries: again.entries(), clamped: true).status(at: bench.now + 10))
    #expect(status.validTaps.map(\.holder) == [bench.holders[0].record.rootHash])
    let body = try AuthorizationPayload(parsing: event.terms.payload)
    let opened = try Wrap.open(
      try #require(body.shareForClaimant.first), with: bench.holders[1].person.halves.bundle,
      authenticating: SealAAD.releaseShare(estateID: bench.capsule.estateID, epoch: 1, claimID: body.claimID))
    #expect(SHA256.hash(opened) == reading.verification.statement?.shareCommitments[0])
    // It counts already, also for somebody who reads the old file.
    #expect(await failure { _ = try self.act(bench, try await bench.read(at: bench.now + 20)) } == "alreadyTapped")
    // A second holder's tap is enough.
    let second = try self.act(bench, again, as: 2)
    let secondSigned = try await second.touch(Ceremony(key: bench.holders[2].key))
    let secondEvent = try await second.entry(secondSigned, at: bench.now + 30, in: bench.store) { written }.event
    let whole = try await bench.read(second.capsule(adding: secondEvent), at: bench.now + 40)
    #expect(EstateView(entries: whole.entries(), clamped: true).status(at: bench.now + 40)?.state == .authorized)
  }

  /// What the record, the store or the people have against it, each by its name, and nobody is asked to touch.
  @Test func refusals() async throws {
    let bench = try await EstateBench(.open)
    try await bench.seenAsItHappened()
    let reading = try await bench.read()
    let claim = try #require(bench.capsule.events.last { $0.kind == .releaseClaimed })
    func name(_ body: () async throws -> HolderAct) async -> String? { await failure { _ = try await body() } }

    #expect(await name { try self.act(bench, try await bench.read(pinned: false)) } == "ownerNotPinned")
    #expect(await name { try self.act(bench, reading, claimID: "another") } == "notTheCurrentClaim")
    #expect(await name { try self.act(bench, reading, usesRecordTimes: true) } == "claimTimeUnproven")
    #expect(
      await failure {
        _ = try HolderAct(tapping: reading, as: bench.recipient.record, device: bench.recipient.device())
      } == "notAKeyHolder")
    #expect(
      await failure {
        _ = try HolderAct(tapping: reading, as: bench.holders[0].record, device: PrivateHalves())
      } == "deviceNotEndorsed")
    var stranger = bench.holders[0].record
    stranger.publicKey = bench.holders[2].record.publicKey
    let forged = stranger
    #expect(
      await failure {
        _ = try HolderAct(tapping: reading, as: forged, device: bench.holders[0].device())
      } == "holderKeyDiffers")

    var spoilt = bench.capsule
    spoilt.entries[2].event.signature[9] ^= 1
    #expect(await name { try self.act(bench, try await bench.read(spoilt, remembering: .never)) } == "recordNotGood")
    var immaterial = bench.capsule
    immaterial.epochBlobs = [:]
    let material = await name { try self.act(bench, try await bench.read(immaterial, remembering: .never)) }
    #expect(material == "recordNotGood")
    let early = EstateBench.start + 30 * 86_400
    #expect(await name { try self.act(bench, try await bench.read(at: early, remembering: .never)) } != nil)

    // One more entry of the owner's, after the claim, is the end of it; a departure that cancels even before it.
    let heartbeat = try bench.event(.heartbeat, by: bench.owner, at: claim.terms.occurredAtEpoch + 60)
    let alive = try await bench.read(bench.adding([heartbeat]), remembering: .never)
    #expect(await name { try self.act(bench, alive) } == "notOpen")
    let objection = try bench.event(
      .objection, by: bench.holders[2],
      ObjectionPayload(claimID: ReleaseClaimedPayload(parsing: claim.terms.payload).claimID, withdrawn: false).encoded()
    )
    let paused = try await bench.read(bench.adding([objection]), remembering: .never)
    #expect(await name { try self.act(bench, paused) } == "notOpen")
    let left = try bench.event(
      .ownerDeparted, by: bench.owner,
      OwnerDepartedPayload(keepEnvelopes: false, departedAtEpoch: EstateBench.start).encoded(),
      at: claim.terms.occurredAtEpoch - 91 * 86_400)
    let departed = try await bench.read(bench.adding([left]), remembering: .never)
    #expect(await name { try self.act(bench, departed) } == "ownerCancelledOnLeaving")
    #expect(await bench.holders[0].key.touches == 2)
  }

  @Test(arguments: [
    (SyntheticEstate.Stage.sealed, "noClaim"), (.overdue, "noClaim"), (.claimed, "notOpen"), (.released, "notOpen"),
  ])
  func stagesThatAreNotOpen(_ stage: SyntheticEstate.Stage, _ expected: String) async throws {
    let bench = try await EstateBench(stage)
    try await bench.seenAsItHappened()
    let reading = try await bench.read()
    #expect(await failure { _ = try self.act(bench, reading) } == expected)
  }

  /// A device that is endorsed after the owner sealed holds no share, and that is said before the touch.
  @Test func aDeviceWithoutAShareIsRefused() async throws {
    let bench = try await EstateBench(.open)
    try await bench.seenAsItHappened()
    let holder = bench.holders[0]
    let halves = try PrivateHalves()
    let (endorsement, _) = try await Ceremony(key: holder.key).endorse(
      devicePublicKey: halves.devicePublicKey, kemBundle: halves.bundle.publicKeys.bytes, as: holder.record,
      at: SealDate(epoch: bench.now))
    var capsule = bench.capsule
    capsule.identities[holder.record.rootHash]?.deviceEndorsements.append(endorsement)
    let reading = try await bench.read(capsule)
    let text = halves.encoded().exposed()
    #expect(
      await failure {
        _ = try HolderAct(
          tapping: reading, as: holder.record, device: PrivateHalves(parsing: SecretBytes(text)))
      } == "noShare")
    #expect(
      await failure { _ = try HolderAct(tapping: reading, as: holder.record, device: holder.device()) } == nil)
  }

  /// The first record of an estate that turns up here is counted from today, whatever it says.
  @Test func aFirstMeetingWaits() async throws {
    let bench = try await EstateBench(.open)
    let reading = try await bench.read()
    #expect(reading.isFirstMeeting)
    #expect(EstateView(entries: reading.entries(), clamped: false).status(at: bench.now)?.state == .claimOpen)
    #expect(EstateView(entries: reading.entries(), clamped: true).status(at: bench.now)?.state == .warning)
    #expect(await failure { _ = try self.act(bench, reading) } == "notOpen")
    // The days are counted from then on, and survive.
    let later = bench.now + 35 * 86_400
    let again = try await bench.read(at: later)
    #expect(!again.isFirstMeeting)
    #expect(await failure { _ = try self.act(bench, again) } == nil)
  }

  /// Somebody trimmed the owner's last check-in out of the record; this computer knows of it.
  @Test func aTrimmedCheckInIsMissed() async throws {
    let bench = try await EstateBench(.open)
    let claim = try #require(bench.capsule.events.last { $0.kind == .releaseClaimed })
    let heartbeat = try bench.event(.heartbeat, by: bench.owner, at: claim.terms.occurredAtEpoch + 60)
    try await bench.seenAsItHappened(bench.capsule.events + [heartbeat])
    let reading = try await bench.read()
    #expect(reading.verification.missing.map(\.id) == [heartbeat.id])
    #expect(reading.verification.report.warnings.contains { $0.name == "eventMissing" })
    #expect(await failure { _ = try self.act(bench, reading) } == "notOpen")
  }

  /// What happens between the preparation and the end of the touch throws the touch away, and nothing is kept of it.
  @Test func aChangeMeanwhileDiscardsTheTouch() async throws {
    let bench = try await EstateBench(.open)
    try await bench.seenAsItHappened()
    let act = try act(bench, try await bench.read())
    let signed = try await act.touch(Ceremony(key: bench.holders[0].key))
    let claim = try #require(bench.capsule.events.last { $0.kind == .releaseClaimed })
    let changes: [(String, EstateEvent, Bool)] = [
      ("changedMeanwhile", try bench.event(.heartbeat, by: bench.owner), false),
      (
        "notOpen", try bench.event(.heartbeat, by: bench.owner, at: claim.terms.occurredAtEpoch - 60, previous: []),
        false
      ),
      ("changedMeanwhile", try bench.event(.silenceObserved, by: bench.holders[2], Array("{}".utf8)), true),
    ]
    for (expected, change, isInStore) in changes {
      // In the file, or seen by another program on this computer.
      if isInStore { try await bench.seenAsItHappened([change]) }
      let capsule = isInStore ? bench.capsule : bench.adding([change])
      let name = await failure { _ = try await act.entry(signed, at: bench.now + 5, in: bench.store) { capsule } }
      #expect(name == expected)
    }
    let kept = try #require(
      try bench.store.history(
        estateID: bench.capsule.estateID, ownerHash: bench.owner.record.rootHash, ownerKey: bench.ownerKey))
    #expect(!kept.events.contains { $0.kind == .authorization })
  }

  @Test func aConfirmationReleasesNothing() async throws {
    let bench = try await EstateBench(.open)
    let reading = try await bench.read()
    let act = try HolderAct(confirming: reading, as: bench.holders[2].record, device: bench.holders[2].device())
    let signed = try await act.touch(Ceremony(key: bench.holders[2].key))
    let event = try await act.entry(signed, at: bench.now + 5, in: bench.store) { bench.capsule }.event
    #expect(event.kind == .custodyConfirmed)
    let again = try await bench.read(act.capsule(adding: event), at: bench.now + 10)
    #expect(again.verification.report.failures.isEmpty)
    #expect(EstateView(entries: again.entries(), clamped: false).status(at: bench.now + 10)?.validTaps == [])
    #expect(
      await failure {
        _ = try HolderAct(confirming: reading, as: bench.recipient.record, device: bench.recipient.device())
      } == "notAKeyHolder")
  }

  /// A touch is not lost with the disk, nor with the file that was read: the entry is handed out, and what failed is said.
  @Test func aTouchIsNotLost() async throws {
    let bench = try await EstateBench(.open)
    try await bench.seenAsItHappened()
    let act = try act(bench, try await bench.read())
    let signed = try await act.touch(Ceremony(key: bench.holders[0].key))
    for store in [LocalStore(path: "/proc/nowhere/data"), LocalStore(path: "/dev/null")] {
      let made = try await act.entry(signed, at: bench.now + 5, in: store) { bench.capsule }
      #expect(made.storeProblem?.name == "fileUnwritable")
      let written = act.capsule(adding: made.event)
      #expect(try await bench.read(written, at: bench.now + 10, remembering: .never).verification.report.isGood)
    }
    // Held by another program for too long.
    let held = open("\(bench.store.path)/lock", O_RDWR | O_CLOEXEC)
    #expect(flock(held, LOCK_EX) == 0)
    let busy = LocalStore(path: bench.store.path, patience: 50)
    let made = try await act.entry(signed, at: bench.now + 5, in: busy) { throw FileError.notFound(path: "gone") }
    #expect(made.storeProblem?.name == "storeBusy")
    #expect(made.rereadProblem?.name == "fileNotFound")
    // The rules still have the last word.
    let heartbeat = bench.adding([try bench.event(.heartbeat, by: bench.owner)])
    #expect(
      await failure { _ = try await act.entry(signed, at: bench.now + 5, in: busy) { heartbeat } }
        == "changedMeanwhile")
    close(held)
    #expect(HolderAct.keptTap(in: try await bench.read(), by: bench.holders[0].record) == nil)
    let kept = try await act.entry(signed, at: bench.now + 5, in: bench.store) { bench.capsule }
    #expect(kept.storeProblem == nil)
    let later = try await bench.read(at: bench.now + 20)
    #expect(HolderAct.keptTap(in: later, by: bench.holders[0].record) == kept.event)
    #expect(HolderAct.keptTap(in: later, by: bench.holders[2].record) == nil)
    #expect(HolderAct.keptTap(in: later, by: bench.holders[0].record, claimID: "another") == nil)
    #expect(later.simulated == [kept.event.id], "the mark of a virtual key outlives the file")
  }
}

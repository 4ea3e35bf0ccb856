// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import SealFormats

/// Records that somebody has tampered with.
@Suite(.arithmetic) struct CapsuleAttackTests {
  private func bad(_ made: TestEstate, _ context: CapsuleContext? = nil, _ change: (inout Capsule) throws -> Void)
    async throws -> [String]
  {
    var capsule = made.capsule
    try change(&capsule)
    return await made.verify(capsule, context).report.failures.map(\.name)
  }

  @Test func eventsThatDoNotBelong() async throws {
    let made = try await TestEstate.written(upTo: .open)
    let stranger = try await TestPerson("Mallory").synthetic()
    func adding(_ event: EstateEvent) async throws -> [String] {
      try await bad(made) { $0.entries.append(Capsule.Entry(event)) }
    }
    #expect(try await adding(made.event(.heartbeat, by: stranger, [])).contains("identityMissing"))
    #expect(try await adding(made.event(.heartbeat, by: made.holders[0], [])) == ["kindNotAllowed"])
    let claim = ReleaseClaimedPayload(claimID: "C", epoch: 1, lastHeartbeatAtEpoch: nil, reason: "").encoded()
    #expect(try await adding(made.event(.releaseClaimed, by: made.owner, claim)) == ["kindNotAllowed"])
    #expect(try await adding(made.event(.releaseClaimed, by: made.recipient, claim)) == ["notAKeyHolder"])
    #expect(try await adding(made.event(.heartbeat, by: made.owner, [], estateID: "Other")) == ["otherEstate"])
    #expect(
      try await adding(made.event(.heartbeat, by: made.owner, [], previous: Random.bytes(32))) == ["previousMissing"])
    #expect(try await adding(made.event(.cancellation, by: made.owner, Array("[".utf8))) == ["badPayload"])
    #expect(
      try await adding(made.event(.cancellation, by: made.owner, Array(#"{"claimID":"a","claimID":"b"}"#.utf8)))
        == ["badPayload"])
    var unknown = try made.event(.heartbeat, by: made.owner, [])
    unknown.terms.kind = "applause"
    unknown = try unknown.terms.signed { try made.owner.halves.signature(for: $0) }
    #expect(try await adding(unknown) == ["unknownKind"])
    var forged = try made.event(.heartbeat, by: made.holders[0], [])
    forged.terms.actorHash = made.owner.hash
    forged = try forged.terms.signed { try made.holders[0].halves.signature(for: $0) }
    #expect(try await adding(forged) == ["deviceNotEndorsed"])
    var unsigned = try made.event(.heartbeat, by: made.owner, [])
    unsigned.signature = made.capsule.events[0].signature
    #expect(try await adding(unsigned) == ["signatureDoesNotMatch"])
    // An owner's entry with an odd link still counts as a sign of life, as it does in Seal.
    let odd = EventTerms(
      id: UUIDText.random(), estateID: made.capsule.estateID, kind: "heartbeat", actorHash: made.owner.hash,
      actorDevicePublicKey: made.owner.halves.devicePublicKey, occurredAtEpoch: made.now, previousDigest: [1, 2],
      payload: [])
    let event = EstateEvent(terms: odd, signature: try made.owner.halves.signature(for: odd.digestAsFound))
    var capsule = made.capsule
    capsule.entries.append(Capsule.Entry(event))
    let verified = await made.verify(capsule)
    #expect(verified.report.failures.map(\.name) == ["previousMissing"])
    #expect(verified.admitted.last == event)
    #expect(!TapGate(entries: verified.entries()).refusals(for: made.holders[0].hash, at: made.now).isEmpty)
  }

  @Test func copiesAndOrder() async throws {
    let made = try await TestEstate.written(upTo: .released)
    #expect(try await bad(made) { $0.entries.shuffle() } == [])
    #expect(try await bad(made) { $0.entries.append($0.entries[3]) } == ["eventTwice"])
    // Another event under a used ID is an event of its own.
    let copy = try made.event(.heartbeat, by: made.owner, [], id: made.capsule.events[3].id)
    #expect(try await bad(made) { $0.entries.append(Capsule.Entry(copy)) } == [])
    var strict = made.context
    strict.isStrict = true
    #expect(try await bad(made, strict) { $0.entries.append(Capsule.Entry(copy)) }.contains("eventConflict"))
    #expect(try await bad(made) { $0.entries[4].statedDigest[0] ^= 1 } == ["digestMismatch"])
    // Any entry left out but the last is missed by what follows it.
    for index in made.capsule.entries.indices.dropLast() {
      let names = try await bad(made) { $0.entries.remove(at: index) }
      #expect(!names.isEmpty, "\(made.capsule.events[index].terms.kind)")
    }
  }

  /// The owner's last check-in is trimmed out of a record that this computer has seen whole.
  @Test func trimmedCheckIn() async throws {
    let made = try await TestEstate.written(upTo: .open)
    let checkIn = try made.event(.heartbeat, by: made.owner, [], at: made.estate.moment)
    var context = made.context
    context.known = made.capsule.events + [checkIn]
    let verified = await made.verify(nil, context)
    #expect(verified.missing == [checkIn])
    #expect(verified.report.isGood && verified.report.warnings.map(\.name) == ["eventMissing"])
    #expect(verified.recordHead == checkIn.digest)
    let refusals = TapGate(entries: verified.entries()).refusals(for: made.holders[0].hash, at: made.now)
    #expect(refusals.map(\.name) == ["notOpen", "notOpenByStatedTimes"])
    context.isStrict = true
    #expect(await made.verify(nil, context).report.failures.map(\.name) == ["eventMissing"])
    // A known event is not hidden by another under its ID.
    let other = try made.event(.heartbeat, by: made.owner, [], at: 1, id: checkIn.id)
    var capsule = made.capsule
    capsule.entries.append(Capsule.Entry(other))
    let both = await made.verify(capsule, context)
    #expect(both.report.failures.map(\.name).contains("eventConflict") && both.recordHead == checkIn.digest)
  }

  @Test func keysThatChanged() async throws {
    let made = try await TestEstate.written(upTo: .open)
    var context = made.context
    context.pins[made.owner.hash] = try TestCredential().publicKey
    #expect(try await bad(made, context) { _ in }.contains("publicKeyChanged"))
    context = made.context
    context.pins[made.holders[0].hash] = try TestCredential().publicKey
    #expect(try await bad(made, context) { _ in }.contains("publicKeyChanged"))
    context = made.context
    context.pins = [:]
    let verified = await made.verify(nil, context)
    #expect(verified.report.isGood && verified.report.warnings.map(\.name) == ["ownerNotPinned"])
    // A stranger's key under a holder's name, with endorsements that fit it: the owner's statement says otherwise.
    let other = try await SyntheticPerson(
      identity: RootIdentity(
        credentialID: Random.bytes(16), publicKey: Random.bytes(64), tier: .verified, displayName: "Karin"),
      halves: PrivateHalves(), endorsedAt: 0
    ) { _ in StoredAssertion(credentialID: [], clientDataJSON: [], authenticatorData: [], signature: []) }
    let names = try await bad(made) { $0.identities[made.holders[0].hash]?.publicKey = other.identity.publicKey }
    #expect(names.contains("badPublicKey") && names.contains("holderKeyDiffers"))
    let swapped = try await bad(made) {
      $0.identities[made.holders[0].hash]?.publicKey = made.holders[1].identity.publicKey
    }
    #expect(swapped.contains("holderKeyDiffers") && swapped.contains("signatureDoesNotMatch"))
    #expect(
      try await bad(made) { $0.identities[made.holders[0].hash]?.rootHash = made.owner.hash }.contains(
        "identityMisplaced"))
    #expect(try await bad(made) { $0.relyingPartyID = "evil.example" } == ["relyingPartyMismatch"])
    #expect(try await bad(made) { $0.identities[made.owner.hash] = nil }.contains("ownerMissing"))
  }

  /// Devices revoked in the directory known here do not count, though a capsule cannot say so.
  @Test func revokedDevices() async throws {
    let person = try TestPerson("Karin")
    let holder = try await person.synthetic()
    let owner = try await TestPerson("Owner").synthetic()
    let estate = SyntheticEstate(
      owner: owner, holders: [holder], recipients: [], start: 1_800_000_000, policy: ReleasePolicy(),
      isSimulated: false)
    try await estate.write(upTo: .open)
    var context = CapsuleContext(now: estate.moment, pins: [owner.hash: owner.identity.publicKey])
    #expect(await CapsuleVerifier(context).verify(estate.capsule).report.isGood)
    var record = holder.record
    record.revocations = [try person.revoke(holder.halves.devicePublicKey)]
    context.directory = [holder.hash: record]
    let verified = await CapsuleVerifier(context).verify(estate.capsule)
    #expect(Set(verified.report.failures.map(\.name)) == ["deviceNotEndorsed"])
    #expect(verified.identities[holder.hash]?.devices.isEmpty == true)
  }

  @Test func epochsAndShares() async throws {
    let made = try await TestEstate.written(upTo: .released)
    #expect(try await bad(made) { $0.epochBlobs = [:] } == ["materialMissing"])
    #expect(try await bad(made) { $0.epochBlobs["1"]?[40] ^= 1 } == ["materialMismatch"])
    var strict = made.context
    strict.isStrict = true
    #expect(try await bad(made, strict) { $0.epochBlobs["2"] = [] } == ["materialUnsigned"])
    #expect(try await bad(made, strict) { $0.tableBlobs = [:] } == ["tableMissing"])
    #expect(try await bad(made, strict) { $0.tableBlobs["more"] = Array("{}".utf8) } == ["tableUnlisted", "badTable"])
    func statement(_ change: (inout EpochPublishedPayload) -> Void) async throws -> [String] {
      var body = try EpochPublishedPayload(parsing: made.capsule.events[1].terms.payload)
      change(&body)
      let event = try made.event(.epochPublished, by: made.owner, body.encoded())
      return try await bad(made) {
        $0.entries.append(Capsule.Entry(event))
        $0.epochBlobs[String(body.epoch)] = $0.epochBlobs["1"]
      }
    }
    #expect(try await statement { $0.epoch = 0 }.contains("epochNotHighest"))
    #expect(try await statement { $0.threshold = 4 }.contains("badStatement"))
    #expect(try await statement { $0.threshold = 0 }.contains("badStatement"))
    #expect(try await statement { $0.custodianPublicKeys.removeLast() }.contains("badStatement"))
    #expect(try await statement { $0.custodianHashes[1] = $0.custodianHashes[0] }.contains("badStatement"))
    #expect(try await statement { $0.custodianHashes[1] = "B" }.contains("badStatement"))
    #expect(try await statement { $0.estateKeyCommitment = [1] }.contains("badStatement"))
    #expect(
      try await statement { $0.custodianPublicKeys.swapAt(0, 1) }.filter { $0 == "publicKeyChanged" }.count == 2)
  }

  @Test func tapsAndReleases() async throws {
    let made = try await TestEstate.written(upTo: .authorized)
    let (holder, claim) = (made.holders[2], made.estate.claimID)
    let head = try #require(made.capsule.events.last?.digest)
    func authorization(
      _ statement: Statement, epoch: UInt64 = 1, by person: SyntheticPerson
    ) async throws -> [String] {
      let body = AuthorizationPayload(
        claimID: claim, epoch: epoch, recordHeadDigest: head, assertion: try await person.tap(statement),
        shareForClaimant: [])
      let event = try made.event(.authorization, by: holder, body.encoded())
      return try await bad(made) { $0.entries.append(Capsule.Entry(event)) }
    }
    let good = Statement.releaseAuthorize(
      estateID: made.capsule.estateID, epoch: 1, claimID: claim, recordHeadDigest: head)
    #expect(try await authorization(good, by: holder) == [])
    #expect(try await authorization(good, by: made.holders[0]) == ["signatureDoesNotMatch"])
    #expect(try await authorization(good, epoch: 2, by: holder) == ["challengeMismatch"])
    let other = Statement.releaseAuthorize(
      estateID: made.capsule.estateID, epoch: 1, claimID: "other", recordHeadDigest: head)
    #expect(try await authorization(other, by: holder) == ["challengeMismatch"])
    // A confirmation's tap is not a release tap, and the other way round.
    let confirmation = Statement.custodyConfirm(estateID: made.capsule.estateID, epoch: 1, recordHeadDigest: head)
    #expect(try await authorization(confirmation, by: holder) == ["challengeMismatch"])
    let body = CustodyConfirmedPayload(epoch: 1, recordHeadDigest: head, assertion: try await holder.tap(good))
    let confirmed = try made.event(.custodyConfirmed, by: holder, body.encoded())
    #expect(try await bad(made) { $0.entries.append(Capsule.Entry(confirmed)) } == ["challengeMismatch"])
    // A release with a wrong key.
    let release = ReleasedPayload(claimID: claim, epoch: 1, shareIndexes: [1], estateKey: Random.bytes(32))
    let released = try made.event(.released, by: made.holders[1], release.encoded())
    #expect(try await bad(made) { $0.entries.append(Capsule.Entry(released)) } == ["recoveredKeyMismatch"])
    // The same claim opened twice.
    let again = ReleaseClaimedPayload(claimID: claim, epoch: 1, lastHeartbeatAtEpoch: nil, reason: "")
    let twice = try made.event(.releaseClaimed, by: holder, again.encoded())
    #expect(try await bad(made) { $0.entries.append(Capsule.Entry(twice)) } == ["claimIDUsedTwice"])
  }

  @Test func rulesAndClocks() async throws {
    var strict = CapsuleContext(now: 0, isStrict: true)
    let odd = ReleasePolicy(silenceDays: 29, threshold: 1)
    let made = try await TestEstate.written(upTo: .sealed, policy: odd, holders: 1)
    strict.now = made.now
    strict.pins = made.context.pins
    #expect(try await bad(made, strict) { _ in } == ["policyOutOfRange"])
    #expect(await made.verify().report.warnings.map(\.name) == ["ruleOfOne", "policyOutOfRange"])
    strict.now = 1_800_000_000
    #expect(try await bad(made, strict) { _ in }.contains("futureEvent"))
    #expect(
      try await bad(made) {
        $0.entries.removeFirst(); $0.entries[0].event.terms.previousDigest = []
      }.contains("noCreation"))
    #expect(try await bad(made) { $0.entries = [] } == ["noCreation", "emptyRecord"])
  }

  /// A verified token beats the clock; one by an authority that nobody here pinned proves nothing.
  @Test func timestampTokens() async throws {
    let made = try await TestEstate.written(upTo: .claimed)
    let claim = try #require(made.capsule.entries.firstIndex { $0.event.kind == .releaseClaimed })
    let key = try P256.Signing.PrivateKey()
    let builder = TokenBuilder(key: key, digest: made.capsule.entries[claim].event.digest)
    let token = try builder.token()
    var capsule = made.capsule
    capsule.entries[claim].event.timestampToken = token
    var context = made.context
    #expect(await made.verify(capsule).report.warnings.map(\.name) == ["timestampCertificateNotPinned"])
    context.timestampPins = [SHA256.hash(builder.certificate)]
    let verified = await made.verify(capsule, context)
    #expect(verified.report.isGood && verified.tokenTimes.count == 1 && verified.provenClaims.count == 1)
    let status = EstateView(entries: verified.entries(), clamped: false).status(at: made.now)
    #expect(status?.claim?.time == 1_800_000_000)
    // A token that is no good is none: anybody can put one beside any entry.
    capsule.entries[claim - 1].event.timestampToken = token
    let odd = await made.verify(capsule, context)
    #expect(odd.report.isGood && odd.report.warnings.map(\.name) == ["timestampOfAnotherDigest"])
    context.isStrict = true
    #expect(await made.verify(capsule, context).report.failures.map(\.name) == ["timestampOfAnotherDigest"])
    context.isStrict = false
    // A later copy may bring a token that the first lacked.
    context.known = made.capsule.events
    capsule.entries[claim - 1].event.timestampToken = nil
    #expect(await made.verify(capsule, context).tokenTimes.count == 1)
    // And one that is good takes the place of one that is not.
    context.known[claim].timestampToken = [0x30]
    #expect(await made.verify(capsule, context).tokenTimes.count == 1)
    // Seal never asks for one with these kinds: somebody else did, and could move the beginning of the estate.
    let creation = TokenBuilder(key: key, digest: made.capsule.entries[0].event.digest)
    context.timestampPins = [SHA256.hash(creation.certificate)]
    capsule.entries[0].event.timestampToken = try creation.token()
    let moved = await made.verify(capsule, context)
    #expect(moved.tokenTimes[made.capsule.events[0].id] == nil)
    #expect(moved.report.warnings.map(\.name).contains("timestampIgnored"))
  }

  @Test func formerHolders() async throws {
    let made = try await TestEstate.written(upTo: .claimed)
    var body = try EpochPublishedPayload(parsing: made.capsule.events[1].terms.payload)
    body.epoch = 2
    for index in [0, 0] {
      body.custodianHashes.remove(at: index)
      body.custodianPublicKeys.remove(at: index)
      body.shareCommitments.remove(at: index)
    }
    body.threshold = 1
    let event = try made.event(.epochPublished, by: made.owner, body.encoded(), at: made.estate.moment + 1)
    var capsule = made.capsule
    capsule.entries.append(Capsule.Entry(event))
    let verified = await made.verify(capsule)
    // The claim by a former holder is in the record, and does not count here any more.
    #expect(verified.report.checks.contains { $0.name == "formerHolder" })
    #expect(!verified.admitted.contains { $0.kind == .releaseClaimed })
    var context = made.context
    context.known = made.capsule.events
    #expect(await made.verify(capsule, context).admitted.contains { $0.kind == .releaseClaimed })
    // What a former holder links to concerns nobody any more.
    let former = try #require(made.holders.first { !body.custodianHashes.contains($0.hash) })
    let silence = SilenceObservedPayload(lastHeartbeatDigest: nil, lastHeartbeatAtEpoch: nil).encoded()
    let adrift = try made.event(.silenceObserved, by: former, silence, previous: Random.bytes(32))
    capsule.entries.append(Capsule.Entry(adrift))
    let failures = await made.verify(capsule).report.failures.map(\.name)
    #expect(!failures.contains("previousMissing"), "\(failures)")
  }
}

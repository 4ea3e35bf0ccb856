// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import SealFormats

/// A key holder who writes under the ID of somebody else's entry, a file that leaves people out, and a statement that
/// names one key twice: none of it hides a sign of life, and none of it makes a tap of nothing.
@Suite(.arithmetic) struct RivalTests {
  private let silence = SilenceObservedPayload(lastHeartbeatDigest: nil, lastHeartbeatAtEpoch: nil).encoded()

  private func claimIsOpen(_ verified: CapsuleVerification, _ made: TestEstate) -> Bool {
    TapGate(entries: verified.entries()).refusals(for: made.holders[0].hash, at: made.now).isEmpty
  }

  @Test func aCheckInIsNotHiddenByAnEntryUnderItsID() async throws {
    let made = try await TestEstate.written(upTo: .open)
    #expect(claimIsOpen(await made.verify(), made))
    let checkIn = try made.event(.heartbeat, by: made.owner, [])
    let mask = try made.event(
      .silenceObserved, by: made.holders[1], silence, id: checkIn.id)
    var honest = made.capsule
    honest.entries.append(Capsule.Entry(checkIn))
    var masked = made.capsule
    masked.entries.append(Capsule.Entry(mask))
    for files in [[honest, masked], [masked, honest]] {
      let merged = try CapsuleMerge(files)
      #expect(merged.report.warnings.map(\.name) == ["eventConflict"])
      let read = try Capsule(parsing: merged.capsule.encoded())
      let verified = await made.verify(read)
      #expect(verified.report.isGood)
      #expect(verified.admitted.count == made.capsule.events.count + 2)
      #expect(Set(verified.admitted.map(\.id)).count == verified.admitted.count)
      #expect(!claimIsOpen(verified, made))
    }
    // One file after the other, on a computer that keeps what it sees.
    for (first, second) in [(honest, masked), (masked, honest)] {
      var context = made.context
      context.known = await made.verify(first).admitted
      #expect(!claimIsOpen(await made.verify(second, context), made))
    }
  }

  /// What was admitted stays, although a later file leaves out its writer, or the device that signed it was revoked.
  @Test func whatIsKnownStays() async throws {
    let made = try await TestEstate.written(upTo: .open)
    let objection = try made.event(
      .objection, by: made.holders[2], ObjectionPayload(claimID: made.estate.claimID, withdrawn: false).encoded())
    var context = made.context
    context.known = made.capsule.events + [objection]
    var file = made.capsule
    file.identities[made.holders[2].hash] = nil
    file.entries.append(
      Capsule.Entry(
        try made.event(
          .silenceObserved, by: made.holders[1], silence, id: objection.id)))
    let verified = await made.verify(file, context)
    #expect(verified.admitted.contains { $0.terms == objection.terms })
    #expect(!claimIsOpen(verified, made))
    // No endorsement of the owner's is left in the file.
    var bare = made.capsule
    bare.identities[made.owner.hash]?.deviceEndorsements = []
    let known = await made.verify(bare, context)
    #expect(known.admitted.count == context.known.count)
    #expect(!known.report.failures.contains { $0.name == "deviceNotEndorsed" }, "\(known.report.failures)")
    // For somebody who has not seen it before it is nobody's word.
    #expect(await made.verify(bare).report.failures.contains { $0.name == "deviceNotEndorsed" })
  }

  /// A stranger under a key holder's name writes nothing, for the owner has signed whose key it is.
  @Test func aHolderIsWhoTheOwnerNamed() async throws {
    let made = try await TestEstate.written(upTo: .open)
    let stranger = try await TestPerson("Mallory").synthetic()
    let david = made.holders[1]
    var file = made.capsule
    file.identities[david.hash] = CapsuleIdentity(stranger.record)
    file.identities[david.hash]?.rootHash = david.hash
    let forged = try EventTerms(
      id: UUIDText.random(), estateID: file.estateID, kind: "silenceObserved", actorHash: david.hash,
      actorDevicePublicKey: stranger.halves.devicePublicKey, occurredAtEpoch: made.estate.moment,
      previousDigest: file.events.last?.digest ?? [], payload: silence
    ).signed { try stranger.halves.signature(for: $0) }
    file.entries.append(Capsule.Entry(forged))
    let verified = await made.verify(file)
    #expect(verified.report.failures.contains { $0.name == "holderKeyDiffers" })
    #expect(!verified.admitted.contains { $0.terms == forged.terms })
    #expect(verified.identities[david.hash] == nil)
  }

  @Test func oneRootKeyIsOneKeyHolder() async throws {
    let made = try await TestEstate.written(upTo: .sealed)
    var body = try EpochPublishedPayload(parsing: made.capsule.events[1].terms.payload)
    body.epoch = 2
    body.custodianPublicKeys[1] = body.custodianPublicKeys[0]
    var file = made.capsule
    file.epochBlobs["2"] = file.epochBlobs["1"]
    file.entries.append(
      Capsule.Entry(try made.event(.epochPublished, by: made.owner, body.encoded(), at: made.estate.moment + 1)))
    let failures = await made.verify(file).report.failures
    #expect(failures.contains { $0.name == "badStatement" && $0.explanation.contains("one root key twice") })
  }

  /// The sign of life that a person is shown is the latest by the time that was proven for it.
  @Test func theLastSignIsTheOneThatWasProvenLatest() async throws {
    let made = try await TestEstate.written(upTo: .open)
    // A phone whose clock is behind, and an authority that knows the time.
    let checkIn = try made.event(.heartbeat, by: made.owner, [], at: made.estate.moment - 40 * 86_400)
    let key = try P256.Signing.PrivateKey()
    let builder = TokenBuilder(key: key, digest: checkIn.digest)
    var stamped = checkIn
    stamped.timestampToken = try builder.token()
    var file = made.capsule
    file.entries.append(Capsule.Entry(stamped))
    var context = made.context
    context.timestampPins = [SHA256.hash(builder.certificate)]
    let verified = await made.verify(file, context)
    let latest = try #require(verified.newestOwnerEvent)
    let times = verified.admitted.filter { $0.kind?.isOwnerKind ?? false }.map {
      verified.statedTime(of: $0.logPosition)
    }
    #expect(verified.statedTime(of: latest.logPosition) == times.max())
  }
}

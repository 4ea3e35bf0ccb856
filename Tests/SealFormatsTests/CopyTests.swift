// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import SealFormats

/// Several copies under one ID: the genuine one counts, whatever order they come in and wherever they are united.
@Suite(.arithmetic) struct CopyTests {
  /// Copies of `event` that somebody forged, who has whatever keys a stranger and other people of the estate have.
  private static func forgeries(_ event: EstateEvent, _ made: TestEstate) throws -> [EstateEvent] {
    var unsigned = event
    unsigned.signature = made.capsule.events.first { $0.id != event.id }?.signature ?? []
    var later = event
    later.terms.occurredAtEpoch += 3600
    // Signed by a device that nobody endorsed for whom it names, with the name of the genuine writer.
    var foreign = event.terms
    foreign.actorDevicePublicKey = made.recipient.halves.devicePublicKey
    // Signed and endorsed, by somebody who is no key holder.
    let stranger = try made.event(
      .objection, by: made.recipient, ObjectionPayload(claimID: "x", withdrawn: false).encoded(), id: event.id)
    // An owner's kind by a holder, and a holder's by the owner.
    let usurper = try made.event(.heartbeat, by: made.holders[0], [], id: event.id)
    let elsewhere = try made.event(.heartbeat, by: made.owner, [], estateID: "Other", id: event.id)
    return [
      unsigned, later, try foreign.signed { try made.recipient.halves.signature(for: $0) }, stranger, usurper,
      elsewhere,
    ]
  }

  @Test func aVerifiedCopyWinsWhateverTheOrder() async throws {
    let made = try await TestEstate.written(upTo: .authorized)
    var generator = SeededGenerator(seed: 4711)
    for round in 0..<(Extent.isFull ? 200 : 24) {
      let index = Int.random(in: made.capsule.entries.indices, using: &generator)
      let genuine = made.capsule.events[index]
      let forged = try Self.forgeries(genuine, made)
      let some = forged.shuffled(using: &generator).prefix(Int.random(in: 1...3, using: &generator))
      let about = "round \(round), \(genuine.terms.kind)"

      // In files of their own, united in any order.
      let files = ([genuine] + some).shuffled(using: &generator).map { copy -> Capsule in
        var capsule = made.capsule
        capsule.entries[index] = Capsule.Entry(copy)
        return capsule
      }
      let merged = try CapsuleMerge(files)
      #expect(merged.capsule.entries[index].event == genuine, "\(about)")
      #expect(await made.verify(merged.capsule).report.isGood, "\(about)")

      // In one file, in any order: the file is bad, and the genuine entry counts all the same.
      var both = made.capsule
      both.entries.remove(at: index)
      for copy in ([genuine] + some).shuffled(using: &generator) {
        both.entries.insert(Capsule.Entry(copy), at: Int.random(in: 0...both.entries.count, using: &generator))
      }
      let verified = await made.verify(both)
      #expect(verified.admitted.map(\.terms) == made.capsule.events.map(\.terms), "\(about)")
      #expect(!verified.report.isGood, "\(about)")
      #expect(await made.verify(both.united(with: verified)).report.isGood, "\(about)")

      // What is known here stays, whatever the file has in its place.
      var context = made.context
      context.known = made.capsule.events
      var file = made.capsule
      file.entries[index] = Capsule.Entry(some[some.startIndex])
      let kept = await made.verify(file, context)
      #expect(kept.admitted == made.capsule.events, "\(about)")
      await Task.yield()
    }
  }

  /// Material is chosen by what the owner signed; a statement that somebody else wrote in the owner's name says nothing.
  @Test func forgedStatementsChooseNoMaterial() async throws {
    let made = try await TestEstate.written(upTo: .released)
    var body = try EpochPublishedPayload(parsing: made.capsule.events[1].terms.payload)
    body.materialDigest = SHA256.hash([1])
    var statement = try made.event(.epochPublished, by: made.recipient, body.encoded())
    statement.terms.actorHash = made.owner.hash
    statement = try statement.terms.signed { try made.recipient.halves.signature(for: $0) }
    var forged = made.capsule
    forged.entries.append(Capsule.Entry(statement))
    forged.epochBlobs["1"] = [1]
    for files in [[made.capsule, forged], [forged, made.capsule]] {
      let merged = try CapsuleMerge(files)
      #expect(merged.capsule.epochBlobs["1"] == made.capsule.epochBlobs["1"])
      #expect(merged.report.warnings.map(\.name) == ["materialConflict"])
    }
  }
}

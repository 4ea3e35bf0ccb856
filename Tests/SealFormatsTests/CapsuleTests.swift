// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import SealFormats

@Suite(.arithmetic) struct CapsuleTests {
  @Test(arguments: SyntheticEstate.Stage.allCases)
  func everyStageVerifies(stage: SyntheticEstate.Stage) async throws {
    let made = try await TestEstate.written(upTo: stage)
    let verified = await made.verify()
    #expect(verified.report.failures == [], "\(stage)")
    #expect(verified.report.warnings == [])
    var strict = made.context
    strict.isStrict = true
    #expect(await made.verify(nil, strict).report.isGood)
    #expect(verified.admitted.count == made.capsule.entries.count)
    let status = EstateView(entries: verified.entries(), clamped: false).status(at: made.now)
    #expect(status?.state.rawValue == made.capsule.stateAtExport)
    #expect(verified.recordHead == made.capsule.events.last?.digest)
    // Written and read again it is the same, byte for byte.
    let text = made.capsule.encoded()
    let read = try Capsule(parsing: text)
    #expect(read.encoded() == text)
    #expect(await made.verify(read).report == verified.report)
  }

  @Test func aTapIsAllowedWhenTheClaimIsOpen() async throws {
    let made = try await TestEstate.written(upTo: .open)
    let verified = await made.verify()
    let gate = TapGate(entries: verified.entries())
    for holder in made.holders { #expect(gate.refusals(for: holder.hash, at: made.now) == []) }
    #expect(gate.refusals(for: made.recipient.hash, at: made.now).map(\.name) == ["notAKeyHolder"])
    // On a computer that hears of it only now, the claim is as old as today.
    let firstSeen = Dictionary(uniqueKeysWithValues: verified.admitted.map { ($0.id, made.now) })
    let late = TapGate(entries: verified.entries(firstSeen: firstSeen))
    #expect(late.refusals(for: made.holders[0].hash, at: made.now).map(\.name) == ["notOpen"])
  }

  /// The whole way: shares, key table, letter, with nothing but what is in the file and the recipient's own key.
  @Test func theRecipientReadsTheLetter() async throws {
    let made = try await TestEstate.written(upTo: .released)
    let capsule = try Capsule(parsing: made.capsule.encoded())
    let release = try #require(capsule.events.last { $0.kind == .released })
    let body = try ReleasedPayload(parsing: release.terms.payload)
    let estate = capsule.estateID
    #expect(capsule.tableBlobs.count == 1)
    for (id, blob) in capsule.tableBlobs {
      let table = try KeyTable(parsing: blob)
      let inner = try Wrap.open(
        table.releaseWraps[0], with: made.recipient.halves.bundle,
        authenticating: SealAAD.estate(estateID: estate, epoch: 1, purpose: "tablekey.release.\(id)"))
      let key = try Wrap.decrypt(
        inner.exposed(), key: SecretBytes(body.estateKey),
        aad: SealAAD.estate(estateID: estate, epoch: 1, purpose: "tablekey.inner.\(id)"))
      let text = try Wrap.decrypt(
        table.ciphertext, key: key, aad: SealAAD.estate(estateID: estate, epoch: 0, purpose: "table.\(id)"))
      let entry = try #require(try JSONReader.parse(text.exposed())["entries"]?.array?.first)
      let blobID = try #require(entry["blobIDs"]?.array?.first?.string)
      let contentKey = try #require(entry["contentKey"]?.string.flatMap { Base64.decode($0) })
      let letter = try Wrap.decrypt(
        try #require(capsule.contentBlobs[blobID]), key: SecretBytes(contentKey),
        aad: SealAAD.estate(estateID: estate, epoch: 0, purpose: "blob.\(blobID)"))
      #expect(try JSONReader.parse(letter.exposed())["title"]?.string == "A letter")
      // Nobody else's key opens the table.
      #expect(throws: WrapError.self) {
        _ = try Wrap.open(
          table.releaseWraps[0], with: made.holders[0].halves.bundle,
          authenticating: SealAAD.estate(estateID: estate, epoch: 1, purpose: "tablekey.release.\(id)"))
      }
    }
  }

  @Test func combiningNamesABadShare() async throws {
    let made = try await TestEstate.written(upTo: .authorized)
    let verified = await made.verify()
    let (statement, material) = (try #require(verified.statement), try #require(verified.material))
    let combiner = ReleaseCombiner(estateID: made.capsule.estateID, statement: statement, material: material)
    func combine(_ events: [EstateEvent]) -> String {
      do {
        _ = try combiner.combine(
          claimID: made.estate.claimID, taps: events, claimant: made.holders[1].hash,
          with: made.holders[1].halves.bundle)
        return ""
      } catch { return error.name }
    }
    #expect(combine(made.capsule.events) == "")
    #expect(combine(made.capsule.events.filter { $0.kind != .authorization }) == "notEnoughShares")
    // A share that opens and is not one that the owner issued ends the whole.
    let wrong = try Wrap.seal(
      SecretBytes([1] + Random.bytes(32)), to: made.holders[1].halves.bundle.publicKeys,
      authenticating: SealAAD.releaseShare(
        estateID: made.capsule.estateID, epoch: 1, claimID: made.estate.claimID))
    let body = AuthorizationPayload(
      claimID: made.estate.claimID, epoch: 1, recordHeadDigest: [],
      assertion: StoredAssertion(credentialID: [], clientDataJSON: [], authenticatorData: [], signature: []),
      shareForClaimant: [wrong])
    let event = try made.event(.authorization, by: made.holders[0], body.encoded())
    #expect(combine([event] + made.capsule.events) == "badShare")
  }

  private static let malformed: [(text: String, name: String)] = [
    ("", "jsonTruncated"), ("[]", "jsonUnexpectedByte"), ("{}", "unknownFormat"), ("\u{feff}{}", "jsonByteOrderMark"),
    (#"{"format":"seal.cake"}"#, "unknownFormat"), (#"{"format":"seal.capsule"}"#, "missingMember"),
    (#"{"format":"seal.capsule","version":2}"#, "unsupportedVersion"),
    (#"{"format":"seal.capsule","version":"1"}"#, "badMember"),
    (#"{"format":"seal.capsule","version":1}"#, "missingMember"),
    (#"{"format":"seal.capsule","format":"seal.capsule"}"#, "jsonDuplicateMember"),
    (#"{"format":"seal.capsule","events":[{"id":"a","id":"a"}]}"#, "jsonDuplicateMember"),
    (#"{"format":"seal.capsule","events":[{}]}"#, "missingMember"),
    (#"{"format":"seal.capsule","events":{}}"#, "jsonUnexpectedByte"),
    (#"{"format":"seal.capsule","epochBlobsBase64":{"1":"e30"}}"#, "badMember"),
    (#"{"format":"seal.capsule","epochBlobsBase64":{"1":"e31="}}"#, "badMember"),
    (#"{"format":"seal.capsule","epochBlobsBase64":{"1":"e30=","1":"e30="}}"#, "jsonDuplicateMember"),
    (#"{"format":"seal.capsule","contentBlobsBase64":{"1":"\u0065"}}"#, "badMember"),
  ]

  @Test(arguments: malformed)
  func malformedFilesAreNamed(text: String, name: String) {
    let error = #expect(throws: FormatError.self) { _ = try Capsule(parsing: Array(text.utf8)) }
    #expect(error?.name == name)
  }

  @Test func everyTruncationIsRefused() async throws {
    let made = try await TestEstate.written(upTo: .sealed, policy: ReleasePolicy(), holders: 1)
    let text = made.capsule.encoded()
    for end in 0..<(text.count - 1) where end % 7 == 0 || end > text.count - 50 {
      #expect(throws: FormatError.self) { _ = try Capsule(parsing: Array(text[..<end])) }
    }
  }

  @Test func nestingAndUnknownMembers() async throws {
    let deep = #"{"format":"seal.capsule","x":"# + String(repeating: "[", count: 100_000)
    let error = #expect(throws: FormatError.self) { _ = try Capsule(parsing: Array(deep.utf8)) }
    #expect(error?.name == "jsonTooDeep")
    let made = try await TestEstate.written(upTo: .sealed)
    let text = String(decoding: made.capsule.encoded(), as: UTF8.self)
      .replacing(
        "{\n  \"contentBlobsBase64\"", with: "{\n  \"added\" : {\"later\":[1,2.50]},\n  \"contentBlobsBase64\"")
    let read = try Capsule(parsing: Array(text.utf8))
    #expect(read.otherMembers.map(\.name) == ["added"])
    #expect(try Capsule(parsing: read.encoded()).otherMembers.map(\.name) == ["added"])
    #expect(await made.verify(read).report.isGood)
    // Null for absent, as other writers have it.
    let nulls = text.replacing("\"signatureHex\" : ", with: "\"timestampTokenBase64\":null, \"signatureHex\":")
    #expect(nulls != text)
    #expect(await made.verify(try Capsule(parsing: Array(nulls.utf8))).report.isGood)
  }

  @Test func merging() async throws {
    let made = try await TestEstate.written(upTo: .released)
    let whole = made.capsule
    // Two halves of the record, each lacking what the other has.
    var (early, late) = (whole, whole)
    early.entries.removeLast(5)
    early.identities[made.recipient.hash] = nil
    early.epochBlobs = [:]
    early.exportedAtEpoch -= 100
    late.entries.removeFirst(5)
    late.tableBlobs = [:]
    late.contentBlobs = [:]
    let merged = try CapsuleMerge([early, late])
    #expect(merged.capsule.encoded() == whole.encoded())
    #expect(merged.report.checks.isEmpty && merged.added == [whole.entries.count - 5, 5])
    #expect(await made.verify(merged.capsule).report.isGood)
    #expect(try CapsuleMerge([late, early]).capsule.encoded() == whole.encoded())
    // What differs is said; what the owner signed is kept.
    var other = whole
    other.entries[4].event.terms.occurredAtEpoch += 1
    other.epochBlobs["1"] = [1]
    let conflicted = try CapsuleMerge([other, whole])
    #expect(conflicted.report.warnings.map(\.name) == ["eventConflict", "materialConflict"])
    #expect(conflicted.capsule.epochBlobs == whole.epochBlobs)
    // So is what nobody signs; the first stays.
    other = whole
    other.identities[made.owner.hash]?.displayName = "Somebody"
    let content = try #require(whole.contentBlobs.keys.min())
    other.contentBlobs[content] = [1]
    for (files, name) in [([whole, other], "Somebody"), ([other, whole], made.owner.identity.displayName)] {
      let unsigned = try CapsuleMerge(files)
      #expect(unsigned.report.warnings.map(\.name) == ["nameConflict", "contentConflict"])
      #expect(unsigned.report.checks[0].explanation.contains("'\(name)'"))
      #expect(unsigned.capsule.encoded() == files[0].encoded())
    }
    #expect(throws: MergeError.nothingToMerge) { _ = try CapsuleMerge([]) }
    other = whole
    other.estateID = "another"
    #expect(throws: MergeError.otherEstate) { _ = try CapsuleMerge([whole, other]) }
    other = whole
    other.identities[made.owner.hash]?.publicKey = made.recipient.identity.publicKey
    #expect(throws: MergeError.publicKeyChanged(made.owner.hash)) { _ = try CapsuleMerge([whole, other]) }
    // A token that the first lacked.
    other = whole
    other.entries[3].event.timestampToken = [1]
    #expect(try CapsuleMerge([whole, other]).capsule.entries[3].event.timestampToken == [1])
  }

  @Test func base64Text() {
    for count in 0...40 {
      let bytes = Random.bytes(count)
      let text = JSONWriter.write(.base64(bytes))
      #expect(Base64Text.decode(text, 1..<(text.count - 1)) == bytes)
    }
    for bad in ["A", "AA", "AAA", "A===", "AA=A", "AB==", "AAB=", "A A=", "AA==AA==", #"A\"="#, "====", #"AAA\"#] {
      let text = Array(bad.utf8)
      #expect(Base64Text.decode(text, 0..<text.count) == nil, "\(bad)")
    }
  }
}

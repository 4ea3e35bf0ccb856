// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import TestSupport
import Testing
import WebAuthnCore

@Suite(.arithmetic) struct ArtefactTests {
  private func endorsement() throws -> (TestPerson, Artefact) {
    let ann = try TestPerson("Ann")
    var evidence = Evidence()
    evidence.rootPublicKey = ann.root.publicKey
    evidence.credentialID = ann.root.id
    evidence.key = KeyEvidence(isSimulated: true, name: "Virtual", transport: "virtual", firmwareVersion: 3)
    let endorsement = try ann.endorse(ann.device)
    return (ann, Artefact(.endorsement, endorsement, isSimulated: true, evidence: evidence))
  }

  @Test(arguments: [false, true])
  func sealBytesAreKept(pretty: Bool) throws {
    let (ann, made) = try endorsement()
    let text = made.encoded(pretty: pretty)
    let read = try Artefact(parsing: text)
    #expect(read.seal == made.seal && read.kind == .endorsement && read.isSimulated)
    #expect(read.evidence == made.evidence)
    #expect(read.encoded(pretty: pretty) == text)
    // Foreign spacing and order inside `seal` stay as they are.
    let odd = Array(#"{ "z" : 1,  "nonce":"\#(Base64.encode(Random.bytes(32)))" }"#.utf8)
    #expect(try Artefact(parsing: Artefact(.deleteMarker, seal: odd, isSimulated: false).encoded()).seal == odd)
    #expect(ann.name == "Ann")
  }

  @Test func rawFilesAreToldByTheirMembers() throws {
    let ann = try TestPerson("Ann")
    let record = try ann.record()
    let event = try EventTerms(
      id: "E", estateID: "S", kind: "heartbeat", actorHash: ann.hash, actorDevicePublicKey: ann.device.publicKey,
      occurredAtEpoch: 1, previousDigest: [], payload: []
    ).signed { try ann.device.key.signature(for: $0) }
    let nonce = Random.bytes(32)
    let attestation = FriendshipAttestation(
      nonce: nonce, timestamp: SealDate(epoch: 1), assertion: try ann.root.tap(.identityDelete(nonce: nonce)))
    let shapes: [(ArtefactKind, any SealShape)] = [
      (.identity, ann.identity), (.identityRecord, record), (.endorsement, record.deviceEndorsements[0]),
      (.assertion, attestation.assertion), (.backup, try ann.backup(TestCredential())),
      (.revocation, try ann.revoke(ann.device.publicKey)), (.friendshipAttestation, attestation),
      (.friendship, Friendship(friendRootID: ann.hash, attestation: attestation, forgedAt: SealDate(epoch: 1))),
      (.deleteMarker, TombstoneProof(nonce: nonce, assertion: attestation.assertion)), (.event, event),
      (.capsuleIdentity, CapsuleIdentity(record)),
    ]
    for (kind, shape) in shapes {
      let read = try Artefact(parsing: shape.encoded())
      #expect(read.kind == kind && !read.isSimulated && read.evidence == nil)
      #expect(read.seal == shape.encoded())
      // `--seal` of a simulated one: the mark is a member that Seal passes over, and it is found again.
      let marked = Artefact(kind, seal: shape.encoded(), isSimulated: true).sealOnly()
      let again = try Artefact(parsing: marked)
      #expect(again.kind == kind && again.isSimulated)
    }
  }

  private static let bad: [(text: String, name: String)] = [
    ("{}", "unknownFormat"), (#"{"format":"sealkey.cake","version":1}"#, "unknownFormat"),
    (#"{"format":"sealkey.identity","version":2,"simulated":false,"seal":{}}"#, "unsupportedVersion"),
    (#"{"format":"sealkey.identity","version":"1","simulated":false,"seal":{}}"#, "badMember"),
    (#"{"format":"sealkey.identity","version":1,"seal":{}}"#, "missingMember"),
    (#"{"format":"sealkey.identity","version":1,"simulated":false}"#, "missingMember"),
    (#"{"format":"sealkey.identity","version":1,"simulated":false,"seal":[]}"#, "wrongShape"),
    ("[]", "wrongShape"), ("", "jsonTruncated"),
    (#"{"format":"sealkey.identity","version":1,"version":1,"simulated":false,"seal":{}}"#, "jsonDuplicateMember"),
    (#"{"format":"sealkey.identity","version":1,"simulated":false,"seal":{"a":1,"a":1}}"#, "jsonDuplicateMember"),
  ]

  @Test(arguments: bad)
  func badFilesAreNamed(text: String, name: String) {
    let error = #expect(throws: FormatError.self) { _ = try Artefact(parsing: Array(text.utf8)) }
    #expect(error?.name == name)
  }

  @Test func hostileNesting() {
    let deep = Array(String(repeating: #"{"a":"#, count: 100_000).utf8)
    let error = #expect(throws: FormatError.self) { _ = try Artefact(parsing: deep) }
    #expect(error?.name == "jsonTooDeep")
  }

  @Test func verification() throws {
    let (ann, made) = try endorsement()
    // With nothing but the file: good, and it says that this proves nothing about whose key it is.
    var report = try made.verify()
    #expect(report.isGood && report.warnings.map(\.name) == ["simulated", "keyUnproven"])
    // Under the key from the directory: nothing to warn of but the simulation.
    report = try made.verify(VerificationContext(directory: [ann.hash: try ann.record()]))
    #expect(report.isGood && report.warnings.map(\.name) == ["simulated"])
    // Under another key that the person gives: bad.
    report = try made.verify(VerificationContext(rootPublicKey: try TestCredential().publicKey))
    #expect(!report.isGood)
    // Revoked in the directory: bad.
    var record = try ann.record()
    record.revocations = [try ann.revoke(ann.device.publicKey)]
    report = try made.verify(VerificationContext(directory: [ann.hash: record]))
    #expect(report.failures.map(\.name) == ["deviceRevoked"])
    // Every truncation is refused or bad.
    let text = made.encoded()
    for end in 0..<(text.count - 1) {
      #expect(throws: FormatError.self) { _ = try Artefact(parsing: Array(text[..<end])) }
    }
  }

  @Test func bareTapSaysWhatItIsFor() throws {
    let ann = try TestPerson("Ann")
    let statement = Statement.releaseAuthorize(
      estateID: "S", epoch: .max, claimID: "C", recordHeadDigest: Random.bytes(32))
    var evidence = Evidence()
    evidence.statement = statement
    evidence.rootPublicKey = ann.root.publicKey
    let made = Artefact(.assertion, try ann.root.tap(statement), isSimulated: false, evidence: evidence)
    let read = try Artefact(parsing: made.encoded(pretty: true))
    #expect(read.evidence?.statement == statement)
    #expect(try read.verify().isGood)
    evidence.statement = .custodyConfirm(estateID: "S", epoch: .max, recordHeadDigest: Random.bytes(32))
    let other = Artefact(.assertion, seal: made.seal, isSimulated: false, evidence: evidence)
    #expect(try other.verify().failures.map(\.name) == ["challengeMismatch"])
    #expect(
      try Artefact(.assertion, seal: made.seal, isSimulated: false).verify().failures.map(\.name) == [
        "statementMissing"
      ])
  }
}

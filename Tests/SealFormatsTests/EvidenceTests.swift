// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import SealFormats

/// What stands beside Seal's own JSON, changed member by member in files of every kind: no contradiction is called good.
@Suite(.arithmetic) struct EvidenceTests {
  private let people: EvidenceCases
  private var ann: TestPerson { people.ann }
  private var ben: TestPerson { people.ben }

  init() throws { people = try EvidenceCases() }

  private func evidence(_ person: TestPerson, _ statement: Statement?, registered: Bool = false) -> Evidence {
    people.evidence(person, statement, registered: registered)
  }

  /// Each field of a statement with its last character changed.
  private static func neighbours(_ statement: Statement) throws -> [(field: String, statement: Statement)] {
    let form = try #require(CommitmentForm.named(statement.name))
    return try statement.fields.enumerated().compactMap { place, field in
      guard let last = field.value.last else { return nil }
      var fields = statement.fields
      fields[place].value = String(field.value.dropLast()) + (last == "0" ? "1" : "0")
      // A root hash may be of anything; a kind of event that nobody knows is still text.
      return (field.name, try form.statement(from: fields))
    }
  }

  @Test func everyMemberThatSaysAnother() throws {
    let stranger = try TestPerson("Eve")
    for one in try people.all() {
      let what = one.artefact.kind.rawValue
      #expect(try one.names().isEmpty, "\(what)")
      #expect(try one.names { $0.rootPublicKey = stranger.root.publicKey } == ["evidenceRootKeyDiffers"], "\(what)")
      // A registration beside it says so too, where the Seal part itself has no credential ID.
      let named = try one.names { $0.credentialID = stranger.root.id }
      #expect(named.first == "evidenceCredentialDiffers", "\(what)")
      #expect(named.dropFirst().allSatisfy { $0 == "credentialIDMismatch" }, "\(what)")
      let other = Statement.identityDelete(nonce: Random.bytes(32))
      #expect(try one.names { $0.statement = other } == [one.changedStatement], "\(what)")
      let statements = try (one.artefact.evidence?.statement).map { try Self.neighbours($0) } ?? []
      for (field, changed) in statements {
        #expect(try one.names { $0.statement = changed } == [one.changedStatement], "\(what): \(field)")
      }
      // A registration beside any of them is the root's, and whole.
      let foreign = evidence(stranger, nil, registered: true)
      func replace(_ evidence: inout Evidence) {
        evidence.attestationObject = foreign.attestationObject
        evidence.registrationClientDataJSON = foreign.registrationClientDataJSON
        evidence.registrationChallenge = foreign.registrationChallenge
      }
      let found = try one.names(replace)
      #expect([["credentialIDMismatch"], ["evidenceRegistrationDiffers"]].contains(found), "\(what): \(found)")
      for take: (inout Evidence) -> Void in [
        { $0.attestationObject = nil }, { $0.registrationClientDataJSON = nil }, { $0.registrationChallenge = nil },
      ] {
        let part = try one.names {
          replace(&$0)
          take(&$0)
        }
        #expect(part == ["evidenceRegistrationIncomplete"], "\(what)")
      }
      // What the key said of itself.
      #expect(try one.names { $0.key?.aaguid = Random.bytes(16) }.contains("evidenceModelDiffers"), "\(what)")
      #expect(try one.names { $0.key?.firmwareVersion = 6 } == ["evidenceFirmwareDiffers"], "\(what)")
      #expect(try one.names { $0.key?.getInfo = [0xa1] } == ["evidenceInfoUnreadable"], "\(what)")
      // Evidence may be less than all.
      #expect(
        try one.names {
          $0 = Evidence()
          $0.statement = one.artefact.kind == .assertion ? one.artefact.evidence?.statement : nil
        }.isEmpty, "\(what)")
    }
  }

  /// A lock is tried by nobody but the key; what no key could open is bad.
  @Test func locksThatNoKeyCouldOpen() throws {
    let cases: [(lock: Int?, salt: Int?, isGood: Bool)] = [
      (nil, nil, true), (92, 32, true), (4096, 32, true), (0, 32, false), (91, 32, false), (4097, 32, false),
      (92, nil, false), (nil, 32, false),
    ]
    for one in cases {
      var record = try ann.record()
      record.deviceEndorsements[0].lockedPrivate = one.lock.map { Random.bytes($0) }
      record.deviceEndorsements[0].prfSalt = one.salt.map { Random.bytes($0) }
      let context = VerificationContext(directory: [ann.hash: record])
      for artefact in [
        Artefact(.identityRecord, record, isSimulated: false),
        Artefact(.endorsement, record.deviceEndorsements[0], isSimulated: false),
      ] {
        let report = try artefact.verify(context)
        #expect(report.failures.map(\.name) == (one.isGood ? [] : ["badLock"]), "\(one)")
        let hasLock = report.checks.contains { $0.name == "lockNotTried" }
        #expect(hasLock == (one.isGood && one.lock != nil), "\(one)")
      }
    }
  }

  /// A maker's word that is broken is told, and never fails a good key.
  @Test func brokenAttestation() throws {
    for one in try people.all() where one.artefact.evidence?.attestationObject != nil {
      var evidence = try #require(one.artefact.evidence)
      let object = try AttestationObject(parsing: try #require(evidence.attestationObject))
      evidence.attestationObject = AttestationObject.build(
        format: "packed",
        statement: CBORValue.encode(.map([(.text("alg"), .int(-7)), (.text("sig"), .bytes(Random.bytes(70)))])),
        authenticatorData: object.authenticatorDataBytes)
      let report = try Artefact(one.artefact.kind, seal: one.artefact.seal, isSimulated: false, evidence: evidence)
        .verify(one.context)
      #expect(report.isGood, "\(one.artefact.kind.rawValue)")
      let warned = report.warnings.filter { $0.subject == "attestation" }.map(\.name)
      #expect(warned == ["attestationSignatureDoesNotMatch"], "\(one.artefact.kind.rawValue)")
      let before = try one.artefact.verify(one.context)
      #expect(!before.checks.contains { $0.subject == "attestation" })
    }
  }

  /// A stated root key that is another than the one that is known, or that the file itself names.
  @Test func keysThatContradict() throws {
    let eve = try TestCredential()
    for one in try people.all() where ![.receipt, .forgeHandshake].contains(one.artefact.kind) {
      guard one.artefact.kind != .event || one.artefact.evidence?.statement?.name != "estate.event.v1" else { continue }
      var context = one.context
      context.rootPublicKey = eve.publicKey
      let names = try one.artefact.verify(context).failures.map(\.name)
      #expect(names.contains("publicKeyChanged"), "\(one.artefact.kind.rawValue): \(names)")
    }
  }

  /// Whoever names people asks whether one of them made the file: a file of every kind that is another's is bad, whether
  /// the other is known here or comes with the file alone.
  @Test func whatNobodyNamedMade() throws {
    let eve = try TestPerson("Eve")
    let nobodyElse = [eve.hash: try eve.record()]
    var everybody = nobodyElse
    for person in [ann, ben] { everybody[person.hash] = try person.record() }
    func names(_ artefact: Artefact, _ directory: [String: DirectoryRecord], _ named: Set<String>?) throws -> [String] {
      try artefact.verify(VerificationContext(directory: directory, namedSigners: named)).failures.map(\.name)
    }
    for one in try people.all() {
      let kind = one.artefact.kind
      // The signers' own, with or without others; and nobody named.
      for named in [nil, [ann.hash], [ann.hash, eve.hash], kind == .receipt ? [ben.hash] : nil] as [Set<String>?] {
        #expect(try names(one.artefact, everybody, named).isEmpty, "\(kind.rawValue)")
      }
      #expect(try names(one.artefact, everybody, [eve.hash]) == ["signerNotNamed"], "\(kind.rawValue)")
      if kind != .receipt {
        // Nor is it enough to have been there.
        #expect(try names(one.artefact, everybody, [ben.hash]) == ["signerNotNamed"], "\(kind.rawValue)")
      }
      // These two name people whose keys they do not bring.
      let unknown =
        kind == .forgeHandshake
        ? ["identityMissing"]
        : kind == .receipt
          ? ["identityMissing", "identityMissing", "identityMissing", "signerNotNamed"] : ["signerNotNamed"]
      #expect(try names(one.artefact, nobodyElse, [eve.hash]) == unknown, "\(kind.rawValue)")
      // Seal's own JSON alone.
      let bare = try names(try Artefact(parsing: one.artefact.seal), everybody, [eve.hash])
      let mute: [ArtefactKind: String] = [
        .assertion: "statementMissing", .backup: "identityMissing", .friendship: "identityMissing",
        .friendshipAttestation: "identityMissing",
      ]
      #expect(bare == [mute[kind] ?? "signerNotNamed"], "\(kind.rawValue)")
    }
    // A key and a challenge that the person gave are of one person, and the named is another.
    let tap = Statement.custodyConfirm(estateID: "S1", epoch: 1, recordHeadDigest: [])
    var context = VerificationContext(
      directory: nobodyElse, rootPublicKey: ann.root.publicKey, challenge: try tap.commitment().digest)
    let assertion = Artefact(.assertion, try ann.root.tap(tap), isSimulated: false)
    #expect(try assertion.verify(context).isGood)
    context.namedSigners = [eve.hash]
    #expect(try assertion.verify(context).failures.map(\.name) == ["signerNotNamed"])
  }

  /// The credential ID beside a signature is covered by nothing: it must be the signer's, and a wrong one does not take
  /// away what is signed.
  @Test func credentialIDsBesideSignatures() throws {
    let spare = try TestCredential()
    func other(_ json: [UInt8]) throws -> [UInt8] {
      var tap = try StoredAssertion(parsing: json)
      tap.credentialID = Random.bytes(32)
      return tap.encoded(.compact)
    }
    let context = VerificationContext(directory: [ann.hash: try ann.record()], rootHash: ann.hash)
    func names(_ kind: ArtefactKind, _ shape: some SealShape) throws -> [String] {
      try Artefact(kind, shape, isSimulated: false).verify(context).failures.map(\.name)
    }
    var record = try ann.record()
    record.deviceEndorsements[0].assertionJSON = try other(record.deviceEndorsements[0].assertionJSON)
    #expect(try names(.identityRecord, record) == ["credentialIDMismatch"])
    #expect(try VerifiedIdentity(record: record).devices.count == 1)
    #expect(try names(.endorsement, record.deviceEndorsements[0]) == ["credentialIDMismatch"])
    #expect(try names(.capsuleIdentity, CapsuleIdentity(record)) == ["credentialIDMismatch"])

    var backup = try ann.backup(spare)
    backup.assertionJSON = try other(backup.assertionJSON)
    var accepted = try ann.backup(spare)
    accepted.acceptanceJSON = try other(accepted.acceptanceJSON)
    var revocation = try ann.revoke(spare.publicKey)
    revocation.assertionJSON = try other(revocation.assertionJSON)
    #expect(try names(.revocation, revocation) == ["credentialIDMismatch"])
    for (one, what) in [(backup, "named"), (accepted, "accepted")] {
      var identity = ann.identity
      identity.backupCredentials = [one]
      #expect(try names(.backup, one) == ["credentialIDMismatch"], "\(what)")
      #expect(try names(.identity, identity) == ["credentialIDMismatch"], "\(what)")
      record = try ann.record()
      record.backups = [one]
      #expect(try names(.identityRecord, record) == ["credentialIDMismatch"], "\(what)")
      // It is a backup all the same, and a revocation revokes.
      #expect(try AuthoritySet(record: record).members.count == 2)
      record.revocations = [revocation]
      #expect(try AuthoritySet(record: record).members.count == 1)
      // What is known here does not make somebody else's file bad.
      record.revocations = []
      let held = try VerifiedIdentity(
        capsule: CapsuleIdentity(ann.record()), backups: record.backups, revocations: [revocation])
      #expect(held.report.isGood && held.report.warnings.contains { $0.name == "credentialIDMismatch" })
    }
  }

  /// A challenge that the person gave does not silence the file.
  @Test func aBareChallengeAndTheFile() throws {
    let tap = Statement.custodyConfirm(estateID: "S1", epoch: 1, recordHeadDigest: [])
    let challenge = try tap.commitment().digest
    let assertion = try ann.root.tap(tap)
    let context = VerificationContext(rootPublicKey: ann.root.publicKey, challenge: challenge)
    var beside = evidence(ann, tap)
    func report() throws -> VerificationReport {
      try Artefact(.assertion, assertion, isSimulated: false, evidence: beside).verify(context)
    }
    #expect(try report().isGood)
    beside.statement = .custodyConfirm(estateID: "S2", epoch: 1, recordHeadDigest: [])
    #expect(try report().failures.map(\.name) == ["evidenceStatementDiffers"])
    beside = evidence(ben, tap)
    #expect(try report().failures.map(\.name) == ["evidenceRootKeyDiffers", "evidenceCredentialDiffers"])
    // Nothing but the key and the challenge is known: whose credential it is, nothing says.
    let raw = try Artefact(parsing: assertion.encoded()).verify(context)
    #expect(raw.isGood && raw.checks.contains { $0.name == "notCovered" && $0.outcome == .note })
  }

  /// Bytes that nothing announces: Seal passes over them, WebAuthn does not know them, and here they have a name, in a
  /// registration and in a tap, although the key has signed them.
  @Test func bytesThatNothingAnnounces() throws {
    func names(_ evidence: Evidence) throws -> [String] {
      try Artefact(.identity, ann.identity, isSimulated: false, evidence: evidence).verify().failures.map(\.name)
    }
    let good = evidence(ann, nil, registered: true)
    #expect(try names(good).isEmpty)
    let object = try #require(good.attestationObject)
    var odd = good
    odd.attestationObject = object + [0]
    #expect(try names(odd) == ["attestationObjectTrailingBytes"])
    #expect((try? SealRegistration(attestationObject: object + [0])) != nil)
    let data = try AttestationObject(parsing: object).authenticatorDataBytes
    odd.attestationObject = AttestationObject.build(
      format: "none", statement: CBORValue.encode(.map([])), authenticatorData: data + [0xa0])
    #expect(try names(odd) == ["authenticatorDataTrailingBytes"])
    #expect((try? SealRegistration(attestationObject: odd.attestationObject ?? [])) != nil)

    let statement = Statement.revokeDevice(devicePublicKey: ann.device.publicKey)
    var tap = try ann.root.tap(statement)
    tap.authenticatorData.append(0xa0)
    tap.signature = try ann.root.key.signature(for: tap.authenticatorData + SHA256.hash(tap.clientDataJSON))
    let revocation = DeviceRevocation(
      devicePublicKey: ann.device.publicKey, assertion: tap, revokedAt: SealDate(epoch: 1))
    let report = try Artefact(.revocation, revocation, isSimulated: false, evidence: evidence(ann, statement)).verify()
    #expect(report.failures.map(\.name) == ["authenticatorDataTrailingBytes"])
  }

  /// The mark of a virtual key inside the Seal part counts as much as one beside it.
  @Test func theInnerMarkIsFound() throws {
    var record = try ann.record()
    record.isSimulated = true
    #expect(try Artefact(parsing: Artefact(.identityRecord, record, isSimulated: false).encoded()).isSimulated)
  }
}

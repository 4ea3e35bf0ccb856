// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import TestSupport
import Testing
import WebAuthnCore

struct AssertionVector: Decodable {
  let note: String
  let verify: Bool
  let rootPublicKeyHex: String
  let credentialIDHex: String
  let challengeHex: String
  let stored_json: String
}

struct AssertionVectors: Decodable {
  struct EventSignature: Decodable {
    let device_x963_hex: String
    let digest_hex: String
    let signature_der_hex: String
  }
  let assertions: [AssertionVector]
  let event_signature: EventSignature
}

private let corpus: Comment = Comment(rawValue: Corpus.absent)

@Suite(.arithmetic) struct VerificationTests {
  @Test(.enabled(if: Corpus.has("seal-vectors.json"), corpus))
  func everyAssertionVector() throws {
    for vector in try Corpus.decode("seal-vectors.json", as: AssertionVectors.self).assertions {
      let stored = try StoredAssertion(parsing: Array(vector.stored_json.utf8))
      #expect(stored.credentialID == bytes(hex: vector.credentialIDHex))
      let report = stored.verify(
        publicKey: bytes(hex: vector.rootPublicKeyHex), challenge: bytes(hex: vector.challengeHex))
      #expect(report.isGood == vector.verify, "\(vector.note): \(report.checks)")
      // Under any other challenge, and with any byte of it changed, none of them is good.
      #expect(!stored.verify(publicKey: bytes(hex: vector.rootPublicKeyHex), challenge: [0]).isGood)
      for index in stored.authenticatorData.indices {
        var changed = stored
        changed.authenticatorData[index] ^= 1
        #expect(
          !changed.verify(
            publicKey: bytes(hex: vector.rootPublicKeyHex), challenge: bytes(hex: vector.challengeHex)
          ).isGood)
      }
    }
  }

  /// The digest is the message: ECDSA hashes it once more.
  @Test(.enabled(if: Corpus.has("seal-vectors.json"), corpus))
  func eventSignatureVector() throws {
    let vector = try Corpus.decode("seal-vectors.json", as: AssertionVectors.self).event_signature
    let key = try P256.Signing.PublicKey(x963Representation: bytes(hex: vector.device_x963_hex))
    #expect(key.isValidSignature(bytes(hex: vector.signature_der_hex), for: bytes(hex: vector.digest_hex)))
  }

  @Test func endorsementsByRootAndBackup() throws {
    let ann = try TestPerson("Ann")
    let (backup, stranger) = (try TestCredential(), try TestCredential())
    let (second, third, odd) = (try TestDevice(), try TestDevice(), try TestDevice(bundle: Random.bytes(33)))
    var record = try ann.record()
    record.backups = [try ann.backup(backup)]
    record.deviceEndorsements += [try ann.endorse(second, by: backup)]
    var identity = try VerifiedIdentity(record: record)
    #expect(identity.report.isGood)
    #expect(identity.devices.map(\.isBackupEndorsed) == [false, true])
    #expect(identity.report.warnings.contains { $0.name == "backupEndorsed" })

    record.deviceEndorsements += [try ann.endorse(third, by: stranger)]
    identity = try VerifiedIdentity(record: record)
    #expect(!identity.report.isGood)
    #expect(identity.device(third.publicKey) == nil)

    // A revoked backup endorses nothing any more, and a revoked device is told apart from one that never was.
    record.deviceEndorsements.removeLast()
    record.revocations = [try ann.revoke(backup.publicKey), try ann.revoke(ann.device.publicKey)]
    identity = try VerifiedIdentity(record: record)
    #expect(identity.devices.isEmpty)
    #expect(identity.revokedDevices.map(\.publicKey) == [ann.device.publicKey])

    // Only the root revokes.
    record.revocations = [try ann.revoke(ann.device.publicKey, by: backup)]
    identity = try VerifiedIdentity(record: record)
    #expect(identity.devices.count == 2)
    #expect(identity.report.warnings.contains { $0.name == "revocationIgnored" })

    // A bundle of an odd length: the device signs, and cannot be wrapped to. No builder makes one, so it is signed here.
    var preimage = Array("seal.endorse.v3".utf8)
    for field in [odd.publicKey, odd.bundle] {
      preimage += [0, 0, 0, UInt8(field.count)] + field
    }
    let endorsement = DeviceEndorsement(
      devicePublicKey: odd.publicKey, kemBundlePublicKeys: odd.bundle,
      assertion: try ann.root.tap(challenge: SHA256.hash(preimage)), createdAt: SealDate(epoch: 0))
    record.deviceEndorsements = [endorsement]
    record.revocations = []
    identity = try VerifiedIdentity(record: record)
    #expect(identity.devices.count == 1 && identity.devices[0].bundle == nil)
    #expect(identity.report.isGood && identity.report.warnings.contains { $0.name == "notWrappable" })
  }

  @Test func oldEndorsementsNeedExactLengths() throws {
    let ann = try TestPerson("Ann")
    func old(_ bundle: [UInt8]) throws -> DeviceEndorsement {
      let device = try TestDevice(bundle: bundle)
      let challenge = SHA256.hash(Array("seal.endorse.v2".utf8), device.publicKey, bundle)
      return DeviceEndorsement(
        devicePublicKey: device.publicKey, kemBundlePublicKeys: bundle,
        assertion: try ann.root.tap(challenge: challenge), createdAt: SealDate(epoch: 0))
    }
    let authorities = try AuthoritySet(record: ann.record())
    #expect(try authorities.check(old(Random.bytes(32))).isV2)
    for size in [0, 31, 33, 1220] {
      let endorsement = try old([UInt8]("SKB1".utf8.prefix(size)) + Random.bytes(max(0, size - 4)))
      let failure = #expect(throws: EndorsementFailure.self) { _ = try authorities.check(endorsement) }
      #expect(failure?.name == "challengeMismatch")
    }
  }

  /// A wrong credential ID beside a good signature does not drop it: it is an unsigned neighbour.
  @Test func credentialIDIsOnlyAHint() throws {
    let ann = try TestPerson("Ann")
    var assertion = try ann.endorse(ann.device).assertion()
    assertion.credentialID = [1]
    var record = try ann.record()
    record.deviceEndorsements[0].assertionJSON = assertion.encoded()
    #expect(try VerifiedIdentity(record: record).devices.count == 1)
  }

  @Test func untouchedAndForeignTapsAreRefused() throws {
    let ann = try TestPerson("Ann")
    let statement = Statement.identityDelete(nonce: Random.bytes(32))
    let digest = try statement.commitment().digest
    let key = ann.root.publicKey
    #expect(try ann.root.tap(statement).verify(publicKey: key, statement: statement).isGood)
    func names(_ assertion: StoredAssertion) -> [String] {
      assertion.verify(publicKey: key, statement: statement).failures.map(\.name)
    }
    #expect(try names(ann.root.tap(statement, flags: 0x04)) == ["userNotPresent"])
    #expect(try names(ann.root.tap(challenge: digest, rpID: "example.org")) == ["rpIdHashMismatch"])
    #expect(try names(ann.root.tap(challenge: digest, type: .create)) == ["typeMismatch"])
    #expect(try names(ann.root.tap(challenge: Random.bytes(32))) == ["challengeMismatch"])
    #expect(try names(TestCredential().tap(statement)) == ["signatureDoesNotMatch"])
    // All problems are named, not the first only.
    #expect(
      try names(TestCredential().tap(challenge: digest, flags: 0, rpID: "x", type: .create))
        == ["signatureDoesNotMatch", "rpIdHashMismatch", "userNotPresent", "typeMismatch"])
  }

  @Test func receipts() throws {
    let (ann, ben) = (try TestPerson("Ann"), try TestPerson("Ben"))
    let photo = Array("photo".utf8)
    let terms = ReceiptTerms(
      receiptID: "R", giverHash: ann.hash, receiverHash: ben.hash, itemDescription: "A key",
      photoSHA256: SHA256.hash(photo), signedAtEpoch: 1_800_000_000, nonce: Random.bytes(32))
    let statement = Statement.receipt(terms)
    var receipt = CustodyReceipt(
      terms: terms, giverName: "Ann", receiverName: "Ben", receiverAssertion: try ben.root.tap(statement),
      giverSignature: try ann.device.key.signature(for: statement.commitment().digest),
      giverDevicePublicKey: ann.device.publicKey)
    let (giver, receiver) = (try VerifiedIdentity(record: ann.record()), try VerifiedIdentity(record: ben.record()))
    #expect(receipt.verify(giver: giver, receiver: receiver, photo: photo).verdict == .valid)
    #expect(try CustodyReceipt(parsing: receipt.encoded()) == receipt)
    #expect(receipt.verify(giver: giver, receiver: nil).verdict == .identityMissing)
    #expect(receipt.verify(giver: receiver, receiver: giver).verdict == .identityMissing)
    #expect(receipt.verify(giver: giver, receiver: receiver, photo: [0]).verdict == .photoAltered)
    var other = receipt
    other.giverSignature = try ben.device.key.signature(for: statement.commitment().digest)
    #expect(other.verify(giver: giver, receiver: receiver).verdict == .giverSignatureFailed)
    receipt.terms.itemDescription = "Another key"
    #expect(receipt.verify(giver: giver, receiver: receiver).verdict == .receiverSignatureFailed)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import TestSupport
import Testing
import WebAuthnCore

@Suite(.arithmetic) struct ShapeTests {
  private static let assertion = StoredAssertion(
    credentialID: [1, 2, 3], clientDataJSON: Array("{}".utf8), authenticatorData: [0xff, 0xef], signature: [9])

  @Test func storedAssertionIsSealsOwnText() throws {
    let text = #"{"authenticatorData":"\/+8=","clientDataJSON":"e30=","credentialID":"AQID","signature":"CQ=="}"#
    #expect(String(decoding: Self.assertion.encoded(), as: UTF8.self) == text)
    #expect(try StoredAssertion(parsing: Array(text.utf8)) == Self.assertion)
  }

  /// Everything Swift's decoder takes: any order, unknown members, null for absent, fractional dates, plain slashes.
  @Test func readsWhatSwiftReads() throws {
    let inner = Base64.encode(Self.assertion.encoded())
    let device = Base64.encode([4] + [UInt8](repeating: 0, count: 64))
    let endorsement = try DeviceEndorsement(
      parsing: Array(
        """
        {"revokedAt": null, "createdAt" : 712345678.25, "new": [1, {"x": null}], "assertion": "\(inner)",
         "devicePublicKey":"\(device)", "kemBundlePublicKeys": "", "prfSalt": null}
        """.utf8))
    #expect(endorsement.createdAt.secondsSince2001 == 712_345_678.25)
    #expect(endorsement.prfSalt == nil)
    #expect(try endorsement.assertion() == Self.assertion)
    let written = String(decoding: endorsement.encoded(), as: UTF8.self)
    #expect(!written.contains("null") && !written.contains("prfSalt"))
    #expect(written.contains(#""createdAt":712345678.25"#))
    #expect(try DeviceEndorsement(parsing: Array(written.utf8)) == endorsement)
  }

  private static let bad: [(text: String, name: String)] = [
    (#"{"credentialID":"AQID","clientDataJSON":"e30=","authenticatorData":"AA==","signature":"CQ"}"#, "badMember"),
    (#"{"credentialID":"AQI_","clientDataJSON":"e30=","authenticatorData":"AA==","signature":""}"#, "badMember"),
    (#"{"credentialID":"AQID","clientDataJSON":"e30=","authenticatorData":"AA=="}"#, "missingMember"),
    (#"{"credentialID":"AQID","clientDataJSON":"e30=","authenticatorData":"AA==","signature":null}"#, "missingMember"),
    (#"{"credentialID":7,"clientDataJSON":"e30=","authenticatorData":"AA==","signature":""}"#, "badMember"),
    (#"{"signature":"","signature":""}"#, "jsonDuplicateMember"), ("[]", "wrongShape"), ("", "jsonTruncated"),
    ("\u{feff}{}", "jsonByteOrderMark"), ("{} x", "jsonTrailingBytes"),
  ]

  @Test(arguments: bad)
  func badAssertionsAreNamed(text: String, name: String) {
    let error = #expect(throws: FormatError.self) { _ = try StoredAssertion(parsing: Array(text.utf8)) }
    #expect(error?.name == name)
  }

  @Test func everyTruncationOfARecordIsRefused() throws {
    let person = try TestPerson("Ann/Ånn")
    var record = try person.record()
    record.backups = [try person.backup(TestCredential())]
    record.revocations = [try person.revoke(person.device.publicKey)]
    let text = record.encoded()
    #expect(try DirectoryRecord(parsing: text) == record)
    for end in 0..<text.count {
      #expect(throws: FormatError.self) { _ = try DirectoryRecord(parsing: Array(text[..<end])) }
    }
  }

  @Test func recordsReadPlainArraysToo() throws {
    let person = try TestPerson("Ann")
    let record = try person.record()
    let members: [(String, JSONValue?)] = [
      ("publicKey", .base64(record.publicKey)), ("tier", .string("verified")), ("displayName", .string("Ann")),
      ("credentialID", .base64(person.root.id)),
      ("deviceEndorsements", .array(record.deviceEndorsements.map(\.json))),
    ]
    #expect(try DirectoryRecord(json: .object(members)) == record)
    var wrong = members
    wrong.append(("recordName", .string(String(repeating: "0", count: 64))))
    #expect(throws: FormatError.self) { _ = try DirectoryRecord(json: .object(wrong)) }
  }

  @Test func dates() {
    #expect(SealDate(epoch: 978_307_200).secondsSince2001 == 0)
    #expect(SealDate(secondsSince2001: -1.9).epoch == 978_307_198)
    #expect(SealDate.clamp(-1.9) == -1)
    #expect(SealDate.clamp(1e300) == 1_000_000_000_000 && SealDate.clamp(-.infinity) == -1_000_000_000_000)
    #expect(SealDate.clamp(.nan) == 0)
    #expect(SealDate(epoch: .min).epoch == -1_000_000_000_000)
  }

  @Test func capsuleFormsRoundTrip() throws {
    let person = try TestPerson("Ann")
    let capsule = CapsuleIdentity(try person.record())
    #expect(try CapsuleIdentity(parsing: capsule.encoded(.sortedPretty)) == capsule)
    let upper = String(decoding: capsule.encoded(), as: UTF8.self)
      .replacing(Hex.encode(person.root.publicKey), with: Hex.encode(person.root.publicKey).uppercased())
    #expect(throws: FormatError.self) { _ = try CapsuleIdentity(parsing: Array(upper.utf8)) }
  }

  @Test func peopleRoundTrip() throws {
    let (ann, ben) = (try TestPerson("Ann"), try TestPerson("Ben"))
    let nonce = Random.bytes(32)
    let attestation = FriendshipAttestation(
      nonce: nonce, timestamp: SealDate(secondsSince2001: 1.5),
      assertion: try ben.root.tap(.friend(myHash: ann.hash, theirHash: ben.hash, nonce: nonce)))
    #expect(try FriendshipAttestation(parsing: attestation.encoded()) == attestation)
    let friendship = Friendship(
      friendRootID: ben.hash, attestation: attestation, forgedAt: SealDate(epoch: 1), sponsored: true)
    #expect(try Friendship(parsing: friendship.encoded()) == friendship)
    let proof = TombstoneProof(nonce: nonce, assertion: try ann.root.tap(.identityDelete(nonce: nonce)))
    #expect(try TombstoneProof(parsing: proof.encoded()) == proof)
    #expect(proof.verify(rootHash: ann.hash, publicKey: ann.root.publicKey).isGood)
    #expect(!proof.verify(rootHash: ben.hash, publicKey: ann.root.publicKey).isGood)
    #expect(!proof.verify(rootHash: ann.hash, publicKey: ben.root.publicKey).isGood)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import SecurityKeys
import Testing
import VirtualAuthenticator
import WebAuthnCore

/// A key registered for somebody else: what it opens, and each way in which it must not.
@Suite struct SponsorTests {
  @Test func theKeyOpensWhatItLocked() async throws {
    let bench = try await KeyBench()
    let made = try await bench.sponsored()
    #expect(made.record.deviceEndorsements == [made.endorsement])
    #expect(made.endorsement.isSponsored)
    #expect(try VerifiedIdentity(record: made.record).devices.map(\.isSponsored) == [true])
    // Two touches, and the second carried both the endorsement and the secret.
    #expect(bench.virtual.log.count(.makeCredential) == 1)
    #expect(try await bench.unlock(made.record) == .hashed)
    // The record survives being written and read.
    let read: DirectoryRecord = try Artefact(parsing: made.registered.artefact.encoded()).shape(.identityRecord)
    #expect(try await bench.unlock(read) == .hashed)
    // Changing the PIN does not change the secret.
    try await bench.plugged { key, _ in
      try await key.changePIN(to: SecretBytes(Array("8642".utf8))) { _ in SecretBytes(Array(KeyBench.pin.utf8)) }
    }
    #expect(try await bench.unlock(made.record, pin: "8642") == .hashed)
    let halves = try await bench.plugged(pin: "8642") { _, session in
      let opened = try await Ceremony(key: session).unlock(made.record)
      return (opened.halves.devicePublicKey, opened.halves.bundle.publicKeys.bytes)
    }
    #expect(halves.0 == made.endorsement.devicePublicKey)
    #expect(halves.1 == made.endorsement.kemBundlePublicKeys)
  }

  /// What cannot work is refused before anybody touches anything.
  @Test(
    arguments: [
      (ModelProfile.noHMACSecret, KeyBench.pin, "prfUnsupported"), (.u2f, nil, "prfUnsupported"),
      (.virtual, nil, "uvNotConfigured"),
    ] as [(ModelProfile, String?, String)])
  func refusedBeforeTheTouch(_ profile: ModelProfile, _ pin: String?, _ name: String) async throws {
    let bench = try await KeyBench(profile, pin: pin)
    #expect(await failure { _ = try await bench.sponsored() } == name)
    #expect(bench.virtual.log.count(.makeCredential) == 0)
    #expect(!bench.virtual.log.entries.contains { $0.waits > 0 })
  }

  /// Every dishonest or broken answer on the way ends the ceremony with its own name.
  @Test(arguments: Sabotage.enrolment) func enrolmentRefuses(_ sabotage: Sabotage) async throws {
    let bench = try await KeyBench()
    let name = await failure { _ = try await bench.sponsored { sabotage.apply(TamperedKey(real: $0)) } }
    #expect(name == sabotage.name)
  }

  @Test(arguments: Sabotage.unlocking) func unlockingRefuses(_ sabotage: Sabotage) async throws {
    let bench = try await KeyBench()
    let made = try await bench.sponsored()
    let name = await failure { _ = try await bench.unlock(made.record) { sabotage.apply(TamperedKey(real: $0)) } }
    #expect(name == sabotage.name)
  }

  /// A changed record opens nothing, wherever it was changed.
  @Test func aChangedRecordIsRefused() async throws {
    let bench = try await KeyBench()
    let made = try await bench.sponsored()
    let blob = try #require(made.endorsement.lockedPrivate)
    func changed(_ change: (inout DeviceEndorsement) -> Void) -> DirectoryRecord {
      var record = made.record
      change(&record.deviceEndorsements[0])
      return record
    }
    for place in [0, 12, blob.count - 1] {
      let record = changed { $0.lockedPrivate?[place] ^= 1 }
      #expect(await failure { _ = try await bench.unlock(record) } == "lockChanged", "byte \(place)")
    }
    let cases: [(String, (inout DeviceEndorsement) -> Void)] = [
      ("lockChanged", { $0.prfSalt?[0] ^= 1 }), ("badLock", { $0.lockedPrivate = [UInt8](repeating: 0, count: 27) }),
      ("lockChanged", { $0.lockedPrivate = [UInt8](repeating: 0, count: 92) }), ("badLock", { $0.prfSalt = nil }),
      ("badLock", { $0.lockedPrivate = nil }), ("lockChanged", { $0.devicePublicKey[64] ^= 1 }),
      ("lockChanged", { $0.kemBundlePublicKeys[0] ^= 1 }), ("lockChanged", { $0.assertionJSON = [] }),
    ]
    for (index, (name, change)) in cases.enumerated() {
      #expect(await failure { _ = try await bench.unlock(changed(change)) } == name, "case \(index)")
    }
    var nameless = made.record
    nameless.credentialID = nil
    #expect(await failure { _ = try await bench.unlock(nameless) } == "missingCredentialID")
    // A file that contradicts itself is found out before the key is asked, and the key is not blamed.
    let asked = bench.virtual.log.count(.getAssertion)
    var renamed = made.record
    renamed.credentialID?[0] ^= 1
    #expect(await failure { _ = try await bench.unlock(renamed) } == "lockChanged")
    let id = try #require(renamed.credentialID)
    let another = DirectoryRecord(
      identity: RootIdentity(credentialID: id, publicKey: made.record.publicKey, tier: .verified, displayName: "Emma"),
      deviceEndorsements: made.record.deviceEndorsements)
    #expect(await failure { _ = try await bench.unlock(another) } == "lockChanged")
    #expect(bench.virtual.log.count(.getAssertion) == asked)
  }

  /// A key that gives another secret each time is found out by the last touch, and is what is to blame.
  @Test func aKeyThatForgetsIsNotFit() async throws {
    let bench = try await KeyBench(try #require(ModelProfile.named("forgetful-secret")))
    let made = try await bench.sponsored()
    let name = await failure {
      try await bench.plugged { _, session in try await Ceremony(key: session).prove(made) }
    }
    #expect(name == "keyForgets")
    let honest = try await KeyBench()
    let good = try await honest.sponsored()
    try await honest.plugged { _, session in try await Ceremony(key: session).prove(good) }
  }

  /// Another key, and the same key after a reset, with a PIN and without.
  @Test func anotherKeyIsRefused() async throws {
    let bench = try await KeyBench()
    let made = try await bench.sponsored()
    let other = try await KeyBench()
    #expect(await failure { _ = try await other.unlock(made.record) } == "wrongKey")
    #expect(await failure { _ = try await KeyBench(.noHMACSecret).unlock(made.record) } == "prfUnsupported")
    #expect(await failure { _ = try await KeyBench(.virtual, pin: nil).unlock(made.record) } == "wrongKey")
    bench.reset()
    #expect(await failure { _ = try await bench.unlock(made.record) } == "wrongKey")
    try await bench.plugged { key, _ in try await key.setPIN(SecretBytes(Array(KeyBench.pin.utf8))) }
    #expect(await failure { _ = try await bench.unlock(made.record) } == "wrongKey")
  }

  /// A lock made by a client that hands the key the salt as it is, and one made without user verification.
  @Test(arguments: [(true, true), (true, false), (false, true), (false, false)])
  func locksMadeElsewhereOpen(_ isHashed: Bool, _ isVerified: Bool) async throws {
    let bench = try await KeyBench()
    let record = try await foreign(bench, isHashed: isHashed, isVerified: isVerified)
    #expect(try await bench.unlock(record) == (isHashed ? .hashed : .raw))
    // The same lock, asked with the other kind of touch: the key has another secret for that.
    let other: UserVerificationRequirement = isVerified ? .discouraged : .preferred
    let name = await failure {
      _ = try await bench.unlock(record) { TamperedKey(real: $0, asking: { $0.userVerification = other }) }
    }
    #expect(name == "uvMismatch")
  }

  /// Halves that open and are not those that the root endorsed: the lock and the salt are unsigned.
  @Test func halvesMustBeTheEndorsedOnes() async throws {
    let bench = try await KeyBench()
    let made = try await bench.sponsored()
    let id = try #require(made.record.credentialID)
    let salt = try #require(made.endorsement.prfSalt)
    let blob = try await bench.plugged { _, session in
      let answer = try await session.getAssertion(
        AssertionRequest(
          rpID: Seal.relyingPartyID, origin: Seal.origin, challenge: Random.bytes(32),
          allowList: [CredentialDescriptor(id: id)], prfSalts: PRFSalts(input: salt)))
      return try SponsoredLock.lock(PrivateHalves(), prf: #require(answer.prf).first, salt: salt)
    }
    var record = made.record
    record.deviceEndorsements[0].lockedPrivate = blob
    #expect(await failure { _ = try await bench.unlock(record) } == "halvesDoNotMatch")
  }

  @Test func aRevokedDeviceIsRefused() async throws {
    let bench = try await KeyBench()
    let made = try await bench.sponsored()
    let key = made.endorsement.devicePublicKey
    var record = made.record
    record.revocations = try await bench.plugged { _, session in
      let signed = try await Ceremony(key: session).sign(.revokeDevice(devicePublicKey: key), as: made.record)
      return [
        DeviceRevocation(devicePublicKey: key, assertion: signed.assertion, revokedAt: SealDate(epoch: 1_800_000_000))
      ]
    }
    #expect(await failure { _ = try await bench.unlock(record) } == "deviceRevoked")
  }

  /// An identity whose lock another client made: registered, endorsed and locked by hand.
  private func foreign(_ bench: KeyBench, isHashed: Bool, isVerified: Bool) async throws -> DirectoryRecord {
    try await bench.plugged { _, session in
      var record = try await Ceremony(key: session).register(name: "Emma", enablesPRF: true).record
      let halves = try PrivateHalves()
      let bundle = halves.bundle.publicKeys.bytes
      let salt = Random.bytes(32)
      let statement = Statement.endorse(devicePublicKey: halves.devicePublicKey, kemBundle: bundle)
      let answer = try await session.getAssertion(
        AssertionRequest(
          rpID: Seal.relyingPartyID, origin: Seal.origin, challenge: statement.commitment().digest,
          allowList: [CredentialDescriptor(id: #require(record.credentialID))],
          userVerification: isVerified ? .preferred : .discouraged,
          prfSalts: isHashed ? PRFSalts(input: salt) : PRFSalts(first: salt)))
      let blob = try SponsoredLock.lock(halves, prf: #require(answer.prf).first, salt: salt)
      record.deviceEndorsements = [
        DeviceEndorsement(
          devicePublicKey: halves.devicePublicKey, kemBundlePublicKeys: bundle, assertion: StoredAssertion(answer),
          createdAt: SealDate(epoch: 1_800_000_000), lockedPrivate: blob, prfSalt: salt)
      ]
      return record
    }
  }
}

/// One way to spoil a ceremony, and the name that the failure must have.
struct Sabotage: Sendable, CustomTestStringConvertible {
  let name: String
  let what: String
  let apply: @Sendable (TamperedKey) -> TamperedKey
  var testDescription: String { what }

  private init(_ name: String, _ what: String, _ change: @escaping @Sendable (inout TamperedKey) -> Void) {
    self.name = name
    self.what = what
    apply = {
      var key = $0
      change(&key)
      return key
    }
  }

  private static let everywhere: [Sabotage] = [
    Sabotage("prfMissing", "no secret comes back") { $0.assertion = { $0.prf = nil } },
    Sabotage("prfMissing", "no secret is asked for") { $0.asking = { $0.prfSalts = nil } },
    Sabotage("verificationFailed", "the signature is of something else") {
      $0.assertion = { $0.authenticatorData[36] ^= 1 }
    },
    Sabotage("verificationFailed", "the challenge is another") {
      $0.assertion = { $0.clientDataJSON = ClientData(type: .get, challenge: [1], origin: Seal.origin).json }
    },
    Sabotage("unexpectedCredential", "another credential answers") { $0.assertion = { $0.credentialID[0] ^= 1 } },
  ]

  static let enrolment =
    everywhere + [
      Sabotage("prfUnsupported", "the key does not enable hmac-secret") { $0.registering = { $0.enablesPRF = false } },
      Sabotage("verificationFailed", "registered without verification") {
        $0.registering = { $0.userVerification = .discouraged }
      },
      Sabotage("verificationFailed", "endorsed without verification") {
        $0.asking = { $0.userVerification = .discouraged }
      },
      Sabotage("verificationFailed", "the registration names another credential") {
        $0.registration = { $0.credentialID[0] ^= 1 }
      },
    ]

  static let unlocking =
    everywhere + [
      Sabotage("lockChanged", "the key answers for another salt") {
        $0.asking = { $0.prfSalts = PRFSalts(first: [UInt8](repeating: 7, count: 32)) }
      },
      Sabotage("uvMismatch", "asked without verification") { $0.asking = { $0.userVerification = .discouraged } },
      Sabotage("prfUnsupported", "the key says that it has no hmac-secret") {
        $0.capability = { $0.supportsPRF = false }
      },
      Sabotage("uvMismatch", "the key says that it cannot verify") { $0.capability = { $0.canVerifyUser = false } },
    ]
}

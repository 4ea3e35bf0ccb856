// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

@Suite("Registrations, assertions and secrets")
struct CeremonyTests {
  static func exposed(_ output: PRFOutput?) -> (first: [UInt8], second: [UInt8]?) {
    guard let output else { return ([], nil) }
    return (output.first.exposed(), exposed(output.second))
  }

  private static func exposed(_ secret: borrowing SecretBytes?) -> [UInt8]? {
    switch secret {
    case .some(let secret): secret.exposed()
    case .none: nil
    }
  }

  @Test("what a key makes verifies, with the challenge and origin that were asked for")
  func verifies() async throws {
    let bench = try Bench()
    try await bench.setPIN()
    let request = Bench.registration()
    let made = try await bench.register(request)
    let verified = try RegistrationVerifier(
      rpID: Bench.rpID, challenge: request.challenge, origins: [request.origin], requiresUserVerification: true
    ).verify(
      attestationObject: made.attestationObject, clientDataJSON: made.clientDataJSON,
      credentialID: made.credentialID)
    #expect(verified.credentialID == made.credentialID)
    let ask = Bench.assertion([made.credentialID])
    let got = try await bench.assert(ask)
    try AssertionVerifier(
      rpID: Bench.rpID, challenge: ask.challenge, origins: [ask.origin], requiresUserVerification: true
    ).verify(
      authenticatorData: got.authenticatorData, clientDataJSON: got.clientDataJSON, signature: got.signature,
      publicKey: verified.publicKey)
    #expect(bench.virtual.storedCredentials == 0, "Seal's credentials are not discoverable")
  }

  @Test(
    "secrets: stable, one tap for two, other ones with another salt, credential or verification", arguments: [1, 2])
  func secrets(protocolNumber: Int) async throws {
    let bench = try Bench(protocolNumber == 1 ? .protocol1 : .protocol2)
    try await bench.setPIN()
    let id = try await bench.register(Bench.registration(prf: true)).credentialID
    let other = try await bench.register(Bench.registration(prf: true)).credentialID
    let (salt1, salt2) = (Random.bytes(32), Random.bytes(32))
    func secret(
      _ id: [UInt8], _ first: [UInt8], _ second: [UInt8]? = nil, uv: UserVerificationRequirement = .preferred
    ) async throws -> (first: [UInt8], second: [UInt8]?) {
      Self.exposed(
        try await bench.assert(Bench.assertion([id], uv: uv, salts: PRFSalts(first: first, second: second))).prf)
    }
    let one = try await secret(id, salt1)
    #expect(one.first.count == 32 && one.second == nil)
    #expect(try await secret(id, salt1).first == one.first)
    let both = try await secret(id, salt1, salt2)
    #expect(both.first == one.first)
    #expect(try await secret(id, salt2).first == both.second)
    #expect(both.first != both.second)
    #expect(try await secret(other, salt1).first != one.first)
    #expect(try await secret(id, salt1, uv: .discouraged).first != one.first)
  }

  @Test("salts of a wrong length are refused before the key is asked", arguments: [0, 16, 31, 33, 64])
  func badSalts(count: Int) async throws {
    let bench = try Bench()
    try await bench.setPIN()
    let id = try await bench.register(Bench.registration(prf: true)).credentialID
    let touches = bench.touches
    let bad = [UInt8](repeating: 1, count: count)
    for salts in [PRFSalts(first: bad), PRFSalts(first: Random.bytes(32), second: bad)] {
      #expect(await failure { try await bench.assert(Bench.assertion([id], salts: salts)) } == "badSalt")
    }
    #expect(bench.touches == touches)
  }

  @Test("a key without hmac-secret is refused before any touch, and stays as it was")
  func noPRF() async throws {
    let bench = try Bench(.noHMACSecret)
    try await bench.setPIN()
    #expect(await failure { try await bench.register(Bench.registration(prf: true)) } == "prfUnsupported")
    let id = try await bench.register().credentialID
    bench.virtual.log.clear()
    let salts = PRFSalts(first: Random.bytes(32))
    #expect(await failure { try await bench.assert(Bench.assertion([id], salts: salts)) } == "prfUnsupported")
    #expect(bench.virtual.log.entries.isEmpty)
  }

  @Test("a credential made without hmac-secret gives no secret, by name")
  func prfMissing() async throws {
    let bench = try Bench()
    try await bench.setPIN()
    let id = try await bench.register().credentialID
    let salts = PRFSalts(first: Random.bytes(32))
    #expect(await failure { try await bench.assert(Bench.assertion([id], salts: salts)) } == "prfMissing")
  }

  @Test("a registration on the same key again is refused, and one on another key is not", arguments: [true, false])
  func exclude(u2f: Bool) async throws {
    let (first, second) = (try Bench(u2f ? .u2f : .virtual), try Bench(u2f ? .u2f : .virtual))
    let id = try await first.register().credentialID
    #expect(
      await failure { try await first.register(Bench.registration(exclude: [Random.bytes(64), id])) }
        == "alreadyRegistered")
    #expect(await failure { try await second.register(Bench.registration(exclude: [Random.bytes(64), id])) } == nil)
  }

  @Test("an assertion for another key's credential is not on this key, without a touch", arguments: [true, false])
  func notHere(u2f: Bool) async throws {
    let (first, second) = (try Bench(u2f ? .u2f : .virtual), try Bench(u2f ? .u2f : .virtual))
    let id = try await first.register().credentialID
    #expect(await failure { try await second.assert(Bench.assertion([id])) } == "notOnThisKey")
    #expect(second.touches == 0)
  }

  @Test("discoverable: an empty allow list finds it, and gives its user handle")
  func discoverable() async throws {
    let bench = try Bench()
    try await bench.setPIN()
    var request = Bench.registration()
    request.isDiscoverable = true
    let made = try await bench.register(request)
    #expect(bench.virtual.storedCredentials == 1)
    let got = try await bench.assert(Bench.assertion([]))
    #expect(got.credentialID == made.credentialID)
    #expect(got.userHandle == request.userID)
  }

  @Test("a key that was asked to verify and did not: uvMissing")
  func uvMissing() async throws {
    let bench = try Bench()
    try await bench.setPIN()
    let id = try await bench.register().credentialID
    // The answer of an assertion without verification, played to a question with it.
    let without = try await bench.key.getAssertion(Bench.assertion([id], uv: .discouraged), pin: nil)
    let reply =
      [0]
      + CBORValue.encode(
        .intMap([
          (1, .textMap([("id", .bytes(id)), ("type", .text("public-key"))])), (2, .bytes(without.authenticatorData)),
          (3, .bytes(without.signature)),
        ]))
    // tries, key agreement, token, assertion
    bench.faults.add(.command(bench.faults.commands + 3, .replaceReply(reply)))
    #expect(await failure { try await bench.assert(Bench.assertion([id])) } == "uvMissing")
  }

  @Test("a fingerprint that is not recognised is asked for again, then the PIN", arguments: [0, 1, 2, 3])
  func reader(mistakes: Int) async throws {
    let bench = try Bench(.biometric)
    try await bench.setPIN()
    _ = try await bench.key.enrolFingerprint(named: "thumb", pin: bench.person)
    bench.asked.withLock { $0 = [] }
    bench.virtual.fingerprint.set(Array(repeating: .mismatch, count: mistakes * 5), then: .match)
    let made = try await bench.register()
    #expect(try Bench.flags(made).contains(.userVerified))
    #expect(bench.pinQuestions <= 1)
    #expect(bench.virtual.pinRetries == 8)
  }

  /// A key with a reader and a finger enrolled, which is asked with the option `uv`: there 0x27 means both.
  static func reader(is21: Bool, withPIN: Bool) async throws -> Bench {
    let profile = ModelProfile.biometric.varied("reader") {
      $0.enrolledFingerprints = 1
      $0.info.options["pinUvAuthToken"] = nil
      if !is21 { $0.info.versions = ["FIDO_2_0"] }
    }
    let bench = try Bench(profile)
    if withPIN { try await bench.setPIN() }
    return bench
  }

  @Test("a \"no\" on the key itself is an answer, and nobody is asked twice", arguments: [false, true])
  func denied(withPIN: Bool) async throws {
    let bench = try await Self.reader(is21: true, withPIN: withPIN)
    bench.virtual.touch.setPolicy(.refuse)
    #expect(await failure { try await bench.register() } == "operationDenied")
    #expect(bench.fingers == 1 && bench.pinQuestions == 0)
    bench.virtual.touch.setPolicy(.automatic)
    // A wrong finger is asked for again, and is what it is called.
    bench.virtual.fingerprint.set(Array(repeating: .mismatch, count: 3), then: .match)
    #expect(await failure { try await bench.register() } == nil)
    #expect(bench.fingers == 1 + 4 && bench.pinQuestions == 0)
  }

  @Test("a \"no\" to the token that the reader was to give is one as well")
  func deniedToken() async throws {
    let bench = try Bench(ModelProfile.biometric.varied("finger") { $0.enrolledFingerprints = 1 })
    try await bench.key.open()
    // Tries, key agreement, and the token.
    bench.faults.add(.command(bench.faults.commands + 2, .status(.operationDenied)))
    #expect(await failure { try await bench.register() } == "operationDenied")
    #expect(bench.faults.fired == 1 && bench.fingers == 0 && bench.virtual.log.count(.makeCredential) == 0)
    #expect(await failure { try await bench.register() } == nil)
  }

  @Test("a key that does not count its tries is not asked twice: the PIN where there is one", arguments: [false, true])
  func deniedUncounted(withPIN: Bool) async throws {
    let bench = try await Self.reader(is21: false, withPIN: withPIN)
    bench.virtual.touch.setPolicy(.script([.refuse], then: .automatic))
    #expect(await failure { try await bench.register() } == (withPIN ? nil : "operationDenied"))
    #expect(bench.fingers == 1 && bench.pinQuestions == (withPIN ? 1 : 0))
  }

  @Test("a reader that never recognises anybody: the PIN, once")
  func readerBlocked() async throws {
    let bench = try Bench(.biometric)
    try await bench.setPIN()
    _ = try await bench.key.enrolFingerprint(named: "thumb", pin: bench.person)
    bench.asked.withLock { $0 = [] }
    bench.virtual.fingerprint.set(then: .mismatch)
    let made = try await bench.register()
    #expect(try Bench.flags(made).contains(.userVerified))
    #expect(bench.pinQuestions == 1)
  }

  @Test("the passkeys of a key are listed, renamed and deleted", arguments: [ModelProfile.virtual, .final, .protocol1])
  func passkeys(profile: ModelProfile) async throws {
    let bench = try Bench(profile)
    #expect(await failure { try await bench.key.passkeys(pin: bench.person) } == "pinNotSet")
    try await bench.setPIN()
    #expect(try await bench.key.passkeys(pin: bench.person).passkeys.isEmpty)
    var made: [[UInt8]] = []
    for (rp, name) in [("a.example", "Ada"), ("a.example", "Bert"), ("b.example", "Cleo")] {
      var request = Bench.registration()
      (request.rpID, request.userName, request.userDisplayName, request.isDiscoverable) = (rp, name, name, true)
      made.append(try await bench.register(request).credentialID)
    }
    bench.asked.withLock { $0 = [] }
    let listed = try await bench.key.passkeys(pin: bench.person)
    #expect(bench.pinQuestions == 1)
    #expect(Set(listed.passkeys.map(\.id)) == Set(made))
    #expect(Set(listed.passkeys.compactMap(\.userName)) == ["Ada", "Bert", "Cleo"])
    #expect(listed.remaining == 47)
    let bert = try #require(listed.passkeys.first { $0.userName == "Bert" })
    try await bench.key.renamePasskey(bert, userName: "Berta", userDisplayName: "Berta B.", pin: bench.person)
    try await bench.key.deletePasskey(made[0], pin: bench.person)
    let rest = try await bench.key.passkeys(pin: bench.person).passkeys
    #expect(Set(rest.map(\.userDisplayName)) == ["Berta B.", "Cleo"])
    #expect(await failure { try await bench.key.deletePasskey(made[0], pin: bench.person) } == "notOnThisKey")
  }

  @Test("fingerprints are enrolled, renamed and removed", arguments: [true, false])
  func fingerprints(preview: Bool) async throws {
    let bench = try Bench(
      .biometric.varied("bio") { if !preview { $0.info.options["userVerificationMgmtPreview"] = nil } })
    try await bench.setPIN()
    #expect(try await bench.key.fingerprints(pin: bench.person).isEmpty)
    let thumb = try await bench.key.enrolFingerprint(named: "thumb", pin: bench.person)
    let second = try await bench.key.enrolFingerprint(named: nil, pin: bench.person)
    try await bench.key.renameFingerprint(second.id, to: "index", pin: bench.person)
    let listed = try await bench.key.fingerprints(pin: bench.person)
    #expect(Set(listed.map(\.name)) == ["thumb", "index"])
    try await bench.key.removeFingerprint(thumb.id, pin: bench.person)
    #expect(try await bench.key.fingerprints(pin: bench.person).map(\.name) == ["index"])
    #expect(await failure { try await bench.key.removeFingerprint(thumb.id, pin: bench.person) } == "noSuchFingerprint")
    #expect(await failure { try await Bench().key.fingerprints(pin: bench.person) } == "notOffered")
  }

  @Test("settings: alwaysUv on and off, the minimum PIN length up and never down")
  func settings() async throws {
    let bench = try Bench()
    try await bench.setPIN(Array("123456".utf8))
    bench.typed.withLock { $0 = Array("123456".utf8) }
    try await bench.key.setAlwaysUv(true, pin: bench.person)
    #expect(bench.virtual.info.option("alwaysUv") == true)
    try await bench.key.setAlwaysUv(true, pin: bench.person)
    #expect(bench.virtual.info.option("alwaysUv") == true)
    try await bench.key.setAlwaysUv(false, pin: bench.person)
    #expect(bench.virtual.info.option("alwaysUv") == false)
    try await bench.key.setMinimumPINLength(6, pin: bench.person)
    #expect(bench.virtual.info.minPINLength == 6)
    #expect(await failure { try await bench.key.setMinimumPINLength(5, pin: bench.person) } == "minimumCannotShrink")
    try await bench.key.requirePINChange(pin: bench.person)
    #expect(await failure { try await bench.register() } == "pinChangeRequired")
    #expect(await failure { try await Bench(.ctap20).key.setAlwaysUv(true, pin: nil) } == "notOffered")
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// A good assertion passes; with one thing changed it is refused under that thing's own name, or passes for the
/// reason given.
@Suite(.arithmetic) struct AssertionDeviationTests {
  /// Where a change is made before signing the signature stays good.
  typealias Deviation = NamedChange<TestAssertion.Parts>

  static let challengeText = Base64.encode([UInt8](repeating: 7, count: 32), .url)
  static func json(_ members: String) -> [UInt8] {
    Array(#"{"type":"webauthn.get","challenge":"\#(challengeText)",\#(members)}"#.utf8)
  }

  static let deviations: [Deviation] = [
    Deviation("no change") { _ in },
    // Signed and wrong.
    Deviation("another type", "typeMismatch") { $0.type = "webauthn.create" },
    Deviation("another challenge", "challengeMismatch") { $0.challenge[0] ^= 1 },
    Deviation("a longer challenge", "challengeMismatch") { $0.challenge += [0] },
    Deviation("the challenge padded", "challengeMismatch") {
      $0.clientDataJSON = Array(
        #"{"type":"webauthn.get","challenge":"\#(challengeText)=","origin":"https://sealmessenger.com"}"#.utf8)
    },
    Deviation("a letter that only looks the same in Unicode", "challengeMismatch") {
      // Swift's == would take the Kelvin sign for the K that the challenge of 0x28... begins with.
      $0.clientDataJSON = Array(
        #"{"type":"webauthn.get","challenge":"\#(challengeText.replacing("B", with: "\u{212A}"))","origin":"https://sealmessenger.com"}"#
          .utf8)
    },
    Deviation("origin absent", "originMismatch") { $0.clientDataJSON = json(#""crossOrigin":false"#) },
    Deviation("origin null", "originMismatch") { $0.clientDataJSON = json(#""origin":null"#) },
    Deviation("origin in capitals", "originMismatch") {
      $0.clientDataJSON = json(#""origin":"https://SealMessenger.com""#)
    },
    Deviation("origin with a port", "originMismatch") {
      $0.clientDataJSON = json(#""origin":"https://sealmessenger.com:443""#)
    },
    Deviation("origin of a subdomain", "originMismatch") {
      $0.clientDataJSON = json(#""origin":"https://www.sealmessenger.com""#)
    },
    Deviation("origin of an Android application", "originMismatch") {
      $0.clientDataJSON = json(#""origin":"android:apk-key-hash:AAAA""#)
    },
    Deviation("origin a number", "clientDataWrongType(origin)") { $0.clientDataJSON = json(#""origin":1"#) },
    Deviation("crossOrigin true", "crossOrigin") {
      $0.clientDataJSON = json(#""origin":"https://sealmessenger.com","crossOrigin":true"#)
    },
    Deviation("topOrigin given", "crossOrigin") {
      $0.clientDataJSON = json(
        #""origin":"https://sealmessenger.com","crossOrigin":true,"topOrigin":"https://example.com""#)
    },
    Deviation("a member nested twice the same", "jsonDuplicateMember") {
      $0.clientDataJSON = json(#""origin":"https://sealmessenger.com","x":{"a":1,"a":2}"#)
    },
    Deviation("client data not JSON", "jsonUnexpectedByte") { $0.clientDataJSON = Array("webauthn.get".utf8) },
    Deviation("client data empty", "jsonTruncated") { $0.clientDataJSON = [] },
    Deviation("another relying party", "rpIdHashMismatch") { $0.rpIdHash = SHA256.hash(Array("localhost".utf8)) },
    Deviation("the hash of an appid (QUIRKS D15)", "rpIdHashMismatch") {
      $0.rpIdHash = SHA256.hash(Array("https://sealmessenger.com".utf8))
    },
    Deviation("UP clear", "userNotPresent") { $0.flags = 0x04 },
    Deviation("UV clear", "userNotVerified") { $0.flags = 0x01 },
    Deviation("UP and UV clear", "userNotPresent", "userNotVerified") { $0.flags = 0x00 },
    Deviation("BS without BE", "backupStateWithoutEligibility") { $0.flags = 0x15 },
    Deviation("BE where registration had none", "backupEligibilityChanged") { $0.flags = 0x0d },
    Deviation("reserved bits: ignored") { $0.flags = 0x27 },
    Deviation("AT set and nothing there", "attestedDataTruncated") { $0.flags = 0x45 },
    Deviation("ED set and nothing there", "badExtensionCBOR") { $0.flags = 0x85 },
    Deviation("ED set and an array", "extensionsNotAMap") {
      $0.flags = 0x85
      $0.afterCounter = [0x80]
    },
    Deviation("ED set and an extension map: signed with the rest") {
      $0.flags = 0x85
      $0.afterCounter = bytes(hex: "a16b686d61632d7365637265744101")
    },
    Deviation("ED set, a map and a byte more", "authenticatorDataTrailingBytes") {
      $0.flags = 0x85
      $0.afterCounter = [0xa0, 0x00]
    },
    Deviation("ED clear and a map", "authenticatorDataTrailingBytes") { $0.afterCounter = [0xa0] },
    Deviation("AT set with a whole credential: odd, and exactly what the flags say") {
      var registration = TestRegistration()
      registration.flags = 0x45
      registration.signCount = $0.signCount
      $0.authenticatorDataOverride = registration.authenticatorData
    },
    Deviation("authenticator data of 36 bytes", "authenticatorDataTooShort") {
      $0.authenticatorDataOverride = Array($0.authenticatorData.prefix(36))
    },
    Deviation("authenticator data empty", "authenticatorDataTooShort") { $0.authenticatorDataOverride = [] },
    // Changed after signing.
    Deviation("a flag changed", "signatureDoesNotMatch") {
      $0.changeData = {
        var data = $0
        data[32] ^= 0x02
        return data
      }
    },
    Deviation("the counter changed", "signatureDoesNotMatch") {
      $0.changeData = {
        var data = $0
        data[36] ^= 0x10
        return data
      }
    },
    Deviation("the relying party changed", "signatureDoesNotMatch", "rpIdHashMismatch") {
      $0.changeData = { [$0[0] ^ 1] + $0.dropFirst() }
    },
    Deviation("client data with a space more", "signatureDoesNotMatch") { $0.changeClientData = { $0 + [0x20] } },
    Deviation("client data written another way", "signatureDoesNotMatch") {
      $0.changeClientData = { _ in json(#""origin":"https:\/\/sealmessenger.com","crossOrigin":false"#) }
    },
    Deviation("the hash in place of the data", "signatureDoesNotMatch", "jsonUnexpectedByte") {
      $0.changeClientData = { _ in [0x01] }
    },
    // The signature itself.
    Deviation("signature empty", "signatureNotDER") { $0.changeSignature = { _ in [] } },
    Deviation("signature raw, not DER", "signatureNotDER") {
      $0.changeSignature = { _ in [UInt8](repeating: 1, count: 64) }
    },
    Deviation("signature cut", "signatureNotDER") { $0.changeSignature = { Array($0.dropLast()) } },
    Deviation("a byte after the signature", "signatureTrailingBytes") { $0.changeSignature = { $0 + [0] } },
    Deviation("a third integer", "signatureExtraInteger") {
      $0.changeSignature = { [0x30, $0[1] + 3] + $0.dropFirst(2) + [0x02, 0x01, 0x01] }
    },
    Deviation("a length written long", "signatureNotMinimalDER") {
      $0.changeSignature = { [0x30, 0x81] + $0.dropFirst() }
    },
    Deviation("a needless zero", "signatureNotMinimalDER") {
      $0.changeSignature = { [0x30, $0[1] + 1, 0x02, $0[3] + 1, 0x00] + $0.dropFirst(4) }
    },
    Deviation("r of zero", "signatureOutOfRange") {
      $0.changeSignature = { _ in [0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x01] }
    },
    Deviation("r and s of one", "signatureDoesNotMatch") {
      $0.changeSignature = { _ in [0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01] }
    },
    Deviation("r and s exchanged", "signatureDoesNotMatch") {
      $0.changeSignature = {
        let r = $0[2..<(4 + Int($0[3]))]
        return [0x30, $0[1]] + $0[(4 + Int($0[3]))...] + r
      }
    },
    Deviation("s taken from the order (high s): ECDSA has both, and Seal minds neither") {
      $0.changeSignature = { otherS($0) }
    },
  ]

  /// The other s of the same signature: n - s.
  static func otherS(_ der: [UInt8]) -> [UInt8] {
    guard let parsed = try? ECDSASignature(derRepresentation: der, byteCount: 32) else { return [] }
    let order = bytes(hex: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    var other = [UInt8](repeating: 0, count: 32)
    var borrow = 0
    for i in stride(from: 31, through: 0, by: -1) {
      let digit = Int(order[i]) - Int(parsed.s[i]) - borrow
      borrow = digit < 0 ? 1 : 0
      other[i] = UInt8(digit & 255)
    }
    return ECDSASignature(rawRepresentation: parsed.r + other)?.derRepresentation ?? []
  }

  static let verifier = AssertionVerifier(
    rpID: TestRegistration.rpID, challenge: [UInt8](repeating: 7, count: 32), origins: [TestRegistration.origin],
    requiresUserVerification: true, backupEligibleAtRegistration: false, lastSignCount: 7)

  @Test(arguments: deviations) func hasItsName(_ deviation: Deviation) throws {
    var assertion = try TestAssertion()
    deviation.change(&assertion.parts)
    let answer = try assertion.answer()
    let problems = Self.verifier.problems(
      authenticatorData: answer.authenticatorData, clientDataJSON: answer.clientDataJSON, signature: answer.signature,
      publicKey: .es256(assertion.privateKey.publicKey))
    #expect(problems.map(\.name) == deviation.names)
    #expect(problems.allSatisfy { !$0.message.isEmpty && !$0.next.isEmpty })
  }

  @Test func thereAreManyDeviations() {
    #expect(Self.deviations.count >= 40)
    #expect(Set(Self.deviations.map(\.testDescription)).count == Self.deviations.count)
  }

  @Test func anotherKeyDoesNotMatch() throws {
    let assertion = try TestAssertion()
    let answer = try assertion.answer()
    let other = try P256.Signing.PrivateKey()
    #expect(throws: VerificationFailure.self) {
      try Self.verifier.verify(
        authenticatorData: answer.authenticatorData, clientDataJSON: answer.clientDataJSON,
        signature: answer.signature, publicKey: .es256(other.publicKey))
    }
  }

  @Test func anAlgorithmNobodyKnowsIsSaid() throws {
    let answer = try TestAssertion().answer()
    let problems = Self.verifier.problems(
      authenticatorData: answer.authenticatorData, clientDataJSON: answer.clientDataJSON, signature: answer.signature,
      publicKey: .other(COSEAlgorithm(rawValue: -47)))
    #expect(problems.map(\.name) == ["algorithmUnknown(-47)"])
  }

  /// Seal's own rules: no origin, no UV, no counter, no BE. What is left out is not looked at.
  @Test func whatIsNotAskedIsNotChecked() throws {
    var assertion = try TestAssertion()
    assertion.parts.flags = 0x19
    assertion.parts.signCount = 0
    assertion.parts.clientDataJSON = Self.json(#""origin":"https://example.com","crossOrigin":true"#)
    let answer = try assertion.answer()
    let verifier = AssertionVerifier(rpID: TestRegistration.rpID, challenge: [UInt8](repeating: 7, count: 32))
    let warnings = try verifier.verify(
      authenticatorData: answer.authenticatorData, clientDataJSON: answer.clientDataJSON, signature: answer.signature,
      publicKey: .es256(assertion.privateKey.publicKey))
    #expect(warnings.isEmpty)
  }

  @Test(
    arguments: [
      (nil, nil, true), ([], nil, true), ([[1]], [1], true), ([[2], [1]], [1], true), ([[2]], [1], false),
      ([[1, 0]], [1], false), ([[1]], nil, false), ([[]], [1], false),
    ] as [([[UInt8]]?, [UInt8]?, Bool)])
  func allowList(_ list: [[UInt8]]?, _ id: [UInt8]?, _ isGood: Bool) throws {
    let assertion = try TestAssertion()
    let answer = try assertion.answer()
    var verifier = Self.verifier
    verifier.allowList = list
    let problems = verifier.problems(
      credentialID: id, authenticatorData: answer.authenticatorData, clientDataJSON: answer.clientDataJSON,
      signature: answer.signature, publicKey: .es256(assertion.privateKey.publicKey))
    #expect(problems.map(\.name) == (isGood ? [] : ["credentialNotAllowed"]))
  }

  @Test func embeddingThatIsAllowed() throws {
    var assertion = try TestAssertion()
    assertion.parts.clientDataJSON = Self.json(
      #""origin":"https://sealmessenger.com","crossOrigin":true,"topOrigin":"https://example.com""#)
    let answer = try assertion.answer()
    var verifier = Self.verifier
    func names() -> [String] {
      verifier.problems(
        authenticatorData: answer.authenticatorData, clientDataJSON: answer.clientDataJSON, signature: answer.signature,
        publicKey: .es256(assertion.privateKey.publicKey)
      ).map(\.name)
    }
    verifier.embedding = .allowed(topOrigins: ["https://example.com"])
    #expect(names() == [])
    verifier.embedding = .allowed(topOrigins: ["https://example.org"])
    #expect(names() == ["crossOrigin"])
  }

  /// The counter only warns: it may be a copied key, or one that restarts its counter (QUIRKS D10).
  @Test(
    arguments: [
      (nil, 0, false), (nil, 5, false), (0, 0, false), (0, 1, false), (5, 6, false), (5, UInt32.max, false),
      (5, 5, true), (5, 4, true), (5, 0, true), (UInt32.max, 0, true),
    ] as [(UInt32?, UInt32, Bool)])
  func counter(_ last: UInt32?, _ now: UInt32, _ warns: Bool) throws {
    var assertion = try TestAssertion()
    assertion.parts.signCount = now
    let answer = try assertion.answer()
    var verifier = Self.verifier
    verifier.lastSignCount = last
    let warnings = try verifier.verify(
      authenticatorData: answer.authenticatorData, clientDataJSON: answer.clientDataJSON, signature: answer.signature,
      publicKey: .es256(assertion.privateKey.publicKey))
    #expect(warnings.map(\.name) == (warns ? ["signCountNotIncreased"] : []))
  }

  /// A warning never hides behind, or in front of, a reason to refuse.
  @Test func warningsComeLast() throws {
    var assertion = try TestAssertion()
    assertion.parts.signCount = 1
    assertion.parts.type = "other"
    let answer = try assertion.answer()
    let key = CredentialPublicKey.es256(assertion.privateKey.publicKey)
    do {
      try Self.verifier.verify(
        authenticatorData: answer.authenticatorData, clientDataJSON: answer.clientDataJSON,
        signature: answer.signature, publicKey: key)
      Issue.record("accepted")
    } catch {
      #expect(error.problems.map(\.name) == ["typeMismatch", "signCountNotIncreased"])
    }
  }

  /// Every byte of what was signed matters, and every byte of the signature.
  @Test func everyByteIsCovered() throws {
    let assertion = try TestAssertion()
    let answer = try assertion.answer()
    let key = CredentialPublicKey.es256(assertion.privateKey.publicKey)
    func isGood(_ data: [UInt8], _ json: [UInt8], _ signature: [UInt8]) -> Bool {
      Self.verifier.problems(
        authenticatorData: data, clientDataJSON: json, signature: signature, publicKey: key
      ).allSatisfy(\.isWarning)
    }
    func changed(_ bytes: [UInt8], _ i: Int) -> [UInt8] {
      var copy = bytes
      copy[i] ^= 1 << UInt8(i % 8)
      return copy
    }
    #expect(isGood(answer.authenticatorData, answer.clientDataJSON, answer.signature))
    for i in answer.authenticatorData.indices {
      #expect(!isGood(changed(answer.authenticatorData, i), answer.clientDataJSON, answer.signature))
    }
    for i in answer.clientDataJSON.indices {
      #expect(!isGood(answer.authenticatorData, changed(answer.clientDataJSON, i), answer.signature))
    }
    for i in answer.signature.indices {
      #expect(!isGood(answer.authenticatorData, answer.clientDataJSON, changed(answer.signature, i)))
    }
    for count in 0..<answer.signature.count {
      #expect(!isGood(answer.authenticatorData, answer.clientDataJSON, Array(answer.signature.prefix(count))))
    }
    for count in 0..<answer.authenticatorData.count {
      #expect(!isGood(Array(answer.authenticatorData.prefix(count)), answer.clientDataJSON, answer.signature))
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// A good registration passes; with one thing changed it is refused under that thing's own name, or passes for the
/// reason given.
@Suite(.arithmetic) struct RegistrationDeviationTests {
  typealias Deviation = NamedChange<TestRegistration>

  static func clientData(_ text: String) -> [UInt8] { Array(text.utf8) }
  static let challengeText = Base64.encode([UInt8](repeating: 7, count: 32), .url)

  static let clientDataDeviations: [Deviation] = [
    Deviation("no change") { _ in },
    Deviation("another type", "typeMismatch") { $0.type = "webauthn.get" },
    Deviation("type in another case", "typeMismatch") { $0.type = "Webauthn.create" },
    Deviation("type empty", "typeMismatch") { $0.type = "" },
    Deviation("another challenge", "challengeMismatch") { $0.challenge[31] ^= 1 },
    Deviation("a challenge cut", "challengeMismatch") { $0.challenge.removeLast() },
    Deviation("a challenge empty", "challengeMismatch") { $0.challenge = [] },
    Deviation("the challenge padded", "challengeMismatch") {
      $0.clientDataJSON = clientData(
        #"{"type":"webauthn.create","challenge":"\#(challengeText)=","origin":"https://sealmessenger.com"}"#)
    },
    Deviation("the challenge in other base64", "challengeMismatch") {
      $0.clientDataJSON = clientData(
        #"{"type":"webauthn.create","challenge":"\#(challengeText.replacing("B", with: "+"))","origin":"https://sealmessenger.com"}"#
      )
    },
    Deviation("another origin", "originMismatch") {
      $0.clientDataJSON = clientData(
        #"{"type":"webauthn.create","challenge":"\#(challengeText)","origin":"https://sealmessenger.com.example"}"#)
    },
    Deviation("origin with a slash", "originMismatch") {
      $0.clientDataJSON = clientData(
        #"{"type":"webauthn.create","challenge":"\#(challengeText)","origin":"https://sealmessenger.com/"}"#)
    },
    Deviation("origin over http", "originMismatch") {
      $0.clientDataJSON = clientData(
        #"{"type":"webauthn.create","challenge":"\#(challengeText)","origin":"http://sealmessenger.com"}"#)
    },
    Deviation("origin absent", "originMismatch") {
      $0.clientDataJSON = clientData(#"{"type":"webauthn.create","challenge":"\#(challengeText)"}"#)
    },
    Deviation("crossOrigin true", "crossOrigin") {
      $0.clientDataJSON = clientData(
        #"{"type":"webauthn.create","challenge":"\#(challengeText)","origin":"https://sealmessenger.com","crossOrigin":true}"#
      )
    },
    Deviation("topOrigin of a stranger", "crossOrigin") {
      $0.clientDataJSON = clientData(
        #"{"type":"webauthn.create","challenge":"\#(challengeText)","origin":"https://sealmessenger.com","topOrigin":"https://example.com"}"#
      )
    },
    Deviation("crossOrigin of text", "clientDataWrongType(crossOrigin)") {
      $0.clientDataJSON = clientData(
        #"{"type":"webauthn.create","challenge":"\#(challengeText)","origin":"https://sealmessenger.com","crossOrigin":"true"}"#
      )
    },
    Deviation("type absent", "clientDataMissing(type)") {
      $0.clientDataJSON = clientData(#"{"challenge":"\#(challengeText)","origin":"https://sealmessenger.com"}"#)
    },
    Deviation("challenge absent", "clientDataMissing(challenge)") {
      $0.clientDataJSON = clientData(#"{"type":"webauthn.create","origin":"https://sealmessenger.com"}"#)
    },
    Deviation("type twice", "jsonDuplicateMember") {
      $0.clientDataJSON = clientData(
        #"{"type":"webauthn.create","type":"webauthn.create","challenge":"\#(challengeText)","origin":"https://sealmessenger.com"}"#
      )
    },
    Deviation("client data empty", "jsonTruncated") { $0.clientDataJSON = [] },
    Deviation("client data an array", "clientDataNotAnObject") { $0.clientDataJSON = clientData("[]") },
    Deviation("client data with a byte-order mark", "jsonByteOrderMark") {
      $0.clientDataJSON = [0xef, 0xbb, 0xbf] + $0.clientData
    },
    Deviation("client data with a byte after it", "jsonTrailingBytes") { $0.clientDataJSON = $0.clientData + [0x7d] },
    Deviation("client data not UTF-8", "jsonNotUTF8") {
      $0.clientDataJSON = clientData(#"{"type":"webauthn.create","x":""#) + [0xff] + clientData(#""}"#)
    },
    Deviation("an unknown member: the standard says to ignore it") {
      $0.clientDataJSON = clientData(
        #"{"type":"webauthn.create","challenge":"\#(challengeText)","origin":"https://sealmessenger.com","extra":[1]}"#)
    },
  ]

  static let dataDeviations: [Deviation] = [
    Deviation("another relying party", "rpIdHashMismatch") { $0.rpIdHash = SHA256.hash(Array("example.org".utf8)) },
    Deviation("one bit of the relying party", "rpIdHashMismatch") { $0.rpIdHash[31] ^= 0x80 },
    Deviation("UP clear", "userNotPresent") { $0.flags = 0x40 },
    Deviation("UV set though not demanded: more than was asked") { $0.flags = 0x45 },
    Deviation("BS without BE", "backupStateWithoutEligibility") { $0.flags = 0x51 },
    Deviation("BE and BS: a passkey that is synced") { $0.flags = 0x59 },
    Deviation("reserved bits: reserved for future use, ignored") { $0.flags = 0x63 },
    Deviation("the highest counter") { $0.signCount = .max },
    Deviation("AAGUID zero: a U2F key") { $0.aaguid = [UInt8](repeating: 0, count: 16) },
    Deviation("AT clear", "noAttestedCredential") { $0.flags = 0x01 },
    Deviation("AT clear, the credential there", "authenticatorDataTrailingBytes") {
      let data = $0.authenticatorData
      $0.authenticatorDataOverride = Array(data[..<32]) + [0x01] + data[33...]
    },
    Deviation("ED set and no extensions", "badExtensionCBOR") { $0.flags = 0xc1 },
    Deviation("ED set and an array", "extensionsNotAMap") {
      $0.flags = 0xc1
      $0.afterKey = [0x80]
    },
    Deviation("ED set and a map cut", "badExtensionCBOR") {
      $0.flags = 0xc1
      $0.afterKey = bytes(hex: "a16b637265645072")
    },
    Deviation("ED set and a map with a name twice", "badExtensionCBOR") {
      $0.flags = 0xc1
      $0.afterKey = bytes(hex: "a2616101616102")
    },
    Deviation("ED set, extensions, and a byte more", "authenticatorDataTrailingBytes") {
      $0.flags = 0xc1
      $0.afterKey = [0xa0, 0x00]
    },
    Deviation("ED clear and extensions", "authenticatorDataTrailingBytes") { $0.afterKey = [0xa0] },
    Deviation("an extension map: unasked-for extensions are no fault") {
      $0.flags = 0xc1
      $0.afterKey = bytes(hex: "a16b6372656450726f7465637403")
    },
    Deviation("extensions out of order: real keys do it (QUIRKS Q31)") {
      $0.flags = 0xc1
      $0.afterKey = bytes(hex: "a26b686d61632d736563726574f56b6372656450726f7465637401")
    },
    Deviation("authenticator data empty", "authenticatorDataTooShort") { $0.authenticatorDataOverride = [] },
    Deviation("authenticator data of 36 bytes", "authenticatorDataTooShort") {
      $0.authenticatorDataOverride = Array($0.authenticatorData.prefix(36))
    },
    Deviation("authenticator data of 54 bytes", "attestedDataTruncated") {
      $0.authenticatorDataOverride = Array($0.authenticatorData.prefix(54))
    },
    Deviation("authenticator data that ends with the credential ID", "attestedDataTruncated") {
      $0.authenticatorDataOverride = Array($0.authenticatorData.prefix(55 + 16))
    },
    Deviation("authenticator data cut by a byte", "badPublicKeyCBOR") {
      $0.authenticatorDataOverride = Array($0.authenticatorData.dropLast())
    },
    Deviation("a byte after authenticator data", "authenticatorDataTrailingBytes") { $0.afterKey = [0] },
    Deviation("credential ID of no bytes", "credentialIDLength") {
      $0.credentialID = []
      $0.reportedCredentialID = []
    },
    Deviation("credential ID of 1,024 bytes", "credentialIDLength") {
      $0.credentialID = [UInt8](repeating: 9, count: 1024)
      $0.reportedCredentialID = $0.credentialID
    },
    Deviation("credential ID of 1,023 bytes: the longest allowed") {
      $0.credentialID = [UInt8](repeating: 9, count: 1023)
      $0.reportedCredentialID = $0.credentialID
    },
    Deviation("a credential ID length that lies high", "attestedDataTruncated") { $0.credentialIDLength = 1000 },
    Deviation("a credential ID length of 65,535", "credentialIDLength") { $0.credentialIDLength = 65535 },
    Deviation("a credential ID length that lies low", "publicKeyNotAMap") { $0.credentialIDLength = 15 },
    Deviation("another credential ID than the client's", "credentialIDMismatch") { $0.reportedCredentialID = [1] },
    Deviation("no credential ID from the client: nothing to compare") { $0.reportedCredentialID = nil },
  ]

  static let keyDeviations: [Deviation] = [
    Deviation("kty absent", "coseKeyMissing(1)") { $0.setKey(1, nil) },
    Deviation("kty OKP", "coseKeyTypeDoesNotFit") { $0.setKey(1, .int(1)) },
    Deviation("kty as text (QUIRKS D5)", "coseKeyWrongType(1)") { $0.setKey(1, .text("EC2")) },
    Deviation("alg absent", "coseKeyMissing(3)") { $0.setKey(3, nil) },
    Deviation("alg as text", "coseKeyWrongType(3)") { $0.setKey(3, .text("ES256")) },
    Deviation("alg EdDSA on an EC key", "coseKeyTypeDoesNotFit") { $0.setKey(3, .int(-8)) },
    Deviation("alg ES384 on P-256", "unsupportedCurve(1)") { $0.setKey(3, .int(-35)) },
    Deviation("alg RS256 on an EC key", "coseKeyTypeDoesNotFit") { $0.setKey(3, .int(-257)) },
    Deviation("alg ES256K", "unsupportedAlgorithm(-47)") { $0.setKey(3, .int(-47)) },
    Deviation("alg nobody knows", "unsupportedAlgorithm(-70000)") { $0.setKey(3, .int(-70000)) },
    Deviation("alg beyond 64 bits", "coseKeyWrongType(3)") { $0.setKey(3, .negative(.max)) },
    Deviation("crv absent", "coseKeyMissing(-1)") { $0.setKey(-1, nil) },
    Deviation("crv P-384", "unsupportedCurve(2)") { $0.setKey(-1, .int(2)) },
    Deviation("crv as text", "coseKeyWrongType(-1)") { $0.setKey(-1, .text("P-256")) },
    Deviation("x absent", "coseKeyMissing(-2)") { $0.setKey(-2, nil) },
    Deviation("x as text", "coseKeyWrongType(-2)") { $0.setKey(-2, .text("x")) },
    Deviation("x of 31 bytes", "coordinateLength") { $0.setKey(-2, .bytes(Array($0.x.dropFirst()))) },
    Deviation("x with a zero before it", "coordinateLength") { $0.setKey(-2, .bytes([0] + $0.x)) },
    Deviation("x empty", "coordinateLength") { $0.setKey(-2, .bytes([])) },
    Deviation("x another number", "badPublicKey") { $0.setKey(-2, .bytes(Array($0.x.dropLast()) + [$0.x[31] ^ 1])) },
    Deviation("x and y zero", "badPublicKey") {
      $0.setKey(-2, .bytes([UInt8](repeating: 0, count: 32)))
      $0.setKey(-3, .bytes([UInt8](repeating: 0, count: 32)))
    },
    Deviation("x beyond the field", "badPublicKey") { $0.setKey(-2, .bytes([UInt8](repeating: 0xff, count: 32))) },
    Deviation("x and y exchanged", "badPublicKey") {
      $0.setKey(-2, .bytes($0.y))
      $0.setKey(-3, .bytes($0.x))
    },
    Deviation("y absent", "coseKeyMissing(-3)") { $0.setKey(-3, nil) },
    Deviation("y as a sign bit (a compressed point)", "coseKeyWrongType(-3)") { $0.setKey(-3, .bool(true)) },
    Deviation("y of 33 bytes", "coordinateLength") { $0.setKey(-3, .bytes($0.y + [0])) },
    Deviation("the key an array", "publicKeyNotAMap") { $0.keyBytes = [0x82, 0x01, 0x02] },
    Deviation("the key not CBOR", "badPublicKeyCBOR") { $0.keyBytes = [0xff] },
    Deviation("the key's map one pair short (QUIRKS D5)", "authenticatorDataTrailingBytes") {
      $0.keyBytes = [0xa4] + CBORValue.encode(.map($0.key)).dropFirst()
    },
    Deviation("the key's map one pair long", "badPublicKeyCBOR") {
      $0.keyBytes = [0xa6] + CBORValue.encode(.map($0.key)).dropFirst()
    },
    Deviation("a label twice", "badPublicKeyCBOR") {
      $0.keyBytes = [0xa6] + CBORValue.encode(.map($0.key)).dropFirst() + [0x01, 0x02]
    },
    Deviation("labels out of order: read as it is, nothing is re-encoded") {
      $0.keyBytes =
        [0xa5, 0x22, 0x58, 0x20] + $0.y + [0x21, 0x58, 0x20] + $0.x + [0x20, 0x01, 0x03, 0x26, 0x01, 0x02]
    },
    Deviation("integers written long: read as the same numbers") {
      $0.keyBytes =
        [0xa5, 0x18, 0x01, 0x02, 0x03, 0x38, 0x06, 0x20, 0x19, 0x00, 0x01, 0x21, 0x59, 0x00, 0x20] + $0.x
        + [0x22, 0x58, 0x20] + $0.y
    },
    Deviation("a label nobody knows: ignored") { $0.setKey(-70, .int(1)) },
  ]

  static let objectDeviations: [Deviation] = [
    Deviation("fmt absent", "attestationObjectMissing(fmt)") {
      $0.members = [(.text("attStmt"), .map([])), (.text("authData"), .bytes($0.authenticatorData))]
    },
    Deviation("fmt of bytes", "attestationObjectMissing(fmt)") {
      $0.members = [
        (.text("fmt"), .bytes([1])), (.text("attStmt"), .map([])), (.text("authData"), .bytes($0.authenticatorData)),
      ]
    },
    Deviation("attStmt absent", "attestationObjectMissing(attStmt)") {
      $0.members = [(.text("fmt"), .text("none")), (.text("authData"), .bytes($0.authenticatorData))]
    },
    Deviation("attStmt an array", "attestationObjectMissing(attStmt)") {
      $0.members = [
        (.text("fmt"), .text("none")), (.text("attStmt"), .array([])),
        (.text("authData"), .bytes($0.authenticatorData)),
      ]
    },
    Deviation("authData absent", "noAuthData") {
      $0.members = [(.text("fmt"), .text("none")), (.text("attStmt"), .map([]))]
    },
    Deviation("authData of text", "noAuthData") {
      $0.members = [(.text("fmt"), .text("none")), (.text("attStmt"), .map([])), (.text("authData"), .text("x"))]
    },
    Deviation("CTAP's numbers in place of names", "attestationObjectMissing(fmt)") {
      $0.members = [(.int(1), .text("none")), (.int(2), .bytes($0.authenticatorData)), (.int(3), .map([]))]
    },
    Deviation("a member more: ignored") {
      $0.members = [
        (.text("fmt"), .text("none")), (.text("attStmt"), .map([])), (.text("authData"), .bytes($0.authenticatorData)),
        (.text("epAtt"), .bool(true)),
      ]
    },
    Deviation("a format nobody knows: the statement is another question") {
      $0.members = [
        (.text("fmt"), .text("novel")), (.text("attStmt"), .map([(.text("x"), .int(1))])),
        (.text("authData"), .bytes($0.authenticatorData)),
      ]
    },
    Deviation("a byte after the object", "attestationObjectTrailingBytes") { $0.afterObject = [0] },
  ]

  static let verifier = RegistrationVerifier(
    rpID: TestRegistration.rpID, challenge: [UInt8](repeating: 7, count: 32), origins: [TestRegistration.origin])

  @Test(arguments: clientDataDeviations + dataDeviations + keyDeviations + objectDeviations)
  func hasItsName(_ deviation: Deviation) {
    var registration = TestRegistration()
    deviation.change(&registration)
    var names: [String] = []
    do {
      let verified = try Self.verifier.verify(
        attestationObject: registration.attestationObject, clientDataJSON: registration.clientData,
        credentialID: registration.reportedCredentialID)
      #expect(verified.credentialID == registration.credentialID)
      #expect(verified.publicKey == .es256(TestRegistration.fixedKey))
      #expect(verified.signCount == registration.signCount)
    } catch {
      names = error.problems.map(\.name)
      #expect(error.name == names.first)
      #expect(error.problems.allSatisfy { !$0.message.isEmpty && !$0.next.isEmpty })
    }
    #expect(names == deviation.names)
  }

  @Test func thereAreManyDeviations() {
    let all = Self.clientDataDeviations + Self.dataDeviations + Self.keyDeviations + Self.objectDeviations
    #expect(all.count >= 80)
    #expect(Set(all.map(\.testDescription)).count == all.count)
  }

  @Test func userVerificationWhenDemanded() throws {
    var verifier = Self.verifier
    verifier.requiresUserVerification = true
    var registration = TestRegistration()
    #expect(throws: VerificationFailure.self) {
      try verifier.verify(
        attestationObject: registration.attestationObject, clientDataJSON: registration.clientData, credentialID: nil)
    }
    registration.flags = 0x45
    _ = try verifier.verify(
      attestationObject: registration.attestationObject, clientDataJSON: registration.clientData, credentialID: nil)
  }

  /// Everything that is wrong is said, not only the first thing.
  @Test func allProblemsAreCollected() {
    var registration = TestRegistration()
    registration.type = "webauthn.get"
    registration.challenge = [1]
    registration.rpIdHash = [UInt8](repeating: 0, count: 32)
    registration.flags = 0x50
    registration.reportedCredentialID = [2]
    registration.setKey(3, .int(-47))
    do {
      _ = try Self.verifier.verify(
        attestationObject: registration.attestationObject, clientDataJSON: registration.clientData,
        credentialID: registration.reportedCredentialID)
      Issue.record("accepted")
    } catch {
      #expect(
        error.problems.map(\.name) == [
          "typeMismatch", "challengeMismatch", "rpIdHashMismatch", "userNotPresent", "backupStateWithoutEligibility",
          "credentialIDMismatch", "unsupportedAlgorithm(-47)",
        ])
    }
  }

  @Test func everyTruncationIsRefused() {
    let good = TestRegistration()
    for count in 0..<good.attestationObject.count {
      do {
        _ = try AttestationObject(parsing: Array(good.attestationObject.prefix(count)))
        Issue.record("accepted at \(count)")
      } catch {
        #expect(error.name == "truncated")
      }
    }
    for count in 0..<good.authenticatorData.count {
      #expect(throws: AuthenticatorDataError.self) {
        try AuthenticatorData(parsing: Array(good.authenticatorData.prefix(count)))
      }
    }
  }

  /// Any byte of a good registration changed to any value: read or refused, never a trap, and never a key that is
  /// not the one in the bytes.
  @Test func everyByteChanged() {
    let good = TestRegistration().attestationObject
    for i in good.indices {
      for bit in 0..<8 {
        var changed = good
        changed[i] ^= 1 << UInt8(bit)
        guard let object = try? AttestationObject(parsing: changed),
          let attested = object.authenticatorData.attestedCredentialData
        else { continue }
        #expect(object.authenticatorDataBytes[attested.publicKeyRange].elementsEqual(attested.publicKeyBytes))
      }
    }
  }
}

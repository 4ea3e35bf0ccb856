// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// What real keys sent: parsed as recorded, and their signatures verified.
@Suite(.arithmetic, .enabled(if: Corpus.has("real-key-captures.json"), "\(Corpus.absent)"))
struct CaptureCorpusTests {
  static let captures = CorpusCases.list("real-key-captures.json", "captures")

  @Test func allAreHere() {
    #expect(Self.captures.count == 7)
    #expect(Self.captures.count { $0["assertionSignatureHex"] != nil } == 5)
  }

  @Test(arguments: captures) func registration(_ capture: CorpusCases.Case) throws {
    let object = try AttestationObject(parsing: try capture.hex("attestationObjectHex"))
    #expect(object.format == (try capture.text("fmt")))
    #expect(object.authenticatorDataBytes == (try capture.hex("registrationAuthDataHex")))
    let data = object.authenticatorData
    #expect(Int(data.flags.rawValue) == (try capture.int("regFlags")))
    #expect(Int(data.signCount) == (try capture.int("regCounter")))
    let attested = try #require(data.attestedCredentialData)
    #expect(Hex.encode(attested.aaguid) == (try capture.text("aaguid")).filter { $0 != "-" })
    #expect(attested.credentialID.count == (try capture.int("credIdLen")))
    #expect((object.statement["sig"]?.bytes?.count ?? 0) == (try capture.int("attSigLen")))
    #expect(attested.publicKeyItem[-2]?.bytes?.count == 32)
    #expect(attested.publicKeyItem[-3]?.bytes?.count == 32)
    let key = try CredentialPublicKey(cose: attested.publicKeyItem)
    #expect(key.algorithm == .es256)
    // Seal reads the same registration as the same key. A statement with tags or booleans it would not read; none has.
    let seal = try SealRegistration(attestationObject: object.raw)
    #expect(.es256(seal.publicKey) == key)
    #expect(seal.credentialID == attested.credentialID)
    #expect(seal.coordinateLengths == (32, 32))
  }

  @Test(arguments: captures.filter { $0["assertionSignatureHex"] != nil })
  func assertion(_ capture: CorpusCases.Case) throws {
    let object = try AttestationObject(parsing: try capture.hex("attestationObjectHex"))
    let key = try CredentialPublicKey(cose: try #require(object.authenticatorData.attestedCredentialData).publicKeyItem)
    let data = try capture.hex("assertionAuthDataHex")
    let json = Array(try capture.text("assertionClientDataJSON").utf8)
    let signature = try capture.hex("assertionSignatureHex")
    #expect(signature.count == (try capture.int("sigLen")))
    #expect((70...72).contains(signature.count))
    let parsed = try AuthenticatorData(parsing: data)
    #expect(Int(parsed.flags.rawValue) == (try capture.int("assertFlags")))
    #expect(Int(parsed.signCount) == (try capture.int("assertCounter")))
    let verifier = AssertionVerifier(
      rpID: "example.com", challenge: Array("CHALLENGE".utf8), origins: ["https://example.com"],
      backupEligibleAtRegistration: object.authenticatorData.flags.contains(.backupEligible),
      lastSignCount: object.authenticatorData.signCount)
    let warnings = try verifier.verify(
      authenticatorData: data, clientDataJSON: json, signature: signature, publicKey: key)
    #expect(warnings.isEmpty)
    let client = try ClientData(parsing: json)
    #expect(client.type == "webauthn.get")
    #expect(client.crossOrigin == nil)
  }

  /// The registration as an answer to the request that was made.
  @Test(arguments: captures.filter { $0["registrationClientDataJSON"] != nil })
  func registrationIsAnAnswer(_ capture: CorpusCases.Case) throws {
    let verified = try RegistrationVerifier(
      rpID: "example.com", challenge: Array("challenge".utf8), origins: ["https://example.com"]
    ).verify(
      attestationObject: try capture.hex("attestationObjectHex"),
      clientDataJSON: Array(try capture.text("registrationClientDataJSON").utf8), credentialID: nil)
    #expect(verified.credentialID.count == (try capture.int("credIdLen")))
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// The standard's own test vectors.
@Suite(.arithmetic, .enabled(if: Corpus.has("w3c-webauthn3-vectors.json"), "\(Corpus.absent)"))
struct W3CCorpusTests {
  static let vectors = CorpusCases.list("w3c-webauthn3-vectors.json", "vectors").filter { $0["registration"] != nil }

  @Test func allAreHere() { #expect(Self.vectors.count == 9) }

  @Test(arguments: vectors) func ceremonies(_ vector: CorpusCases.Case) throws {
    let registration = try #require(vector["registration"])
    let authentication = try #require(vector["authentication"])
    let isEdDSA = vector.testDescription.contains("eddsa")
    var creation = RegistrationVerifier(
      rpID: "example.org", challenge: try registration.hex("challenge"), origins: ["https://example.org"],
      algorithms: [isEdDSA ? .edDSA : .es256])
    creation.embedding = .allowed(topOrigins: ["https://example.com"])
    let verified = try creation.verify(
      attestationObject: try registration.hex("attestationObject"),
      clientDataJSON: try registration.hex("clientDataJSON"), credentialID: try registration.hex("credential_id"))
    let attested = try #require(verified.attestationObject.authenticatorData.attestedCredentialData)
    #expect(attested.aaguid == (try registration.hex("aaguid")))
    #expect(verified.publicKey.algorithm == (isEdDSA ? .edDSA : .es256))

    var request = AssertionVerifier(
      rpID: "example.org", challenge: try authentication.hex("challenge"), origins: ["https://example.org"],
      backupEligibleAtRegistration: verified.flags.contains(.backupEligible), lastSignCount: verified.signCount)
    request.embedding = .allowed(topOrigins: ["https://example.com"])
    let warnings = try request.verify(
      authenticatorData: try authentication.hex("authenticatorData"),
      clientDataJSON: try authentication.hex("clientDataJSON"), signature: try authentication.hex("signature"),
      publicKey: verified.publicKey)
    #expect(warnings.isEmpty)
  }

  /// Embedded ceremonies pass only where embedding is expected.
  @Test(arguments: vectors) func embedding(_ vector: CorpusCases.Case) throws {
    let registration = try #require(vector["registration"])
    let isEmbedded = try ClientData(parsing: try registration.hex("clientDataJSON")).crossOrigin == true
    let verifier = RegistrationVerifier(
      rpID: "example.org", challenge: try registration.hex("challenge"), origins: ["https://example.org"],
      algorithms: [.es256, .edDSA])
    var names: [String] = []
    do {
      _ = try verifier.verify(
        attestationObject: try registration.hex("attestationObject"),
        clientDataJSON: try registration.hex("clientDataJSON"), credentialID: nil)
    } catch let failure as VerificationFailure {
      names = failure.problems.map(\.name)
    }
    #expect(names == (isEmbedded ? ["crossOrigin"] : []))
  }

  @Test func theLongestCredentialID() throws {
    let vector = try #require(Self.vectors.first { $0.testDescription.contains("long-credential") })
    let object = try AttestationObject(parsing: try #require(vector["registration"]).hex("attestationObject"))
    #expect(object.authenticatorData.attestedCredentialData?.credentialID.count == 1023)
  }
}

/// Registrations and assertions made by Chromium.
@Suite(.arithmetic, .enabled(if: Corpus.has("chromium-vectors.json"), "\(Corpus.absent)"))
struct ChromiumCorpusTests {
  static let vectors = CorpusCases.list("chromium-vectors.json", "vectors").filter {
    $0["registration"]?["attestationObject"] != nil
  }
  static let origin: String = {
    guard let bytes = try? Corpus.read("chromium-vectors.json") else { return "" }
    return (try? JSONReader.parse(bytes))?["origin"]?.string ?? ""
  }()

  @Test func allAreHere() { #expect(Self.vectors.count == 7) }

  @Test(arguments: vectors) func ceremonies(_ vector: CorpusCases.Case) throws {
    let registration = try #require(vector["registration"])
    let request = try #require(vector["request"])
    let algorithm = COSEAlgorithm(rawValue: Int64(try registration.int("publicKeyAlgorithm")))
    let verified = try RegistrationVerifier(
      rpID: "localhost", challenge: try request.url("challenge"), origins: [Self.origin],
      requiresUserVerification: try request.text("userVerification") == "required", algorithms: [algorithm]
    ).verify(
      attestationObject: try registration.url("attestationObject"),
      clientDataJSON: try registration.url("clientDataJSON"), credentialID: try registration.url("rawId"))
    #expect(verified.publicKey.algorithm == algorithm)
    #expect(verified.attestationObject.authenticatorDataBytes == (try registration.url("authenticatorData")))

    var last = verified.signCount
    let assertions = try #require(vector.value["assertions"]).cases
    #expect(!assertions.isEmpty)
    for assertion in assertions {
      let request = try #require(assertion["request"])
      let response = try #require(assertion["response"])
      let data = try response.url("authenticatorData")
      let warnings = try AssertionVerifier(
        rpID: "localhost", challenge: try request.url("challenge"), origins: [Self.origin],
        requiresUserVerification: try request.text("uv") == "required",
        backupEligibleAtRegistration: verified.flags.contains(.backupEligible), lastSignCount: last
      ).verify(
        authenticatorData: data, clientDataJSON: try response.url("clientDataJSON"),
        signature: try response.url("signature"), publicKey: verified.publicKey)
      #expect(warnings.isEmpty)
      last = try AuthenticatorData(parsing: data).signCount
    }
  }
}

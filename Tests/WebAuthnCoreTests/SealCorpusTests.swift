// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// Seal's own vectors: assertions and registrations, with Seal's names.
@Suite(.arithmetic, .enabled(if: Corpus.has("seal-vectors.json"), "\(Corpus.absent)"))
struct SealCorpusTests {
  static let assertions = CorpusCases.list("seal-vectors.json", "assertions")
  static let registrations = CorpusCases.list("seal-vectors.json", "registration")

  @Test func allAreHere() {
    #expect(Self.assertions.count == 6)
    #expect(Self.registrations.count == 5)
  }

  @Test(arguments: assertions) func assertion(_ vector: CorpusCases.Case) throws {
    let key = CredentialPublicKey.es256(
      try P256.Signing.PublicKey(rawRepresentation: try vector.hex("rootPublicKeyHex")))
    let challenge = try vector.hex("challengeHex")
    func problems(_ challenge: [UInt8]) throws -> [String] {
      AssertionVerifier(rpID: "sealmessenger.com", challenge: challenge).problems(
        authenticatorData: try vector.hex("authenticatorDataHex"),
        clientDataJSON: Array(try vector.text("clientDataJSON_utf8").utf8), signature: try vector.hex("signatureHex"),
        publicKey: key
      ).map(\.name)
    }
    let expected: [String] =
      switch vector.testDescription {
      case "UP clear": ["userNotPresent"]
      case "wrong RP": ["rpIdHashMismatch"]
      default: []
      }
    #expect(try problems(challenge) == expected)
    #expect(vector.value["verify"]?.bool == expected.isEmpty)
    // The same tap never counts for another commitment.
    #expect(try problems([challenge[0] ^ 1] + challenge.dropFirst()) == expected + ["challengeMismatch"])
  }

  @Test(arguments: registrations) func registration(_ vector: CorpusCases.Case) throws {
    let object = try vector.hex("attestationObject_hex")
    let expected = try vector.text("expect")
    do {
      let parsed = try SealRegistration(attestationObject: object)
      #expect(Hex.encode(parsed.publicKey.rawRepresentation) == expected)
      #expect(parsed.algorithm == -7)
      #expect(parsed.curve == 1)
      #expect(parsed.coordinateLengths.x == (vector.testDescription.hasPrefix("31") ? 31 : 32))
      #expect(parsed.coordinateLengths.y == 32)
    } catch {
      #expect(error.name == expected)
    }
  }

  /// What Seal reads of a registration cut anywhere: one of its names, and never a key.
  @Test(arguments: registrations) func everyTruncation(_ vector: CorpusCases.Case) throws {
    let object = try vector.hex("attestationObject_hex")
    for count in 0..<object.count {
      do {
        _ = try SealRegistration(attestationObject: Array(object.prefix(count)))
        Issue.record("accepted at \(count)")
      } catch {
        #expect(error.name == "truncated")
      }
    }
  }
}

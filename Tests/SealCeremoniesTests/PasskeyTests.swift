// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import Testing
import WebAuthnCore

/// Passkeys made elsewhere: the standard options go out, the standard answer comes in, and is checked like any other.
@Suite struct PasskeyTests {
  /// What a browser would hand back.
  private func json(
    _ id: [UInt8], _ response: [(String, [UInt8])], rawID: [UInt8]? = nil, type: String = "public-key"
  ) -> [UInt8] {
    func text(_ bytes: [UInt8]) -> JSONValue { .string(Base64.encode(bytes, .url)) }
    return JSONWriter.write(
      .object([
        ("id", text(id)), ("rawId", text(rawID ?? id)), ("type", .string(type)),
        ("authenticatorAttachment", .string("platform")), ("clientExtensionResults", .object([])),
        ("response", .object(response.map { ($0.0, text($0.1)) })),
      ]))
  }

  private func challenge(_ options: JSONValue) throws -> [UInt8] {
    try #require(options["challenge"]?.string.flatMap { Base64.decode($0, .url) })
  }

  /// A whole life: registered, then a device endorsed, both by a "browser" with a virtual key behind it.
  @Test func registerAndSign() async throws {
    let bench = try await KeyBench()
    let request = try PasskeyRequest(registering: "Ada")
    let options = try request.options(excludeList: [[1, 2, 3]])
    #expect(options["rp"]?["id"]?.string == Seal.relyingPartyID)
    #expect(options["pubKeyCredParams"]?.array?.first?["alg"]?.int == -7)
    #expect(options["excludeCredentials"]?.array?.first?["id"]?.string == "AQID")
    #expect(options["authenticatorSelection"]?["userVerification"]?.string == "preferred")
    let sent = try challenge(options)
    let made = try await bench.plugged { _, session in
      try await session.makeCredential(
        RegistrationRequest(
          rpID: Seal.relyingPartyID, rpName: "Seal", origin: Seal.origin, challenge: sent, userID: [1], userName: "Ada",
          userDisplayName: "Ada"))
    }
    let answer = json(
      made.credentialID, [("clientDataJSON", made.clientDataJSON), ("attestationObject", made.attestationObject)])
    // The request survives as a file.
    let kept = try PasskeyRequest(parsing: request.encoded())
    guard case .registered(let registered) = try kept.answer(answer) else {
      Issue.record("not a registration")
      return
    }
    let record = registered.record
    #expect(record.tier == "passkey")
    #expect(registered.artefact.isSimulated, "a virtual key stays one, whatever way its answer took")
    #expect(try registered.artefact.verify(VerificationContext(rootPublicKey: record.publicKey)).isGood)

    let device = try PrivateHalves()
    let statement = Statement.endorse(
      devicePublicKey: device.devicePublicKey, kemBundle: device.bundle.publicKeys.bytes)
    let signing = try PasskeyRequest(parsing: PasskeyRequest(signing: statement, as: record).encoded())
    let wanted = try challenge(try signing.options())
    #expect(wanted == (try statement.commitment().digest))
    let tap = try await bench.plugged { _, session in
      try await session.getAssertion(
        AssertionRequest(
          rpID: Seal.relyingPartyID, origin: Seal.origin, challenge: wanted,
          allowList: [CredentialDescriptor(id: made.credentialID)]))
    }
    let good: [(String, [UInt8])] = [
      ("clientDataJSON", tap.clientDataJSON), ("authenticatorData", tap.authenticatorData),
      ("signature", tap.signature),
    ]
    guard case .signed(let signed, _) = try signing.answer(json(tap.credentialID, good)) else {
      Issue.record("not a signature")
      return
    }
    #expect(signed.assertion.verify(publicKey: record.publicKey, statement: statement).isGood)

    // Every wrong answer has a name.
    func name(_ bytes: [UInt8], _ request: PasskeyRequest) async -> String? {
      await failure { _ = try request.answer(bytes) }
    }
    #expect(await name(Array("{".utf8), signing) == "jsonTruncated")
    #expect(await name(json(tap.credentialID, good, type: "password"), signing) == "missingMember")
    #expect(await name(json(tap.credentialID, good, rawID: [1]), signing) == "credentialIDMismatch")
    #expect(await name(json([1, 2], good), signing) == "unexpectedCredential")
    for (index, missing) in good.enumerated() {
      var part = good
      part.remove(at: index)
      #expect(await name(json(tap.credentialID, part), signing) == "missingMember", "\(missing.0)")
      var spoilt = good
      spoilt[index].1[spoilt[index].1.count / 2] ^= 1
      #expect(await name(json(tap.credentialID, spoilt), signing) == "verificationFailed", "\(missing.0)")
    }
    #expect(await name(json(tap.credentialID, good), kept) == "missingMember")
    #expect(await name(answer, try PasskeyRequest(registering: "Ada")) == "verificationFailed", "another challenge")
    // A tap for one statement is none for another.
    let other = try PasskeyRequest(signing: .identityDelete(nonce: Random.bytes(32)), as: record)
    #expect(await name(json(tap.credentialID, good), other) == "verificationFailed")
    let padded = String(decoding: json(tap.credentialID, good), as: UTF8.self).replacing(
      "\"rawId\":\"", with: "\"rawId\":\"=")
    #expect(await name(Array(padded.utf8), signing) == "badEncoding")
  }

  @Test func requestFilesThatDoNotRead() async throws {
    for (text, name) in [
      ("", "jsonTruncated"), ("{}", "unknownFormat"),
      (#"{"format":"sealkey.request","version":2}"#, "unsupportedVersion"),
      (#"{"format":"sealkey.request","version":1}"#, "missingMember"),
      (#"{"format":"sealkey.request","version":1,"name":"Ada"}"#, "badEncoding"),
      (#"{"format":"sealkey.request","version":1,"name":""}"#, "badName"),
    ] {
      #expect(await failure { _ = try PasskeyRequest(parsing: Array(text.utf8)) } == name, "\(text)")
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// Attestation statements of every format: good ones are proven, bad ones have their names.
@Suite(.arithmetic) struct AttestationTests {
  static let clientDataHash = SHA256.hash(Array("client data".utf8))

  @Test(arguments: MadeAttestation.all.indices) func made(_ index: Int) throws {
    let made = MadeAttestation.all[index]
    let object = try AttestationObject(parsing: made.object)
    let report = AttestationVerifier().report(object, clientDataHash: Self.clientDataHash)
    #expect(report.problems.map(\.name) == made.problems, "\(made.name)")
    #expect(report.kind == .basic)
    #expect(report.trust == .notChecked)
    // For another registration none is good.
    let other = AttestationVerifier().report(object, clientDataHash: SHA256.hash([]))
    #expect(!other.isGood)
  }

  /// Any bit of an attestation object changed: never a trap. A change inside the statement or the signed data is
  /// seen; what a format does not sign (the certificate's own signature, say) belongs to the path.
  @Test(arguments: MadeAttestation.all.indices.filter { MadeAttestation.all[$0].problems.isEmpty })
  func everyByteChanged(_ index: Int) throws {
    let good = MadeAttestation.all[index].object
    let whole = try AttestationObject(parsing: good)
    let data = try #require(
      good.indices.first { good[$0...].starts(with: whole.authenticatorDataBytes) })
    for i in good.indices {
      var changed = good
      changed[i] ^= 1 << UInt8(i % 8)
      guard let object = try? AttestationObject(parsing: changed) else { continue }
      let report = AttestationVerifier().report(object, clientDataHash: Self.clientDataHash)
      if (data..<(data + whole.authenticatorDataBytes.count)).contains(i) { #expect(!report.isGood, "byte \(i)") }
    }
  }

  /// A statement that is made here.
  private func object(
    _ format: String, _ statement: [(String, CBORValue)], _ registration: TestRegistration = TestRegistration()
  ) throws -> AttestationObject {
    var registration = registration
    registration.members = [
      (.text("fmt"), .text(format)), (.text("attStmt"), .map(statement.map { (.text($0.0), $0.1) })),
      (.text("authData"), .bytes(registration.authenticatorData)),
    ]
    return try AttestationObject(parsing: registration.attestationObject)
  }

  private func names(_ object: AttestationObject) -> [String] {
    AttestationVerifier().report(object, clientDataHash: Self.clientDataHash).problems.map(\.name)
  }

  @Test func none() throws {
    let good = try object("none", [])
    let report = AttestationVerifier().report(good, clientDataHash: Self.clientDataHash)
    #expect(report.isGood)
    #expect(report.kind == .none)
    #expect(report.trust == .notApplicable)
    #expect(try names(object("none", [("x", .int(1))])) == ["attestationNotEmpty"])
    let unknown = try object("novel", [])
    #expect(names(unknown) == ["attestationFormatUnknown"])
  }

  @Test func selfAttestation() throws {
    let key = try P256.Signing.PrivateKey()
    let registration = TestRegistration(publicKey: key.publicKey)
    let signature = try key.signature(for: registration.authenticatorData + Self.clientDataHash)
    let alg = ("alg", CBORValue.int(-7))
    let sig = ("sig", CBORValue.bytes(signature))
    let good = try object("packed", [alg, sig], registration)
    #expect(names(good) == [])
    #expect(AttestationVerifier().report(good, clientDataHash: Self.clientDataHash).kind == .selfSigned)
    #expect(try names(object("packed", [alg], registration)) == ["attestationMember(sig)"])
    #expect(try names(object("packed", [sig], registration)) == ["attestationMember(alg)"])
    #expect(
      try names(object("packed", [("alg", .int(-8)), sig], registration)) == ["attestationAlgorithmMismatch(-8)"])
    #expect(
      try names(object("packed", [alg, ("sig", .bytes(signature + [0]))], registration))
        == ["attestationSignatureDoesNotMatch"])
    #expect(try names(object("packed", [alg, sig])) == ["attestationSignatureDoesNotMatch"])
    for (x5c, name) in [
      (CBORValue.array([]), "attestationMember(x5c)"), (.bytes([]), "attestationMember(x5c)"),
      (.array([.int(1)]), "attestationMember(x5c)"), (.array([.bytes([0x30])]), "certificateMalformed"),
      (.array([.bytes([])]), "certificateMalformed"),
      (.array(Array(repeating: .bytes([1]), count: 11)), "attestationMember(x5c)"),
    ] {
      #expect(try names(object("packed", [alg, sig, ("x5c", x5c)], registration)) == [name])
    }
  }

  /// A statement missing each of its members in turn, for every format that has some.
  @Test(arguments: MadeAttestation.all.indices.filter { MadeAttestation.all[$0].problems.isEmpty })
  func missingMembers(_ index: Int) throws {
    let whole = try AttestationObject(parsing: MadeAttestation.all[index].object)
    for member in whole.statement.map ?? [] {
      let name = try #require(member.key.text)
      let rest = (whole.statement.map ?? []).filter { $0.key.text != name }
      let statement = CBORValue.encode(.map(rest.map { ($0.key.rewritten, $0.value.rewritten) }))
      let object = try AttestationObject(
        parsing: AttestationObject.build(
          format: whole.format, statement: statement, authenticatorData: whole.authenticatorDataBytes))
      // Without certificates it is taken for the credential's own signature.
      let isSelf = whole.format == "packed" && name == "x5c"
      #expect(names(object) == [isSelf ? "attestationSignatureDoesNotMatch" : "attestationMember(\(name))"])
    }
  }
}

/// The standard's vectors with their root, the captures, and Chromium's.
@Suite(.arithmetic, .enabled(if: Corpus.has("w3c-webauthn3-vectors.json"), "\(Corpus.absent)"))
struct AttestationCorpusTests {
  static let root: [UInt8] = {
    let all = CorpusCases.list("w3c-webauthn3-vectors.json", "vectors")
    return (try? all.first { $0["attestation_ca_cert"] != nil }?.hex("attestation_ca_cert")) ?? []
  }()

  @Test(arguments: W3CCorpusTests.vectors) func standard(_ vector: CorpusCases.Case) throws {
    let root = try Certificate(derRepresentation: Self.root)
    let registration = try #require(vector["registration"])
    let object = try AttestationObject(parsing: try registration.hex("attestationObject"))
    let hash = SHA256.hash(try registration.hex("clientDataJSON"))
    let report = AttestationVerifier(roots: [root], time: 1_900_000_000).report(object, clientDataHash: hash)
    #expect(report.problems.map(\.name) == [])
    let hasCertificate = object.statement["x5c"] != nil
    #expect(report.trust == (hasCertificate ? .trusted : .notApplicable))
    let id = vector.testDescription
    #expect(id.hasPrefix(object.format) || id.hasPrefix("packed"))
    let kind: AttestationReport.Kind =
      id.hasPrefix("none")
      ? .none : id.contains("self") ? .selfSigned : id.hasPrefix("apple") ? .anonymizationCA : .basic
    #expect(report.kind == kind)
    #expect(!AttestationVerifier().report(object, clientDataHash: SHA256.hash([])).isGood || kind == .none)
    guard hasCertificate else { return }
    // Another root, no root, and a time before and after.
    #expect(AttestationVerifier().report(object, clientDataHash: hash).trust == .notChecked)
    let leaf = report.certificates[0]
    #expect(
      AttestationVerifier(roots: [leaf], time: 1_900_000_000).report(object, clientDataHash: hash).trust == .trusted)
    for time: Int64 in [0, 40_000_000_000] {
      if case .untrusted(let error) = AttestationVerifier(roots: [root], time: time).report(
        object, clientDataHash: hash
      ).trust {
        #expect(error.name == "certificateUntrusted")
      } else {
        Issue.record("trusted at \(time)")
      }
    }
  }

  @Test(arguments: CaptureCorpusTests.captures.filter { $0["registrationClientDataJSON"] != nil })
  func realKeys(_ capture: CorpusCases.Case) throws {
    let object = try AttestationObject(parsing: try capture.hex("attestationObjectHex"))
    let hash = SHA256.hash(Array(try capture.text("registrationClientDataJSON").utf8))
    let report = AttestationVerifier(roots: [try Certificate(derRepresentation: Self.root)]).report(
      object, clientDataHash: hash)
    #expect(report.isGood == capture.value["attestationSigVerified"]?.bool)
    #expect(report.problems.map(\.name) == [])
    #expect(report.kind == .basic)
    if case .untrusted = report.trust {} else { Issue.record("a stranger's root was trusted") }
    #expect(report.certificates.first?.issuer.text.contains("Yubico") == true)
  }

  @Test(arguments: ChromiumCorpusTests.vectors) func chromium(_ vector: CorpusCases.Case) throws {
    let registration = try #require(vector["registration"])
    let object = try AttestationObject(parsing: try registration.url("attestationObject"))
    let report = AttestationVerifier().report(
      object, clientDataHash: SHA256.hash(try registration.url("clientDataJSON")))
    #expect(report.problems.map(\.name) == [])
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// The certificate of a packed attestation, one rule broken at a time (WebAuthn level 3 sections 8.2 and 8.2.1): each has
/// its name, or passes for the reason given.
@Suite(.arithmetic) struct PackedCertificateTests {
  /// A statement's parts, good until one is changed.
  struct Parts {
    var certificate = TestCertificate()
    var algorithm = -7
    /// What is put behind the certificate in `x5c`, and whether it stands there once more.
    var chain: [[UInt8]] = []
    var isTwice = false
    /// Bytes after the certificate's own.
    var tail: [UInt8] = []
    var isAnothersSignature = false
    var signatureTail: [UInt8] = []
    var model = [UInt8](repeating: 0xaa, count: 16)
  }

  typealias Rule = NamedChange<Parts>

  static func rule(_ name: String) -> String { "attestationCertificate(\(name))" }

  static func subject(_ type: UInt8, _ text: String?) -> @Sendable (inout Parts) -> Void {
    { parts in
      parts.certificate.subject.removeAll { $0.type == type }
      if let text { parts.certificate.subject.append((type, text)) }
    }
  }

  static let rules: [Rule] = [
    Rule("no change") { _ in },
    Rule("version 1, which has no extensions", rule("version")) { $0.certificate.version = nil },
    Rule("version 2", rule("version")) { $0.certificate.version = 1 },
    Rule("no country", rule("subjectC"), change: subject(6, nil)),
    Rule("a country of three letters", rule("subjectC"), change: subject(6, "SWE")),
    Rule("no organisation", rule("subjectO"), change: subject(10, nil)),
    Rule("an empty organisation", rule("subjectO"), change: subject(10, "")),
    Rule("no unit", rule("subjectOU"), change: subject(11, nil)),
    Rule("another unit", rule("subjectOU"), change: subject(11, "Authenticator attestation")),
    Rule("a unit that is longer", rule("subjectOU"), change: subject(11, "Authenticator Attestation ")),
    Rule("no common name", rule("subjectCN"), change: subject(3, nil)),
    Rule("an empty common name", rule("subjectCN"), change: subject(3, "")),
    Rule("nobody at all", rule("subjectC"), rule("subjectO"), rule("subjectOU"), rule("subjectCN")) {
      $0.certificate.subject = []
    },
    Rule("an authority's", rule("basicConstraints")) { $0.certificate.isAuthority = true },
    // Older keys' certificates have none; without it a certificate is nobody's authority.
    Rule("no basic constraints") { $0.certificate.isAuthority = nil },
    // The extension is for certificates that vouch for one model of several.
    Rule("no AAGUID extension") { $0.certificate.model = nil },
    Rule("a critical AAGUID extension", rule("aaguidExtensionCritical")) { $0.certificate.isModelCritical = true },
    Rule("an AAGUID without its octet string", rule("aaguidExtension")) {
      $0.certificate.model = [UInt8](repeating: 0xaa, count: 16)
    },
    Rule("an AAGUID of 15 bytes", rule("aaguidExtension")) {
      $0.certificate.model = TestCertificate.der(4, [UInt8](repeating: 0xaa, count: 15))
    },
    Rule("an AAGUID and a byte more", rule("aaguidExtension")) { $0.certificate.model? += [0] },
    Rule("another model's certificate", "attestationAAGUIDMismatch") { $0.certificate.model?[17] ^= 1 },
    Rule("another model's registration", "attestationAAGUIDMismatch") { $0.model[0] ^= 1 },
    Rule("another key signed", "attestationSignatureDoesNotMatch") { $0.isAnothersSignature = true },
    Rule("a byte after the signature", "attestationSignatureDoesNotMatch") { $0.signatureTail = [0] },
    Rule("the algorithm of another curve", "attestationSignatureDoesNotMatch") { $0.algorithm = -35 },
    Rule("RSA over a curve's key", "attestationSignatureDoesNotMatch") { $0.algorithm = -257 },
    Rule("an algorithm that nobody has", "attestationAlgorithmUnknown(-9999)") { $0.algorithm = -9999 },
    Rule("a byte after the certificate", "certificateMalformed") { $0.tail = [0] },
    Rule("something else behind the certificate", "certificateMalformed") { $0.chain = [[1, 2, 3]] },
    // Where the chain leads is the path's business.
    Rule("the same certificate twice") { $0.isTwice = true },
  ]

  @Test(arguments: rules) func oneRule(_ rule: Rule) throws {
    let key = try P256.Signing.PrivateKey()
    let signer = try P256.Signing.PrivateKey()
    var parts = Parts()
    rule.change(&parts)
    var registration = TestRegistration()
    registration.aaguid = parts.model
    let hash = SHA256.hash(Array("client data".utf8))
    let message = registration.authenticatorData + hash
    var signature = try parts.isAnothersSignature ? signer.signature(for: message) : key.signature(for: message)
    signature += parts.signatureTail
    let whole = try parts.certificate.encoded(key) + parts.tail
    let chain = [whole] + (parts.isTwice ? [whole] : []) + parts.chain
    registration.members = [
      (.text("fmt"), .text("packed")),
      (
        .text("attStmt"),
        .map([
          (.text("alg"), .int(parts.algorithm)), (.text("sig"), .bytes(signature)),
          (.text("x5c"), .array(chain.map { .bytes($0) })),
        ])
      ),
      (.text("authData"), .bytes(registration.authenticatorData)),
    ]
    let object = try AttestationObject(parsing: registration.attestationObject)
    let report = AttestationVerifier().report(object, clientDataHash: hash)
    #expect(report.problems.map(\.name) == rule.names)
    #expect(report.kind == .basic)
    // The credential itself is as good as before.
    _ = try SealRegistration(attestationObject: registration.attestationObject)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// The attestation object, and the statement of each format.
extension FuzzTarget {
  static let attestationTargets: [FuzzTarget] =
    [
      FuzzTarget(
        "attestation-object", ["WebAuthnCore/AttestationObject.swift", "WebAuthnCore/Verification/"], limit: 8192,
        seeds: { $0.registrations.map(\.attestationObject) + $0.statements.map(\.object) }
      ) { input in
        _ = attempt { () throws(VerificationFailure) in
          try RegistrationVerifier(rpID: "example.org", challenge: [1]).verify(
            attestationObject: input, clientDataJSON: Array("{}".utf8), credentialID: nil)
        }
        _ = attempt { () throws(SealRegistrationError) in try SealRegistration(attestationObject: input) }
        guard
          let object = attempt({ () throws(AttestationObjectError) in try AttestationObject(parsing: input) })
        else { return }
        must(object.raw == input, "an attestation object keeps its bytes")
        let rebuilt = AttestationObject.build(
          format: object.format, statement: Array(input[object.statement.range]),
          authenticatorData: object.authenticatorDataBytes)
        let second = again("attestation object") { () throws(AttestationObjectError) in
          try AttestationObject(parsing: rebuilt)
        }
        must(second.format.isExactly(object.format), "the format stays")
        must(second.authenticatorDataBytes == object.authenticatorDataBytes, "authenticator data stays")
        _ = AttestationVerifier().report(object, clientDataHash: [UInt8](repeating: 1, count: 32))
      }
    ]
    + ["packed", "fido-u2f", "tpm", "apple", "android-key", "none"].map { format in
      FuzzTarget(
        "statement-\(format)", ["WebAuthnCore/Attestation/"], limit: 4096,
        seeds: { stock in stock.statements.filter { $0.format == format }.map(\.statement) + [[0xa0]] }
      ) { input in
        // A level deeper, as it lies in the object.
        guard attempt({ () throws(CBORError) in try CBORDecoder.decodeAll([0x81] + input) })?.array?.first?.map != nil
        else { return }
        let bytes = AttestationObject.build(
          format: format, statement: input, authenticatorData: SeedStock.fixedAuthenticatorData)
        let object = again("statement") { () throws(AttestationObjectError) in try AttestationObject(parsing: bytes) }
        let report = AttestationVerifier(roots: [], time: 1_800_000_000).report(
          object, clientDataHash: SHA256.hash(Array("client data".utf8)))
        must(report.format == format, "the report names the format")
        must(format != "none" || report.isGood == (object.statement.map?.isEmpty == true), "none holds nothing")
        for problem in report.problems {
          must(!problem.name.isEmpty && !problem.message.isEmpty, "problems have names")
        }
      }
    }
}

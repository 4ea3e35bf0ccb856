// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// What the maker's attestation proves of a run. It is made over the registration's challenge, which follows from the
/// run: it cannot be copied from elsewhere, and nobody without a key of the maker's can make one.
public struct AttestationVerdict: Sendable {
  /// The attestation's own report; nil when nothing was registered, or nothing that can be read.
  public let report: AttestationReport?
  /// The AAGUID in the signed data, 16 bytes, equals that of getInfo.
  public let aaguidAgrees: Bool

  /// Looks at the first registration of a run.
  /// - Parameter roots: the maker's roots, from metadata; without them nobody is believed.
  public init(_ record: RunRecord, _ evaluation: Evaluation? = nil, roots: [Certificate] = []) {
    let evaluation = evaluation ?? Evaluation(record)
    guard let made = evaluation.credentials[.register] ?? evaluation.credentials[.prfRegister],
      let object = try? AttestationObject(parsing: made.attestationObject)
    else {
      report = nil
      aaguidAgrees = false
      return
    }
    report = AttestationVerifier(roots: roots, time: record.startedAt).report(
      object, clientDataHash: made.clientDataHash)
    aaguidAgrees =
      evaluation.info.map { $0.aaguid == object.authenticatorData.attestedCredentialData?.aaguid }
      ?? (object.format == "fido-u2f")
  }

  /// The cell.
  public var text: String {
    guard let report else { return "– none" }
    guard report.isGood else { return "❌ \(report.format): \(report.problems.map(\.name).joined(separator: ", "))" }
    guard aaguidAgrees else { return "❌ \(report.format): for another model than getInfo says" }
    let certificates = report.certificates
    if certificates.contains(where: { SimulatedKey.isSimulated(certificate: $0.derRepresentation) }) {
      return "– simulated (virtual root)"
    }
    switch report.trust {
    case .trusted: return "✅ \(report.format), by a root of the metadata, over this run's challenge"
    case .untrusted(let error): return "❌ \(report.format): \(error.name)"
    case .notChecked: return "\(report.format), over this run's challenge; its root is checked against metadata"
    case .notApplicable: return "– \(report.format) \(report.kind.rawValue): says nothing of the maker"
    }
  }
}

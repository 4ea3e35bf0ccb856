// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// What the maker's attestation proves of a run, once its certificates are seen to lead to a root of the maker's: it is made
/// over the registration's challenge, which follows from the run, so it cannot be copied from elsewhere. Without that root
/// anybody can make one.
public struct AttestationVerdict: Sendable {
  /// The attestation's own report, of the registration that proves least; nil when nothing was registered, or nothing that
  /// can be read.
  public let report: AttestationReport?
  /// The AAGUID in the signed data, 16 bytes, equals that of getInfo.
  public let aaguidAgrees: Bool

  /// Looks at the registrations of a run: a maker vouches for the run only when each of them says so.
  /// - Parameter roots: the maker's roots, from metadata; without them nobody is believed.
  public init(_ record: RunRecord, _ evaluation: Evaluation? = nil, roots: [Certificate] = []) {
    let evaluation = evaluation ?? Evaluation(record)
    let verifier = AttestationVerifier(roots: roots, time: record.startedAt)
    var found: [(report: AttestationReport, aaguidAgrees: Bool)] = []
    for made in [MatrixStep.register, .prfRegister].compactMap({ evaluation.credentials[$0] }) {
      guard let object = try? AttestationObject(parsing: made.attestationObject) else {
        found = []
        break
      }
      let aaguid = object.authenticatorData.attestedCredentialData?.aaguid
      found.append(
        (
          verifier.report(object, clientDataHash: made.clientDataHash),
          evaluation.info.map { $0.aaguid == aaguid } ?? (object.format == "fido-u2f")
        ))
    }
    let least = found.min { Self.rank($0.report, $0.aaguidAgrees) < Self.rank($1.report, $1.aaguidAgrees) }
    report = least?.report
    aaguidAgrees = least?.aaguidAgrees ?? false
  }

  /// How much a registration proves.
  private static func rank(_ report: AttestationReport, _ aaguidAgrees: Bool) -> Int {
    guard report.isGood else { return 0 }
    guard aaguidAgrees else { return 1 }
    switch report.trust {
    case .untrusted: return 2
    case .notApplicable: return 3
    case .notChecked: return 4
    case .trusted: return 5
    }
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
    case .notChecked: return "\(report.format), over this run's challenge; NOT checked whose root it is"
    case .notApplicable: return "– \(report.format) \(report.kind.rawValue): says nothing of the maker"
    }
  }
}

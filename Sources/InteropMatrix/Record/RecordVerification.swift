// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SealFormats
import WebAuthnCore

extension RunRecord {
  /// Checks a record's file from its bytes alone, offline: that it is whole and unchanged, that every cell follows from
  /// what the key said, that every answer is this run's, and what gives it away as simulated.
  /// - Parameter roots: the maker's attestation roots, from metadata, when there are any.
  public static func verify(_ bytes: [UInt8], roots: [Certificate] = []) -> VerificationReport {
    var report = VerificationReport()
    do { report.append(try RunRecord(parsing: bytes).verification(roots: roots)) } catch {
      report.add(error, "record")
    }
    return report
  }

  /// The same for a record that was read: reading has shown already that digest and cells are right.
  public func verification(roots: [Certificate] = []) -> VerificationReport {
    var report = VerificationReport()
    report.add(.good, "evidenceDigest", "record", "The record is whole, and every cell follows from its evidence.")
    checkSteps(&report)
    checkKey(&report)
    checkSimulation(&report)
    checkAttestation(&report, roots)
    if finishedAt == nil {
      report.add(.bad, "unfinished", "record", "The run was not finished; continue it with the same key.")
    }
    if let after, case let problems = StateChange.problems(before: before, after: after), !problems.isEmpty {
      report.add(.warning, "stateChanged", "key", "The key is not as it was: \(problems.joined(separator: ", ")).")
    }
    return report
  }

  private func checkSteps(_ report: inout VerificationReport) {
    let evaluation = Evaluation(self)
    var times = 0
    for step in steps {
      guard let finding = evaluation.finding(step.step) else { continue }
      switch finding.reason {
      case let reason? where Self.isForeign(reason):
        report.add(
          .bad, reason, step.step.title,
          "The answer does not belong to this run, or was moved to another step.")
      default: report.add(.note, "cell", step.step.title, finding.cell)
      }
      times += step.attempts.count
    }
    let order = steps.map(\.step).compactMap { MatrixStep.allCases.firstIndex(of: $0) }
    if order != order.sorted() { report.add(.bad, "stepOrder", "record", "The steps are not in their order.") }
    report.add(
      .note, "observed", "record",
      "Touches, times, and whether a secret opened the lock are what the program saw: bytes do not prove them (\(times) tries)."
    )
  }

  private static func isForeign(_ reason: String) -> Bool {
    ["challengeMismatch", "clientDataMismatch", "sameComputer", "requestMismatch"].contains(reason.prefix { $0 != "(" })
  }

  private func checkKey(_ report: inout VerificationReport) {
    guard !before.info.isEmpty else { return }
    if (try? AuthenticatorInfo(parsing: before.info)) == nil {
      report.add(.bad, "getInfo", "key", "What the key said of itself cannot be read.")
    }
  }

  private func checkSimulation(_ report: inout VerificationReport) {
    let signs = SimulationSigns.of(self)
    let hidden = signs.subtracting([.flag]).sorted { $0.rawValue < $1.rawValue }
    guard !signs.isEmpty else { return }
    let why = hidden.map(\.sentence).joined(separator: "; ")
    if isSimulated {
      report.add(.note, "simulated", "key", "Simulated: no real key was measured\(why.isEmpty ? "" : " (\(why))").")
    } else {
      report.add(.bad, "simulatedWithoutFlag", "key", "The record does not say that it is simulated, but \(why).")
    }
  }

  private func checkAttestation(_ report: inout VerificationReport, _ roots: [Certificate]) {
    let verdict = AttestationVerdict(self, roots: roots)
    guard let found = verdict.report else { return }
    switch found.trust {
    case .trusted where found.isGood && verdict.aaguidAgrees:
      report.add(.good, "attestation", "key", "The maker vouches for the model, over this run's own challenge.")
    case .untrusted(let error): report.add(.warning, error.name, "key", error.message)
    default: report.add(.note, "attestation", "key", verdict.text)
    }
  }
}

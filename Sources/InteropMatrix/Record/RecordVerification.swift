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
  /// - Parameter makers: what metadata says of the maker, when there is any.
  public static func verify(_ bytes: [UInt8], makers: MakersWord? = nil) -> VerificationReport {
    var report = VerificationReport()
    do { report.append(try RunRecord(parsing: bytes).verification(makers: makers)) } catch {
      report.add(error, "record")
    }
    return report
  }

  /// The same for a record that was read: reading has shown already that digest and cells are right.
  public func verification(makers: MakersWord? = nil) -> VerificationReport {
    var report = VerificationReport()
    report.add(.good, "evidenceDigest", "record", "The record is whole, and every cell follows from its evidence.")
    checkSteps(&report)
    checkKey(&report)
    checkSimulation(&report)
    checkAttestation(&report, makers)
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
      case let reason? where Evaluation.isForeign(reason):
        report.add(
          .bad, reason, step.step.title,
          "The answer does not belong to this run, or was moved to another step.")
      default: report.add(.note, "cell", step.step.title, finding.cell)
      }
      times += step.attempts.count
    }
    let order = steps.map(\.step).compactMap { MatrixStep.allCases.firstIndex(of: $0) }
    if order != order.sorted() { report.add(.bad, "stepOrder", "record", "The steps are not in their order.") }
    let missing = MatrixRunner.ownSteps.filter { step in !steps.contains { $0.step == step } }
    if finishedAt != nil, !missing.isEmpty {
      let names = missing.map(\.title).joined(separator: ", ")
      report.add(
        .bad, "stepsMissing", "record", "The run is said to be finished, and does not name these steps: \(names).")
    }
    report.add(
      .note, "observed", "record",
      "Touches, times, a cancelled touch, failures without an answer of the key's, whether a secret opened the lock, and "
        + "that there was a second computer are what the program saw: bytes do not prove them (\(times) tries)."
    )
  }

  private func checkKey(_ report: inout VerificationReport) {
    guard !before.info.isEmpty else { return }
    guard let info = try? AuthenticatorInfo(parsing: before.info) else {
      report.add(.bad, "getInfo", "key", "What the key said of itself cannot be read.")
      return
    }
    if !isOneModel(info) {
      report.add(
        .bad, "otherKey", "key", "The credentials are of another model than the key says it is, or of two keys.")
    }
    if info.option("clientPin") != true, info.option("uv") != true, signedFlags.contains(where: { $0 & 0x04 != 0 }) {
      report.add(
        .bad, "stateContradicts", "key",
        "Before the run the key had no PIN and no fingerprint, and its answers say that it verified somebody.")
    }
  }

  /// Whether all credentials are of the model that getInfo names. A key that attests nothing may leave its AAGUID out
  /// (WebAuthn level 3 section 5.4.7), and then of each.
  private func isOneModel(_ info: AuthenticatorInfo) -> Bool {
    let made = Evaluation(self).credentials.values.map { credential -> (aaguid: [UInt8]?, isNone: Bool) in
      let object = try? CBORDecoder.decode(credential.attestationObject)
      let data = object?["authData"]?.bytes ?? []
      return (data.count >= 53 ? Array(data[37..<53]) : nil, object?["fmt"]?.text == "none")
    }
    let isNamed = made.allSatisfy { $0.aaguid == info.aaguid }
    return isNamed || made.allSatisfy { $0.isNone && $0.aaguid == [UInt8](repeating: 0, count: 16) }
  }

  /// The flags byte of every registration and every tap, as the key sent it.
  private var signedFlags: [UInt8] {
    steps.flatMap(\.attempts).flatMap(\.exchanges).compactMap { exchange in
      guard let command = exchange.request.first, (1...2).contains(command), exchange.reply.first == 0,
        let data = (try? CBORDecoder.decodeAll(Array(exchange.reply.dropFirst())))?[2]?.bytes, data.count > 32
      else { return nil }
      return data[32]
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

  private func checkAttestation(_ report: inout VerificationReport, _ makers: MakersWord?) {
    if let makers { report.append(makers.report) }
    let verdict = AttestationVerdict(self, roots: makers?.roots ?? [])
    guard let found = verdict.report else { return }
    switch found.trust {
    case .trusted where found.isGood && verdict.aaguidAgrees:
      if !SimulationSigns.of(self).isEmpty {
        report.add(.note, "attestation", "key", "The attestation leads to a root that was given, and no maker made it.")
      } else if makers?.isSigned != true {
        report.add(
          .note, "attestation", "key",
          "The attestation leads to a root that the metadata names, and nobody vouches for the metadata.")
      } else {
        report.add(.good, "attestation", "key", "The maker vouches for the model, over this run's own challenge.")
      }
    case .untrusted(let error): report.add(.warning, error.name, "key", error.message)
    default: report.add(.note, "attestation", "key", verdict.text)
    }
  }
}

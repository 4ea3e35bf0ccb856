// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

extension RunRecord {
  /// The cells of a run, as the tables show them.
  public struct Cells: Sendable, Hashable {
    /// Seal's eleven columns without the number: model, firmware, PIN set, transport, register, algorithm, sign-in,
    /// friend tap, verify line, notes.
    public var sheet: [String]
    /// Seal's sponsored-key columns: model, PRF at register, PRF at endorse, second phone, notes.
    public var sponsored: [String]
    /// Further columns of our own document: touches, times, limits, PRF equality, attestation, state after.
    public var further: [String]
  }

  /// Names of Cells/sheet.
  static let sheetNames = [
    "keyModel", "firmware", "pinSet", "transport", "registerResult", "registerAlgorithm", "signInResult",
    "friendTapResult", "verifyLine", "notes",
  ]
  /// Names of Cells/sponsored.
  static let sponsoredNames = ["model", "prfAtRegister", "prfAtEndorse", "secondPhone", "sponsoredNotes"]
  /// Names of Cells/further.
  static let furtherNames = ["touches", "times", "limits", "prfEquality", "cancelResult", "attestation", "stateAfter"]

  /// The firmware as people write it.
  public var firmwareText: String {
    guard let number = (try? AuthenticatorInfo(parsing: before.info))?.firmwareVersion else {
      return deviceVersionText
    }
    // Yubico writes 5.4.3 as 0x050403.
    if key.vendorID == 0x1050 || (key.vendorID == nil && (0x05_00_00...0x06_00_00).contains(number)), number < 1 << 24 {
      return "\(number >> 16).\(number >> 8 & 0xff).\(number & 0xff)"
    }
    return "\(number)"
  }

  private var deviceVersionText: String {
    key.deviceVersion.allSatisfy { $0 == 0 } ? "unknown" : key.deviceVersion.map { "\($0)" }.joined(separator: ".")
  }

  /// The cells, computed from the evidence.
  public var cells: Cells { CellMaker(self).cells }

  /// The cells as the file has them: every finding, then every cell.
  var cellsJSON: JSONValue {
    let maker = CellMaker(self)
    let cells = maker.cells
    let steps = maker.evaluation.findings.map { ($0.step.rawValue, Optional($0.json)) }
    let named = zip(
      Self.sheetNames + Self.sponsoredNames + Self.furtherNames, cells.sheet + cells.sponsored + cells.further)
    return .object(steps + named.map { ($0, .string($1)) })
  }
}

extension StepFinding {
  /// As the file has it.
  var json: JSONValue {
    .object([
      ("result", .string(mark.rawValue)), ("reason", reason.map { .string($0) }), ("status", status.map { .int($0) }),
      ("telemetry", telemetry.map { .string($0) }), ("explanation", explanation.map { .string($0) }),
      ("notes", notes.isEmpty ? nil : .array(notes.map { .string($0) })), ("touches", touches.map { .int($0) }),
      ("firstKeepaliveMs", firstKeepalive.map { .int($0) }), ("durationMs", duration.map { .int($0) }),
    ])
  }
}

/// Makes the cells of one record.
struct CellMaker {
  let record: RunRecord
  let evaluation: Evaluation

  init(_ record: RunRecord) {
    self.record = record
    evaluation = Evaluation(record)
  }

  var cells: RunRecord.Cells {
    RunRecord.Cells(
      sheet: [
        record.key.name, record.firmwareText, pinSet, record.key.transportName, cell(.register), algorithm,
        cell(.signIn), cell(.friend), verifyLine, notes([.register, .signIn, .friend, .endorse]),
      ],
      sponsored: [
        record.key.name, cell(.prfRegister), cell(.prfEndorse), cell(.secondHost),
        notes([.prfRegister, .prfEndorse, .secondHost]),
      ],
      further: [touches, times, limits, prfEquality, cell(.cancel), attestation, stateAfter])
  }

  private func cell(_ step: MatrixStep) -> String { evaluation.finding(step)?.cell ?? "– not run" }

  private var pinSet: String {
    guard let info = evaluation.info else { return "no (U2F)" }
    switch info.option("clientPin") {
    case true: return "yes"
    case false: return "no"
    default: return info.option("uv") == true ? "no (own verification)" : "no (cannot)"
    }
  }

  private var algorithm: String {
    guard let made = evaluation.credentials[.register]?.registration else {
      // What the key presented is in the line even when Seal refuses it.
      let line = evaluation.finding(.register)?.telemetry ?? ""
      let words = line.split(separator: " ").map(String.init)
      guard words.count >= 8, words[0] == "register:" else { return "–" }
      return [words[2], words[3], String(words[6].dropFirst(5)), String(words[7].dropFirst(5))]
        .joined(separator: " / ")
    }
    return [
      SealTelemetry.algorithmName(made.algorithm), SealTelemetry.curveName(made.curve), "\(made.coordinateLengths.x)",
      "\(made.coordinateLengths.y)",
    ].joined(separator: " / ")
  }

  /// The line of the worst assertion, or of the last.
  private var verifyLine: String {
    let found = [MatrixStep.signIn, .friend, .endorse].compactMap { evaluation.finding($0) }
    let shown = found.first { $0.mark == .fails || $0.mark == .sometimes } ?? found.last { $0.telemetry != nil }
    return shown?.telemetry ?? "–"
  }

  /// For what does not always work its exact line, as the sheet asks; then what is worth knowing.
  private func notes(_ steps: [MatrixStep]) -> String {
    var parts: [String] = []
    for finding in steps.compactMap({ evaluation.finding($0) }) {
      if finding.mark == .fails || finding.mark == .sometimes {
        let line = finding.telemetry.map { ": \($0)" } ?? ""
        let why = finding.explanation.map { " \($0)" } ?? ""
        parts.append("\(finding.step.title)\(line).\(why)")
      }
      for note in finding.notes {
        let text = "\(FailurePattern.explanation(of: note).map { "\(note): \($0)" } ?? note)"
        if !parts.contains(text) { parts.append(text) }
      }
    }
    return parts.joined(separator: " ")
  }

  private var touches: String {
    let seen = evaluation.findings.compactMap { finding in finding.touches.map { "\(finding.step.rawValue) \($0)" } }
    return seen.isEmpty ? "–" : seen.joined(separator: ", ")
  }

  private var times: String {
    let seen = evaluation.findings.compactMap { finding -> String? in
      guard let duration = finding.duration, finding.step != .cancel else { return nil }
      let first = finding.firstKeepalive.map { "\($0)" } ?? "–"
      return "\(finding.step.rawValue) \(first)/\(duration) ms"
    }
    return seen.isEmpty ? "–" : seen.joined(separator: ", ")
  }

  private var limits: String {
    guard let info = evaluation.info else { return "U2F" }
    func text(_ number: Int?) -> String { number.map { "\($0)" } ?? "–" }
    let size = "message \(text(info.maxMsgSize)), list \(text(info.maxCredentialCountInList))"
    return "\(size), id \(text(info.maxCredentialIdLength))"
      + (evaluation.credentials[.register].map { ", made id \($0.id.count)" } ?? "")
  }

  private var prfEquality: String {
    let steps: [MatrixStep] = [.prfAgain, .prfWithoutUV, .prfProtocol1, .prfProtocol2]
    let seen = steps.compactMap { step -> String? in
      // A secret that came otherwise than the step says is none of that step's.
      guard let found = evaluation.finding(step), let opens = found.opensLock,
        found.reason == nil || found.reason == "wrongKey"
      else { return nil }
      let names: [MatrixStep: String] = [
        .prfAgain: "again", .prfWithoutUV: "without UV", .prfProtocol1: "protocol 1", .prfProtocol2: "protocol 2",
      ]
      return "\(names[step] ?? step.rawValue) \(opens ? "equal" : "other")"
    }
    return seen.isEmpty ? "–" : seen.joined(separator: ", ")
  }

  private var attestation: String { AttestationVerdict(record, evaluation).text }

  private var stateAfter: String {
    guard let after = record.after else { return "– not read" }
    let problems = StateChange.problems(before: record.before, after: after)
    return problems.isEmpty ? "✅ as before" : "❌ " + problems.joined(separator: ", ")
  }
}

/// What a run must leave as it was.
enum StateChange {
  static func problems(before: RunRecord.KeyState, after: RunRecord.KeyState) -> [String] {
    var found: [String] = []
    if let tries = before.pinTries, let left = after.pinTries, left < tries {
      found.append("PIN tries \(tries) to \(left)")
    }
    if let had = before.discoverable, let has = after.discoverable, has != had {
      found.append("discoverable credentials \(had) to \(has)")
    }
    let options = (try? AuthenticatorInfo(parsing: before.info))?.options
    let now = (try? AuthenticatorInfo(parsing: after.info))?.options
    if options != now { found.append("options changed") }
    return found
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import SecurityKeys
import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import InteropMatrix

/// The whole run on every model: those with a fault show it in the right cell, with its line and what it points to.
@Suite("Matrix runs on models") struct ModelRunTests {
  struct Case: Sendable, CustomTestStringConvertible {
    /// The model, and which quirk in the data it is, where it is one.
    let model: String
    let step: MatrixStep
    let mark: Mark
    /// The failure, or the note where it works; nil for neither.
    var reason: String?
    /// The whole line, or how it begins.
    var line = ""
    /// A part of what it points to.
    var points = ""
    var testDescription: String { "\(model): \(step)" }

    init(
      _ model: String, _ step: MatrixStep, _ mark: Mark, _ reason: String? = nil, line: String = "",
      points: String = ""
    ) {
      (self.model, self.step, self.mark, self.reason, self.line, self.points) = (
        model, step, mark, reason, line, points
      )
    }
  }

  private static let ok = "verify: OK (flags=UP|UV)"
  private static let packed = "register: fmt=packed ES256(P-256) P-256 flags=UP|UV|AT credIdLen=66 xLen=32 yLen=32"
  private static let unparsed = "verify: signature did not parse as DER ECDSA (sigLen="

  static let cases: [Case] = [
    Case("virtual", .register, .works, line: packed),
    Case("u2f", .register, .works, line: "register: fmt=fido-u2f ES256(P-256) P-256 flags=UP|AT credIdLen=66 xLen=32"),
    Case("u2f", .friend, .works, line: "verify: OK (flags=UP)"),
    Case("u2f", .prfRegister, .fails, "prfUnsupported", points: "no hmac-secret"),
    // The sheet's failure patterns.
    Case(
      "ignores-algorithm", .register, .fails, "unsupportedAlgorithm(-8)",
      line: "register: fmt=packed EdDSA(Ed25519) Ed25519 flags=UP|UV|AT", points: "ignored the ES256 pin"),
    Case("ignores-algorithm", .signIn, .notDone, "nothing was registered"),
    Case(
      "other-curve", .register, .fails, "unsupportedCurve(2)",
      line: "register: fmt=packed ES256(P-256) crv(2) flags=UP|UV|AT credIdLen=82 xLen=48 yLen=48",
      points: "another curve"),
    Case(
      "long-y", .register, .works, "coordinateLength",
      line: "register: fmt=packed ES256(P-256) P-256 flags=UP|UV|AT credIdLen=66 xLen=32 yLen=33",
      points: "pads or trims"),
    Case("long-y", .signIn, .works, line: ok),
    Case(
      "foreign-signature", .signIn, .fails, "signatureDoesNotMatch",
      line: "verify: signature parsed but did NOT match the directory public key (authDataLen=37 flags=UP|UV)",
      points: "a wrong credential answered"),
    Case(
      "no-uv-flag", .signIn, .works, "userNotVerified", line: "verify: OK (flags=UP)", points: "noted, not refused"),
    Case(
      "no-uv-flag", .register, .works, "userNotVerified", line: "register: fmt=packed ES256(P-256) P-256 flags=UP|AT ",
      points: "noted, not refused"),
    // A secret that was not shown to be a verified person's is not used.
    Case("no-uv-flag", .prfEndorse, .fails, "uvMissing", line: "verify: OK (flags=UP|ED)", points: "did not verify"),
    Case("no-uv-flag", .prfAgain, .notDone, "no secret to compare with"),
    Case(
      "no-up-flag", .signIn, .fails, "userNotPresent",
      line: "verify: signature OK but CONTEXT VIOLATION [User Present flag unset] enforcing=true",
      points: "without a touch"),
    Case("no-hmac-secret", .prfRegister, .fails, "prfUnsupported", points: "no hmac-secret"),
    Case("no-hmac-secret", .prfEndorse, .notDone, "prfUnsupported", points: "no hmac-secret"),
    Case("no-secret", .prfEndorse, .fails, "prfMissing", line: ok, points: "check that a PIN is set"),
    Case("forgetful-secret", .prfAgain, .fails, "wrongKey", line: "verify: OK (flags=UP|UV|ED)", points: "reset key"),
    Case("deaf-to-cancel", .cancel, .fails, "cancelIgnored", points: "told to stop"),
    Case("single-secret", .prfWithoutUV, .works, "same secret with verification and without"),
    Case("virtual", .prfWithoutUV, .works, "another secret without verification, as CTAP says"),
    Case("protocol2-fails", .prfProtocol2, .fails, "pinAuthInvalid", points: "some firmware fails with it"),
    Case("always-uv", .prfWithoutUV, .notDone, "the key always verifies (alwaysUv)"),
    // The quirks in the data, D1 to D16. D13 is about what a browser writes; no key can show it.
    Case(
      "padded-signature", .signIn, .fails, "signatureNotMinimalDER", line: unparsed, points: "Capture its length"),
    Case("signature-tail", .friend, .fails, "signatureTrailingBytes", line: unparsed, points: "encoding quirk"),
    Case("third-integer", .endorse, .fails, "signatureExtraInteger", line: unparsed, points: "third number"),
    Case("short-signature", .signIn, .works, line: ok),
    Case(
      "short-x", .register, .works, "coordinateLength",
      line: "register: fmt=packed ES256(P-256) P-256 flags=UP|UV|AT credIdLen=66 xLen=31 yLen=32",
      points: "pads or trims"),
    Case("short-x", .signIn, .works, line: ok),
    Case("leading-zero-x", .register, .works, line: packed),
    Case(
      "text-cose", .register, .fails, "unsupportedAlgorithm(-8)",
      line: "register: fmt=packed EdDSA(Ed25519) crv(absent) flags=UP|UV|AT", points: "ignored the ES256 pin"),
    Case(
      "unannounced-bytes", .register, .works, "authenticatorDataTrailingBytes", line: packed,
      points: "Seal ignores them"),
    Case("unannounced-bytes", .signIn, .works, "authenticatorDataTrailingBytes", line: ok, points: "Seal ignores them"),
    Case(
      "unasked-extension", .register, .works,
      line: "register: fmt=packed ES256(P-256) P-256 flags=UP|UV|AT|ED credIdLen=66 xLen=32 yLen=32"),
    Case(
      "filled-none", .register, .works, "attestationNotEmpty", line: "register: fmt=none ES256(P-256)",
      points: "own signatures still count"),
    Case(
      "broken-certificate", .register, .works, "certificateMalformed", line: packed,
      points: "only the model is not proven"),
    Case("no-counter", .friend, .works, line: ok),
    Case("falling-counter", .friend, .works, "signCountNotIncreased", line: ok, points: "restarted counter"),
    Case(
      "backed-up-without-eligibility", .signIn, .works, "backupStateWithoutEligibility",
      line: "verify: OK (flags=UP|UV|BS)", points: "which WebAuthn forbids"),
    Case(
      "backup-eligibility-changes", .signIn, .works, "backupEligibilityChanged",
      line: "verify: OK (flags=UP|UV|BE)", points: "not what it was"),
    Case(
      "asserts-for-app-id", .signIn, .fails, "rpIdHashMismatch",
      line:
        "verify: signature OK but CONTEXT VIOLATION [rpIdHash is not SHA256 of sealmessenger.com] enforcing=true",
      points: "another relying party"),
    Case(
      "long-id", .register, .works,
      line: "register: fmt=packed ES256(P-256) P-256 flags=UP|UV|AT credIdLen=1023 xLen=32 yLen=32"),
    Case("long-id", .friend, .works, line: ok),
    Case("overlong-id", .register, .fails, "malformedAuthData", points: "longer than WebAuthn allows"),
  ]

  /// The models that the table is about.
  static let models = ModelProfile.all.map(\.name).filter { name in
    name != "calls-right-pin-wrong" && (Extent.isFull || cases.contains { $0.model == name })
  }

  @Test("the cell, the log line, what it points to", arguments: models)
  func model(name: String) async throws {
    let profile = try #require(ModelProfile.named(name))
    let bench = try await MatrixBench(profile, hasPIN: profile.speaksCTAP2)
    // A deaf key is waited for.
    let record = try await bench.runner(drain: name == "deaf-to-cancel" ? .milliseconds(500) : .seconds(60)).run(
      at: 1_800_000_000)
    let evaluation = Evaluation(record)
    let rows = Self.cases.filter { $0.model == name }
    for row in rows { try check(row, evaluation) }
    if rows.isEmpty {
      for step in [MatrixStep.register, .signIn, .friend, .endorse] {
        #expect(evaluation.finding(step)?.cell == "✅", "\(name) \(step)")
      }
    }
    #expect(!rows.isEmpty || !ModelProfile.faulty.contains { $0.name == name }, "\(name) has no row")
    let report = RunRecord.verify(record.encoded())
    #expect(report.isGood, "\(name): \(report.failures)")
    #expect(record.cells.further[6] == "✅ as before", "\(name)")
    #expect(bench.virtual.storedCredentials == 0 && bench.virtual.pinRetries == 8, "\(name)")
    #expect(SimulationSigns.of(record).contains(.flag))
  }

  private func check(_ row: Case, _ evaluation: Evaluation) throws {
    let finding = try #require(evaluation.finding(row.step))
    #expect(finding.mark == row.mark, "\(row.testDescription): \(finding.cell) \(finding.notes)")
    #expect((finding.telemetry ?? "").hasPrefix(row.line), "\(row.testDescription): \(finding.telemetry ?? "no line")")
    if row.mark == .works {
      #expect(finding.reason == nil)
      #expect(finding.notes.first == row.reason, "\(row.testDescription): \(finding.notes)")
    } else {
      #expect(finding.reason == row.reason, "\(row.testDescription): \(finding.cell)")
    }
    guard !row.points.isEmpty else { return }
    let explained = row.mark == .works ? row.reason.flatMap { FailurePattern.explanation(of: $0) } : finding.explanation
    #expect(explained?.contains(row.points) == true, "\(row.testDescription): \(explained ?? "no explanation")")
  }

  @Test("a right PIN that is called wrong: the run stops at once, and over NFC it points to the key's policy")
  func callsRightPINWrong() async throws {
    for (transport, points) in [("pcsc", "UV policy"), ("virtual", "no PIN is tried twice")] {
      let bench = try await MatrixBench(#require(ModelProfile.named("calls-right-pin-wrong")))
      let kept = Locked<RunRecord?>(nil)
      await #expect(throws: SecurityKeyError.self) {
        _ = try await bench.runner(save: { record in kept.withLock { $0 = record } }).run(at: 1_800_000_000)
      }
      #expect(bench.virtual.log.entries.count { $0.subcommand == 9 || $0.subcommand == 5 } == 1)
      #expect(bench.virtual.pinRetries == 8)
      var record = try #require(kept.withLock { $0 })
      record.key.transport = transport
      let finding = try #require(Evaluation(record).finding(.register))
      #expect(finding.cell == "❌ pinInvalid" && finding.explanation?.contains(points) == true)
    }
  }
}

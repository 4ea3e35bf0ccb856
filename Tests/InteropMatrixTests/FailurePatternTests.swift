// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SealFormats
import Testing
import WebAuthnCore

@testable import InteropMatrix

/// Each failure pattern of the sheet, and each quirk in the data that a key can show: the cell, the log line, and what
/// it points to.
@Suite("Failure patterns") struct FailurePatternTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let step: MatrixStep
    let mark: Mark
    /// The failure, or a note where it works; nil for neither.
    let reason: String?
    /// A part of the log line.
    let line: String
    /// A part of the explanation.
    var points = ""
    let change: @Sendable (inout MadeRun.Answers) -> Void
    var testDescription: String { name }
  }

  private static func okp(_ kty: CBORValue, _ curve: CBORValue) -> [UInt8] {
    CBORValue.encode(
      .intMap([
        (1, kty), (3, .int(-8)), (-1, curve), (-2, .bytes([UInt8](repeating: 7, count: 32))),
      ]))
  }

  /// DER with a needless zero before r.
  private static func padded(_ der: [UInt8]) -> [UInt8] {
    guard der.count > 4 else { return der }
    return [0x30, der[1] + 1, 0x02, der[3] + 1, 0x00] + der.dropFirst(4)
  }

  static let cases: [Case] = [
    Case(
      name: "as it should be", step: .register, mark: .works, reason: nil,
      line: "flags=UP|UV|AT credIdLen=64 xLen=32"
    ) {
      _ in
    },
    Case(
      name: "another algorithm (and D14)", step: .register, mark: .fails,
      reason: "unsupportedAlgorithm(-8)",
      line: "EdDSA(Ed25519) Ed25519", points: "ignored the ES256 pin"
    ) { $0.cose = { _, _ in okp(.int(1), .int(6)) } },
    Case(
      name: "another curve", step: .register, mark: .fails, reason: "unsupportedCurve(2)",
      line: "ES256(P-256) crv(2)",
      points: "another curve"
    ) {
      $0.cose = { x, y in
        CBORValue.encode(
          .intMap([(1, .int(2)), (3, .int(-7)), (-1, .int(2)), (-2, .bytes(x)), (-3, .bytes(y))]))
      }
    },
    Case(
      name: "D3: x of 31 bytes works in Seal", step: .register, mark: .works,
      reason: "coordinateLength",
      line: "xLen=31 yLen=32", points: "pads or trims"
    ) {
      $0.isWanted = { $0.first == 0 }
      let usual = $0.cose
      $0.cose = { x, y in usual(Array(x.dropFirst()), y) }
    },
    Case(
      name: "y of 33 bytes works in Seal", step: .signIn, mark: .works, reason: nil,
      line: "verify: OK (flags=UP|UV)"
    ) {
      let usual = $0.cose
      $0.cose = { x, y in usual(x, [0] + y) }
    },
    Case(
      name: "D4: x that begins with 00", step: .register, mark: .works, reason: nil,
      line: "xLen=32 yLen=32"
    ) {
      $0.isWanted = { $0.first == 0 }
    },
    Case(
      name: "D1: a needless zero in the signature", step: .signIn, mark: .fails,
      reason: "signatureNotMinimalDER",
      line: "verify: signature did not parse as DER ECDSA (sigLen=", points: "Capture its length"
    ) { $0.signature = { padded($0) } },
    Case(
      name: "D1b: bytes after the signature", step: .friend, mark: .fails,
      reason: "signatureTrailingBytes",
      line: "did not parse as DER ECDSA", points: "encoding quirk"
    ) { $0.signature = { $0 + [0] } },
    Case(
      name: "D2, D12: a short r or s", step: .signIn, mark: .works, reason: nil, line: "verify: OK"
    ) {
      $0.isWantedSignature = { $0.count < 70 }
    },
    Case(
      name: "a signature that does not match", step: .signIn, mark: .fails,
      reason: "signatureDoesNotMatch",
      line:
        "verify: signature parsed but did NOT match the directory public key (authDataLen=37 flags=UP|UV)",
      points: "a wrong credential answered"
    ) {
      $0.signature = { _ in try P256.Signing.PrivateKey().signature(for: [1]) }
    },
    Case(
      name: "D5: text where numbers belong", step: .register, mark: .fails,
      reason: "unsupportedAlgorithm(-8)",
      line: "EdDSA(Ed25519) crv(absent)", points: "ignored the ES256 pin"
    ) {
      $0.cose = { _, _ in
        var bytes = okp(.text("OKP"), .text("Ed25519"))
        bytes[0] = 0xA3
        return bytes
      }
    },
    Case(
      name: "D6: bytes that no flag announces, at registration", step: .register, mark: .works,
      reason: "authenticatorDataTrailingBytes", line: "flags=UP|UV|AT", points: "Seal ignores them"
    ) { $0.registrationTail = [0xA0] },
    Case(
      name: "D6: and at an assertion", step: .signIn, mark: .works,
      reason: "authenticatorDataTrailingBytes",
      line: "verify: OK", points: "Seal ignores them"
    ) { $0.assertionTail = [0xA0] },
    Case(
      name: "D7: extensions after the key", step: .register, mark: .works, reason: nil,
      line: "flags=UP|UV|AT|ED"
    ) {
      $0.registrationFlags = 0xC5
      $0.registrationTail = CBORValue.encode(.textMap([("credProtect", .int(2))]))
    },
    Case(
      name: "D8: none with a statement", step: .register, mark: .works,
      reason: "attestationNotEmpty",
      line: "register: fmt=none", points: "own signatures still count"
    ) { $0.statement = .textMap([("alg", .int(-7))]) },
    Case(
      name: "D9: a broken certificate", step: .register, mark: .works,
      reason: "certificateMalformed",
      line: "register: fmt=packed", points: "only the model is not proven"
    ) {
      $0.format = "packed"
      $0.statement = .textMap([
        ("alg", .int(-7)), ("sig", .bytes([0x30, 0])),
        ("x5c", .array([.bytes([0x30, 0x03, 1, 2])])),
      ])
    },
    Case(
      name: "D10: no counter at all", step: .friend, mark: .works, reason: nil, line: "verify: OK"
    ) {
      $0.registrationCounter = 0
      $0.counters = [0, 0, 0]
    },
    Case(
      name: "D10: a counter that falls", step: .friend, mark: .works,
      reason: "signCountNotIncreased", line: "verify: OK",
      points: "restarted counter"
    ) { $0.counters = [9, 3, 4] },
    Case(
      name: "D11: BS without BE", step: .signIn, mark: .works,
      reason: "backupStateWithoutEligibility",
      line: "verify: OK (flags=UP|UV|BS)", points: "which WebAuthn forbids"
    ) { $0.assertionFlags = 0x15 },
    Case(
      name: "D11: BE that changes", step: .signIn, mark: .works, reason: "backupEligibilityChanged",
      line: "verify: OK (flags=UP|UV|BE)", points: "not what it was"
    ) { $0.assertionFlags = 0x0D },
    Case(
      name: "D15: another relying party's hash", step: .signIn, mark: .fails,
      reason: "rpIdHashMismatch",
      line:
        "verify: signature OK but CONTEXT VIOLATION [rpIdHash is not SHA256 of sealmessenger.com] enforcing=true",
      points: "another relying party"
    ) { $0.rpIdHash = SHA256.hash(Array("https://sealmessenger.com/app-id.json".utf8)) },
    Case(
      name: "D16: a credential ID of 1,023 bytes", step: .register, mark: .works, reason: nil,
      line: "credIdLen=1023"
    ) {
      $0.credentialID = [UInt8](repeating: 9, count: 1023)
    },
    Case(
      name: "D16: and of 1,024", step: .register, mark: .fails, reason: "malformedAuthData",
      line: ""
    ) {
      $0.credentialID = [UInt8](repeating: 9, count: 1024)
    },
    Case(
      name: "no touch", step: .signIn, mark: .fails, reason: "userNotPresent",
      line: "CONTEXT VIOLATION [User Present flag unset]", points: "without a touch"
    ) { $0.assertionFlags = 0x04 },
    Case(
      name: "UV missing although a PIN is set", step: .signIn, mark: .works,
      reason: "userNotVerified",
      line: "verify: OK (flags=UP)", points: "noted, not refused"
    ) { $0.assertionFlags = 0x01 },
    Case(
      name: "UV missing at registration", step: .register, mark: .works, reason: "userNotVerified",
      line: "flags=UP|AT ",
      points: "noted, not refused"
    ) { $0.registrationFlags = 0x41 },
  ]

  @Test("the cell, the line, the explanation", arguments: cases)
  func pattern(_ c: Case) throws {
    let record = try MadeRun.record { c.change(&$0) }
    let finding = try #require(Evaluation(record).finding(c.step))
    #expect(finding.mark == c.mark)
    #expect((finding.telemetry ?? "").contains(c.line), "\(finding.telemetry ?? "no line")")
    if c.mark == .works {
      #expect(finding.reason == nil)
      #expect(finding.notes.contains { $0 == c.reason } == (c.reason != nil), "\(finding.notes)")
      if c.reason == nil, c.name != "y of 33 bytes works in Seal" {
        #expect(finding.notes.isEmpty, "\(finding.notes)")
      }
      if let reason = c.reason {
        #expect(FailurePattern.explanation(of: reason)?.contains(c.points) == true)
        // The sheet's notes say it too.
        #expect(record.cells.sheet[9].contains(reason))
      }
    } else {
      #expect(finding.reason == c.reason)
      if !c.points.isEmpty {
        #expect(finding.explanation?.contains(c.points) == true, "\(finding.explanation ?? "-")")
      }
      // For what fails, the sheet wants the exact line in its notes.
      if !c.line.isEmpty {
        #expect(record.cells.sheet[9].contains(try #require(finding.telemetry)))
      }
    }
    #expect(try RunRecord(parsing: record.encoded()) == record)
  }

  @Test("a wrong PIN over NFC points to the key's policy; over USB to the PIN")
  func wrongPIN() throws {
    for (transport, place, points) in [
      ("pcsc", "ACS ACR1252", "UV policy"), ("hidraw", "/sys/devices/x", "no PIN is tried twice"),
    ] {
      var record = try MadeRun.record {
        $0.transport = transport
        $0.place = place
      }
      var attempt = StepRecord.Attempt(
        host: 0, clientDataJSON: record.steps[1].attempts[0].clientDataJSON)
      attempt.failure = "pinInvalid"
      attempt.status = 0x31
      record.steps[1].attempts = [attempt]
      let finding = try #require(Evaluation(record).finding(.signIn))
      #expect(finding.cell == "❌ pinInvalid" && finding.status == 0x31)
      #expect(finding.explanation?.contains(points) == true)
    }
  }

  @Test(
    "statuses of the key become names",
    arguments: [
      (0x19, 100, "alreadyRegistered"), (0x2E, 100, "notOnThisKey"), (0x22, 100, "notOnThisKey"),
      (0x2F, 100, "timedOut"),
      (0x3A, 100, "timedOut"), (0x27, 9000, "timedOut"), (0x27, 100, "operationDenied"),
      (0x36, 9000, "timedOut"),
      (0x36, 100, "puatRequired"), (0x26, 100, "unsupportedAlgorithm"),
      (0x33, 100, "pinAuthInvalid"),
    ] as [(UInt8, Int, String)])
  func statuses(status: UInt8, after: Int, name: String) throws {
    #expect(Evaluation.name(of: status, after: after) == name)
    var record = try MadeRun.record()
    record.steps[1].attempts[0].exchanges[0].reply = [status]
    record.steps[1].attempts[0].duration = after
    #expect(Evaluation(record).finding(.signIn)?.reason == name)
  }

  @Test("works sometimes: the sign, the count, and the line of the try that failed")
  func sometimes() throws {
    var record = try MadeRun.record()
    var bad = record.steps[0].attempts[0]
    bad.clientDataJSON = try record.clientData(.register, attempt: 1, credentialID: nil).json
    bad.exchanges[0].reply = [0x7F]
    record.steps[0].attempts.append(bad)
    let finding = try #require(Evaluation(record).finding(.register))
    #expect(finding.mark == .sometimes && finding.cell.hasPrefix("⚠️ "))
    #expect(finding.notes.contains("1 of 2 tries worked"))
    #expect(Evaluation(record).finding(.signIn)?.mark == .works)
  }
}

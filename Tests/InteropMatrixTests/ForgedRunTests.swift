// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SealFormats
import SecurityKeys
import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import InteropMatrix

/// Records in which something was exchanged for something else: each is named, and none is good.
@Suite("Matrix records that were made up") struct ForgedRunTests {
  private func failures(_ record: RunRecord) -> [String] { RunRecord.verify(record.encoded()).failures.map(\.name) }

  private func change(
    _ record: RunRecord, _ step: MatrixStep, _ change: (inout StepRecord) throws -> Void
  ) throws -> RunRecord {
    var changed = record
    let place = try #require(changed.steps.firstIndex { $0.step == step })
    try change(&changed.steps[place])
    return changed
  }

  @Test("a U2F key's answers follow from its APDUs: another answer, another request, or none is found")
  func u2f() async throws {
    let good = try await MatrixBench(.u2f, hasPIN: false).run()
    #expect(failures(good) == [])
    let made = try #require(good.steps[0].attempts[0].answer?.attestationObject)
    let data = try #require(CBORDecoder.decode(made)["authData"]?.bytes)
    let none = AttestationObject.build(format: "none", statement: [0xA0], authenticatorData: data)
    let exchanged = try change(good, .register) { $0.attempts[0].answer?.attestationObject = none }
    #expect(failures(exchanged).contains("answerMismatch"))
    #expect(Evaluation(exchanged).finding(.register)?.cell == "❌ answerMismatch")
    let forms: [(inout StepRecord.Answer) -> Void] = [
      { $0.signature?[9] ^= 1 }, { $0.authenticatorData?[36] ^= 1 }, { $0.credentialID?[0] ^= 1 },
    ]
    for form in forms {
      let changed = try change(good, .signIn) { step in
        var answer = try #require(step.attempts[0].answer)
        form(&answer)
        step.attempts[0].answer = answer
      }
      #expect(failures(changed) == ["answerMismatch"])
    }
    // Without what went over the wire there is no answer.
    for step in [MatrixStep.register, .signIn] {
      let bare = try change(good, step) { $0.attempts[0].exchanges = [] }
      #expect(Evaluation(bare).finding(step)?.cell == "❌ noAnswer")
    }
    // For another site.
    let other = try change(good, .signIn) { $0.attempts[0].exchanges[0].request[7 + 32] ^= 1 }
    #expect(failures(other) == ["requestMismatch(rp)"])
    let hash = try change(good, .signIn) { $0.attempts[0].exchanges[0].request[7] ^= 1 }
    #expect(failures(hash) == ["clientDataMismatch"])
  }

  @Test("why a step was not done follows from what the key said, and a finished run names every step")
  func skips() async throws {
    let good = try await MatrixBench().run()
    for (step, reason) in [
      (MatrixStep.prfAgain, "no PIN is set"), (.prfProtocol1, "the key has no protocol 1"),
      (.prfWithoutUV, "the key always verifies (alwaysUv)"), (.signIn, "nothing was registered"),
    ] {
      let changed = try change(good, step) { $0 = StepRecord(step, skipped: reason) }
      #expect(failures(changed) == ["skipNotTrue"], "\(step)")
    }
    let untouched = try change(good, .prfAgain) { $0 = StepRecord(.prfAgain, skipped: "not run") }
    #expect(failures(untouched) == [])
    var shorter = good
    shorter.steps.removeAll { $0.step == .cancel }
    #expect(failures(shorter) == ["stepsMissing"])
  }

  @Test("one endorsement does not stand for all tries")
  func repeated() async throws {
    let good = try await MatrixBench().runner({ $0.repeats = 2 }).run(at: 1_800_000_000)
    #expect(failures(good) == [])
    let copied = try change(good, .endorse) { $0.attempts[1] = $0.attempts[0] }
    #expect(failures(copied) == ["answerRepeated"])
    #expect(Evaluation(copied).finding(.endorse)?.mark == .sometimes)
    // A key without a counter that signs as RFC 6979 says gives the same twice: it counts once.
    let silent = try await MatrixBench(#require(ModelProfile.named("no-counter"))).runner({ $0.repeats = 2 }).run(
      at: 1_800_000_000)
    let same = try change(silent, .endorse) { $0.attempts[1] = $0.attempts[0] }
    #expect(failures(same) == [])
    let finding = try #require(Evaluation(same).finding(.endorse))
    #expect(finding.cell == "✅" && finding.notes == ["answerRepeated"])
  }

  @Test("a credential of another model, and an answer that contradicts what the key said of its PIN")
  func otherKey() throws {
    let own = ["stepsMissing"]
    #expect(failures(try MadeRun.record()) == own)
    #expect(failures(try MadeRun.record { $0.aaguid = [UInt8](repeating: 0, count: 16) }) == own)
    let other = try MadeRun.record { $0.aaguid = [UInt8](repeating: 7, count: 16) }
    #expect(failures(other) == own + ["otherKey"])
    let zero = try MadeRun.record {
      $0.aaguid = [UInt8](repeating: 0, count: 16)
      $0.format = "packed"
    }
    #expect(failures(zero) == own + ["otherKey"])
    let verified = try MadeRun.record { $0.options["clientPin"] = false }
    #expect(failures(verified) == own + ["stateContradicts"])
    let present = try MadeRun.record {
      $0.options["clientPin"] = false
      $0.registrationFlags = 0x41
      $0.assertionFlags = 0x01
    }
    #expect(failures(present) == own)
  }

  @Test("the attestation proves nothing by itself, and says so")
  func attestation() async throws {
    let record = try await MatrixBench().run()
    let text = try #require(AttestationVerdict(record).report)
    #expect(text.trust == .notChecked)
    // A second credential without one proves nothing, and then neither does the run.
    let mixed = try change(record, .prfRegister) { step in
      let reply = step.attempts[0].exchanges[0].reply
      let data = try #require(CBORDecoder.decodeAll(Array(reply.dropFirst()))[2]?.bytes)
      step.attempts[0].exchanges[0].reply =
        [0] + CBORValue.encode(.intMap([(1, .text("none")), (2, .bytes(data)), (3, .map([]))]))
    }
    let root = try Certificate(derRepresentation: try VirtualAttestation.rootCertificate())
    #expect(AttestationVerdict(record, roots: [root]).report?.trust == .trusted)
    #expect(AttestationVerdict(mixed, roots: [root]).report?.trust == .notApplicable)
    let u2f = try await MatrixBench(.u2f, hasPIN: false).run()
    #expect(AttestationVerdict(u2f).report?.trust == .notChecked && AttestationVerdict(u2f).aaguidAgrees)
  }

  @Test("metadata: nobody vouches for a decoded payload, a model without an entry is said, an old one is not taken")
  func metadata() async throws {
    let record = try await MatrixBench(.u2f, hasPIN: false).run()
    let made = try #require(record.steps[0].attempts[0].answer?.attestationObject)
    let object = try CBORDecoder.decode(made)
    let leaf = try #require(object["attStmt"]?["x5c"]?.array?.first?.bytes)
    let identifier = Hex.encode(try #require(MakersWord.keyIdentifier(of: leaf)))
    func word(_ identifier: String, isSigned: Bool, at time: Int64? = nil) throws -> MakersWord {
      let payload = """
        {"no":1,"nextUpdate":"2027-02-01","entries":[{"attestationCertificateKeyIdentifiers":["\(identifier)"],
         "statusReports":[{"status":"REVOKED"}],"metadataStatement":{}}]}
        """
      return try MakersWord(of: record, payload: Array(payload.utf8), isSigned: isSigned, at: time)
    }
    func warnings(_ word: MakersWord) -> [String] {
      RunRecord.verify(record.encoded(), makers: word).warnings.map(\.name)
    }
    #expect(warnings(try word(identifier, isSigned: true)) == ["modelStatus"])
    #expect(warnings(try word(identifier, isSigned: false)) == ["metadataUnsigned", "modelStatus"])
    #expect(warnings(try word("00", isSigned: true)) == ["modelNotInMetadata"])
    #expect(throws: AtlasError.expired("2027-02-01")) { try word(identifier, isSigned: true, at: 1_900_000_000) }
    // As Python's cryptography has it.
    let root = try #require(Base64.decode(SignedMetadata.root))
    #expect(MakersWord.keyIdentifier(of: root).map { Hex.encode($0) } == "bedd61e49283e13e0d0d2fa0b06d68b0e9b3ab67")
    #expect(MakersWord.keyIdentifier(of: [0x30, 0]) == nil && MakersWord.keyIdentifier(of: []) == nil)
  }
}

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

/// Whole runs on virtual keys.
@Suite("Matrix runs") struct RunTests {
  @Test("the whole run on the virtual key: every cell, and nothing left behind")
  func whole() async throws {
    let bench = try await MatrixBench()
    let tries = bench.virtual.pinRetries
    let record = try await bench.run()
    let evaluation = Evaluation(record)
    for step in MatrixRunner.ownSteps { #expect(evaluation.finding(step)?.mark == .works, "\(step)") }
    let cells = record.cells
    #expect(cells.sheet[2] == "yes")
    #expect(cells.sheet[5] == "ES256(P-256) / P-256 / 32 / 32")
    #expect(cells.sheet[8] == "verify: OK (flags=UP|UV)")
    #expect(cells.sponsored[1] == "✅" && cells.sponsored[2] == "✅")
    #expect(cells.further[3] == "again equal, without UV other, protocol 1 equal, protocol 2 equal")
    #expect(cells.further[6] == "✅ as before")
    #expect(bench.virtual.storedCredentials == 0)
    #expect(bench.virtual.pinRetries == tries)
    #expect(record.isSimulated)
    let telemetry = try #require(evaluation.finding(.register)?.telemetry)
    #expect(telemetry.hasPrefix("register: fmt=packed ES256(P-256) P-256 flags=UP|UV|AT credIdLen="))
    #expect(telemetry.hasSuffix(" xLen=32 yLen=32"))
    let signs = SimulationSigns.of(record)
    #expect(signs.isSuperset(of: [.flag, .transport, .aaguid, .attestationRoot, .name]))

    let bytes = record.encoded()
    let read = try RunRecord(parsing: bytes)
    #expect(read == record)
    let report = RunRecord.verify(bytes)
    #expect(report.isGood, "\(report.failures)")
    #expect(record.fileName.hasPrefix("virtual_key_virtual-1-virtual-2027-01-15-"))
    // Nothing in it carries a PIN or a token request.
    #expect(record.steps.flatMap(\.attempts).flatMap(\.exchanges).allSatisfy { [0x01, 0x02].contains($0.request[0]) })
  }

  @Test("a key without PIN, a U2F key, a key without hmac-secret, one that always verifies: the cells say so")
  func others() async throws {
    let bare = try await MatrixBench(hasPIN: false).run()
    #expect(bare.cells.sheet[2] == "no")
    #expect(bare.cells.sheet[8] == "verify: OK (flags=UP)")
    // Nobody was verified: the same secret again shows in the step that says so, and in no other.
    #expect(Evaluation(bare).finding(.prfAgain)?.cell == "– no PIN is set")
    #expect(Evaluation(bare).finding(.prfWithoutUV)?.cell == "✅")
    #expect(bare.cells.further[3] == "without UV equal, protocol 1 equal, protocol 2 equal")

    let u2f = try await MatrixBench(.u2f, hasPIN: false).run()
    #expect(u2f.cells.sheet[2] == "no (U2F)")
    #expect(u2f.cells.sheet[4] == "✅" && u2f.cells.sheet[6] == "✅" && u2f.cells.sheet[7] == "✅")
    #expect(u2f.cells.sponsored[1] == "❌ prfUnsupported")
    #expect(RunRecord.verify(u2f.encoded()).isGood)

    let plain = try await MatrixBench(.noHMACSecret).run()
    #expect(plain.cells.sponsored[1] == "❌ prfUnsupported")
    #expect(plain.cells.sponsored[2] == "– prfUnsupported")
    #expect(plain.cells.sponsored[4].contains("no hmac-secret"))

    let always = try await MatrixBench(.alwaysUv).run()
    #expect(Evaluation(always).finding(.prfWithoutUV)?.cell == "– the key always verifies (alwaysUv)")
    #expect(always.cells.sheet[4] == "✅")
  }

  @Test("what is repeated is every step, those that open the key anew and the cancelled touch included")
  func repeated() async throws {
    let bench = try await MatrixBench()
    let record = try await bench.runner({ $0.repeats = 2 }).run(at: 1_800_000_000)
    #expect(record.steps.map(\.step) == MatrixRunner.ownSteps)
    for step in record.steps { #expect(step.attempts.count == 2, "\(step.step)") }
    #expect(Evaluation(record).findings.allSatisfy { $0.mark == .works })
    #expect(RunRecord.verify(record.encoded()).isGood)
  }

  @Test("a key that ignores a cancel is told once: it still waits, and would be busy and nothing else")
  func repeatedCancel() async throws {
    let bench = try await MatrixBench(ModelProfile.virtual.varied("deaf") { $0.quirks = [.ignoresCancel] })
    let record = try await bench.runner({ $0.repeats = 3 }, drain: .milliseconds(300)).run(at: 1_800_000_000)
    #expect(record.steps.first { $0.step == .cancel }?.attempts.map(\.failure) == ["cancelIgnored"])
    #expect(record.steps.first { $0.step == .signIn }?.attempts.count == 3)
  }

  @Test("a run that was never begun with this key is not ended, and no record is written")
  func nothingBegun() async throws {
    let bench = try await MatrixBench()
    let saved = Locked(0)
    let ending = bench.runner({ $0.finishesNow = true }, save: { _ in saved.withLock { $0 += 1 } })
    await #expect(throws: MatrixRunError.nothingBegun) { _ = try await ending.run(at: 1_800_000_000) }
    // One that was begun with another key of the model is none either.
    let other = try await MatrixBench().run()
    await #expect(throws: MatrixRunError.nothingBegun) {
      _ = try await ending.run(continuing: other, at: 1_800_000_000)
    }
    #expect(saved.withLock { $0 } == 0)
    #expect(bench.virtual.touch.requests.isEmpty)
  }

  @Test("a virtual key is touched as it was told to be, but for the touch that is cancelled")
  func touched() async throws {
    let virtual = try VirtualAuthenticator(touch: .refuse)
    let runner = MatrixRunner(
      .virtual(virtual), pin: nil, timings: KeyTimings(touch: .seconds(60), command: .seconds(60), drain: .seconds(60)),
      tool: "sealkey test"
    )
    let record = try await runner.run(at: 1_800_000_000)
    #expect(Evaluation(record).finding(.register)?.mark == .fails)
    #expect(Evaluation(record).finding(.signIn)?.reason == "nothing was registered")
  }

  @Test("a wrong PIN stops the run at once, costs one try, and the run goes on later")
  func wrongPIN() async throws {
    let bench = try await MatrixBench(typed: Array("9999".utf8))
    let kept = Locked<RunRecord?>(nil)
    let refused = RefusedPINs()
    await #expect(throws: SecurityKeyError.pinInvalid(triesLeft: 7)) {
      _ = try await bench.runner(refused: refused, save: { record in kept.withLock { $0 = record } })
        .run(at: 1_800_000_000)
    }
    #expect(bench.virtual.pinRetries == 7)
    // The same one again is not sent.
    await #expect(throws: SecurityKeyError.pinRepeated) {
      _ = try await bench.runner(refused: refused).run(at: 1_800_000_000)
    }
    #expect(bench.virtual.pinRetries == 7)
    // The right one: the run ends as if there had been no other, and the tries are back.
    let end = try await bench.runner(typed: MatrixBench.pin).run(
      continuing: kept.withLock { $0 }, at: 1_800_000_000)
    #expect(MatrixBench.end(end) == MatrixBench.end(try await MatrixBench().run()))
    #expect(bench.virtual.pinRetries == 8 && bench.virtual.storedCredentials == 0)
  }

  @Test("a key pulled out at every step: what was done is kept, and the run goes on with the same key")
  func pulled() async throws {
    let bench = try await MatrixBench()
    var begun: RunRecord?
    for step in MatrixRunner.ownSteps where step.pinProtocol == nil {
      let kept = Locked<RunRecord?>(begun)
      var place = bench.place
      let before = bench.place.beforeStep
      let virtual = bench.virtual
      place.beforeStep = {
        before($0)
        if $0 == step { virtual.touch.setPolicy(.never) }
      }
      // Nobody touches: the task is cancelled, as by Ctrl-C, once the key waits.
      let runner = bench.runner(place: place, save: { record in kept.withLock { $0 = record } })
      let from = begun
      let task = Task { try await runner.run(continuing: from, at: 1_800_000_000) }
      if step == .cancel {
        begun = try await task.value
        break
      }
      while bench.virtual.touch.pending == nil { try await Task.sleep(for: .milliseconds(5)) }
      task.cancel()
      await #expect(throws: (any Error).self) { _ = try await task.value }
      begun = kept.withLock { $0 }
      #expect(begun?.steps.contains { $0.step == step } == false, "\(step)")
      bench.virtual.touch.setPolicy(.automatic)
    }
    let record = try #require(begun)
    #expect(record.steps.map(\.step) == MatrixRunner.ownSteps)
    #expect(RunRecord.verify(record.encoded()).isGood)
  }

  @Test("the second computer: the lock opens there, and only with the same key")
  func secondHost() async throws {
    let bench = try await MatrixBench()
    var record = try await bench.run()
    await #expect(throws: MatrixRunError.sameComputer) { _ = try await bench.runner().secondHost(record) }
    record.hosts[0].mark = [1, 2, 3, 4, 5, 6, 7, 8]
    let continued = try await bench.runner().secondHost(record)
    #expect(continued.cells.sponsored[3] == "✅")
    #expect(RunRecord.verify(continued.encoded()).isGood)
    let other = try await MatrixBench()
    await #expect(throws: MatrixRunError.otherKey) { _ = try await other.runner().secondHost(record) }
  }

  @Test("every changed byte of a record is found")
  func everyByte() async throws {
    let bytes = try await MatrixBench(hasPIN: false).run().encoded()
    let step = FullRun.isOn ? 1 : 97
    for index in stride(from: 0, to: bytes.count, by: step) {
      var changed = bytes
      changed[index] ^= index.isMultiple(of: 2) ? 0x01 : 0x20
      #expect(!RunRecord.verify(changed).isGood, "byte \(index)")
      await Task.yield()
    }
    for cut in stride(from: 0, to: bytes.count, by: bytes.count / 40) {
      #expect(!RunRecord.verify(Array(bytes.prefix(cut))).isGood)
    }
  }

  @Test("an edited record is found by its cells even when its digest is made anew")
  func edited() async throws {
    var record = try await MatrixBench().run()
    // The flag removed: everything else still gives it away.
    record.isSimulated = false
    let report = RunRecord.verify(record.encoded())
    #expect(report.failures.map(\.name) == ["simulatedWithoutFlag"])
    // An answer moved to another step.
    let place = try #require(record.steps.firstIndex { $0.step == .signIn })
    let friend = try #require(record.steps.first { $0.step == .friend })
    record.steps[place].attempts = friend.attempts
    #expect(RunRecord.verify(record.encoded()).failures.contains { $0.name == "challengeMismatch" })
    // A later version.
    let text = String(decoding: record.encoded(), as: UTF8.self).replacing("\"version\" : 1", with: "\"version\" : 2")
    #expect(RunRecord.verify(Array(text.utf8)).failures.map(\.name) == ["unsupportedVersion"])
    // A cell made better than it is.
    let plain = try await MatrixBench(.noHMACSecret).run()
    let better = String(decoding: plain.encoded(), as: UTF8.self)
      .replacing("\"prfAtRegister\" : \"❌ prfUnsupported\"", with: "\"prfAtRegister\" : \"✅\"")
    #expect(RunRecord.verify(Array(better.utf8)).failures.map(\.name) == ["cellDoesNotFollow(prfAtRegister)"])
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import InteropMatrix
import SealCeremonies
import SecurityKeys
import WebAuthnCore

/// A key is measured.
extension MatrixVerb {
  func run() async throws -> Outcome {
    var options = MatrixRunner.Options()
    options.tester = invocation.options["tester"]
    options.serial = invocation.options["serial"]
    options.model = invocation.options["model"]
    options.finishesNow = invocation.options.has("finish")
    if let text = invocation.options["repeat"] {
      guard let count = Int(text), (1...20).contains(count) else {
        throw UsageError.badValue(option: "--repeat", value: text, wanted: "a number from 1 to 20")
      }
      options.repeats = count
    }
    let also = try await alsoPlace()
    let place = try await invocation.matrixPlace(invocation.key)
    if options.finishesNow {
      // Nothing is finished before it is known that all of it can be.
      for one in [place, also].compactMap({ $0 }) where begun(one).runs.isEmpty { throw MatrixRunError.nothingBegun }
    }
    let first = try await run(place, options)
    var outcome = first.outcome
    if let also {
      invocation.say("Now the same over NFC: lay the key on the reader.")
      // A reader does not tell what the key is called.
      options.sameModel = Evaluation(first.record).info.map { ($0.aaguid, first.record.key.name) }
      let second = try await run(also, options).outcome
      outcome.text += "\n\n" + second.text
      outcome.json = .object([("runs", .array([outcome.json, second.json]))])
      outcome.code = max(outcome.code, second.code)
    }
    return outcome
  }

  /// The card reader of `--also nfc`, looked for before the first step: who has touched a key eleven times is not told then
  /// that there is none.
  private func alsoPlace() async throws -> RunPlace? {
    guard let also = invocation.options["also"] else { return nil }
    guard also == "nfc" else { throw UsageError.badValue(option: "--also", value: also, wanted: "nfc") }
    if case .nfc = invocation.key { throw UsageError.conflict("key nfc", "also nfc") }
    do throws(TransportError) {
      let isThere = try CardDiscovery.list().contains { $0.access != .useUSB }
      guard isThere else { throw .card(.noReader) }
    } catch { throw SecurityKeyError.transport(error) }
    return try await invocation.matrixPlace(.nfc(reader: nil))
  }

  /// The runs that were begun with such keys; one that turned out to be simulated only when it was open lies in the other
  /// folder.
  private func begun(_ place: RunPlace) -> (runs: [RunFolder.Begun], damaged: [FaultInFile]) {
    let folders = place.isSimulated ? [practice] : [runs, practice]
    let found = folders.map { $0.begun(place.description) }
    return (found.flatMap(\.runs), found.flatMap(\.damaged))
  }

  private func run(
    _ place: RunPlace, _ options: MatrixRunner.Options
  ) async throws -> (outcome: Outcome, record: RunRecord) {
    // A key that turns out to be simulated only when it is open is kept apart all the same.
    let folders = (runs, practice)
    func folder(_ isSimulated: Bool) -> RunFolder { isSimulated ? folders.1 : folders.0 }
    let begun = begun(place)
    for one in begun.damaged {
      invocation.say("\(one.path) should be a run that was begun, and cannot be read: \(one.below.message)")
      let other = RunFolder.setAside(one.path)
      invocation.say(other.map { "It is kept as \($0)." } ?? "It stays as it is.")
    }
    let kept = Locked<RunRecord?>(nil)
    let files = Dictionary(begun.runs.map { ($0.record.nonce, $0.file) }) { first, _ in first }
    let runner = runner(place, options, begun: files) { record in
      try (SimulationSigns.of(record).isEmpty ? folders.0 : folders.1).keep(
        record, place.description)
      kept.withLock { $0 = record }
    }
    let record: RunRecord
    do { record = try await runner.run(continuingOneOf: begun.runs.map(\.record), at: invocation.now) } catch {
      if let kept = kept.withLock({ $0 }), MatrixRunner.stepsDone(kept) > 0 {
        invocation.say(
          "The run has stopped. Start it again with the same key and it goes on where it was.")
      }
      throw error
    }
    let signs = SimulationSigns.of(record)
    let file = "\(folder(!signs.isEmpty).path)/\(record.fileName)"
    return (outcome(of: record, file), record)
  }

  func secondHost(_ file: String) async throws -> Outcome {
    let given = try self.record(file)
    let place = try await invocation.matrixPlace(invocation.key)
    let record = try await runner(place, MatrixRunner.Options()) { _ in }.secondHost(given)
    try AtomicFile.write(record.encoded(), to: file)
    return outcome(of: record, file)
  }

  private func runner(
    _ place: RunPlace, _ options: MatrixRunner.Options, begun: [[UInt8]: String] = [:],
    save: @escaping @Sendable (RunRecord) throws -> Void
  ) -> MatrixRunner {
    let invocation = invocation
    // How many touches a step takes, only the key knows.
    let silence = Conversation(touches: 1, patience: invocation.timings.touch)
    // What is said in this step, and whether nobody is to touch in it.
    let talk = Locked((conversation: silence, isHandsOff: false))
    return MatrixRunner(
      place, pin: invocation.rememberedPIN(), refusedPINs: invocation.refusedPINs, timings: invocation.timings,
      options: options, tool: "sealkey \(CommandLineTool.version)",
      progress: { progress in
        switch progress {
        case .key(let event):
          talk.withLock {
            if !($0.isHandsOff && event == .touchNeeded) { invocation.tell(event, in: &$0.conversation, indent: "  ") }
          }
        case .began(let step, _, _):
          // Whatever the step before was waiting for is over.
          talk.withLock { $0 = (silence, step == .cancel) }
          Self.say(progress, invocation)
        case .left(let record):
          invocation.say("Another run that was begun stays as it is: \(begun[record.nonce] ?? record.key.name)")
        default:
          talk.withLock { $0.conversation = silence }
          Self.say(progress, invocation)
        }
      }, save: save)
  }

  private static func say(_ progress: MatrixRunner.Progress, _ invocation: Invocation) {
    switch progress {
    case .began(let step, let number, let total):
      invocation.say("\(number) of \(total): \(step.title)")
      if step == .cancel {
        invocation.say("  Do not touch the key in this step: it blinks, and is told to stop waiting.")
      }
    case .finished(let finding):
      invocation.say("  \(finding.cell)  (\(finding.mark.word))".printable)
      if let line = finding.telemetry { invocation.say("  \(line)".printable) }
      if let why = finding.explanation { invocation.say("  \(why)") }
      for note in finding.notes { invocation.say("  note: \(note)".printable) }
    case .resumed(let count):
      let done = count == 0 ? "no step is done yet" : count == 1 ? "1 step is done" : "\(count) steps are done"
      invocation.say("Going on with the run that was begun: \(done).")
    case .settled(let line): invocation.say(line)
    case .askedAgain:
      invocation.say("  Nobody touched the key in time. It asks once more, and then the run stops here.")
    case .left, .key: break
    }
  }

  private func outcome(of record: RunRecord, _ file: String) -> Outcome {
    let evaluation = Evaluation(record)
    var lines = evaluation.findings.map { finding in
      let title = finding.step.title
      return "\(title)\(String(repeating: " ", count: max(1, 36 - title.count)))\(finding.cell)"
    }
    lines.append("Wrote \(file).")
    let simulated = !SimulationSigns.of(record).isEmpty
    if simulated {
      lines.append(
        "Simulated: this was practice. It measures no real key and never enters the matrix.")
    } else {
      lines.append(
        "To send it in, make a pull request that puts this one file into the folder matrix/runs; "
          + "see matrix/README.md.")
    }
    let failed = evaluation.findings.contains { $0.mark == .fails }
    return Outcome(
      text: lines.map(\.printable).joined(separator: "\n"),
      json: .object([
        ("file", .string(file)), ("simulated", .bool(simulated)),
        ("model", .string(record.key.name)),
        (
          "steps",
          .array(
            evaluation.findings.map {
              .object([
                ("step", .string($0.step.rawValue)), ("result", .string($0.mark.rawValue)),
                ("reason", $0.reason.map { .string($0) }),
                ("telemetry", $0.telemetry.map { .string($0) }),
                ("explanation", $0.explanation.map { .string($0) }),
              ])
            })
        ),
      ]), code: failed ? 1 : 0)
  }
}

extension Invocation {
  /// Where the key of a run is.
  func matrixPlace(_ address: KeyAddress?) async throws -> RunPlace {
    switch address {
    case .virtual(let model): return .virtual(try keptVirtualKey(model))
    case .udp(let port, let reply): return RunPlace(.udp(port: port, replyPort: reply))
    case .node(let path): return RunPlace(try KeyDiscovery.find(node: path))
    case .shortID(let id):
      return RunPlace(try KeyDiscovery.find(id, among: Inventory.now().entries.map(\.key)))
    case .nfc(let reader): return RunPlace(.nfc(reader: reader))
    case nil:
      switch await Contenders.now() {
      case .none: throw KeyChoiceError.noKey
      case .one(let key): return RunPlace(key)
      case .several(let keys):
        let (key, others) = try await touched(keys, to: "measure")
        await others.value
        return RunPlace(key)
      }
    }
  }
}

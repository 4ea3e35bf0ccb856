// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import InteropMatrix
import SealCeremonies
import SealFormats
import SecurityKeys
import WebAuthnCore

extension Command {
  static let matrix = Command(
    "matrix", "Measure a key for the interop matrix, and keep the matrix.",
    operands: [
      "run", "second-host FILE", "verify FILE ...", "fill [FILE]", "check [FILE]", "diff FILE FILE", "report", "atlas",
    ],
    options: [
      OptionSpec("tester", "NAME", "who runs it", only: ["run"]),
      OptionSpec("repeat", "N", "how often each step is tried, 1 to 20", only: ["run"]),
      OptionSpec("also", "nfc", "the same once more over NFC", only: ["run"], choices: ["nfc"]),
      OptionSpec("serial", "TEXT", "write this serial number into the record", only: ["run"]),
      OptionSpec("finish", nil, "end a run that was begun, without its other steps", only: ["run"]),
      OptionSpec("runs", "DIR", "the records of real keys (matrix/runs)"),
      OptionSpec("practice", "DIR", "where runs of virtual keys go (matrix/practice)"),
      OptionSpec("out", "FILE", "where the page goes", only: ["report", "atlas"]),
      OptionSpec("page", "FILE", "write the atlas as a page for a browser, too", only: ["atlas"]),
      OptionSpec(
        "metadata", "FILE", "the FIDO Metadata Service's signed BLOB, or its decoded payload",
        only: ["atlas", "verify"]),
      OptionSpec(
        "root", "FILE", "the DER certificate that the BLOB's signer leads to, instead of FIDO's",
        only: ["atlas", "verify"]),
      OptionSpec("expired-ok", nil, "take metadata whose time is over", only: ["atlas", "verify"]),
    ],
    examples: [
      "sealkey matrix run --tester Ada", "sealkey matrix run --key virtual",
      "sealkey matrix verify matrix/runs/some-key.json", "sealkey matrix fill",
      "sealkey matrix check",
    ]
  ) { invocation in
    guard let word = invocation.options.operands.first else {
      throw UsageError.missingOperand("run, second-host, verify, fill, check, diff, report or atlas")
    }
    let operands = Array(invocation.options.operands.dropFirst())
    let verb = MatrixVerb(invocation: invocation)
    func most(_ count: Int) throws(UsageError) {
      if operands.count > count { throw .extraOperand(operands[count]) }
    }
    switch word {
    case "run":
      try most(0)
      return try await verb.run()
    case "second-host":
      guard let file = operands.first else { throw UsageError.missingOperand("The record's file") }
      try most(1)
      return try await verb.secondHost(file)
    case "verify":
      guard !operands.isEmpty else { throw UsageError.missingOperand("The record's file") }
      return try verb.verify(operands)
    case "fill":
      try most(1)
      return try verb.fill(operands.first ?? MatrixVerb.sheet)
    case "check":
      try most(1)
      return try verb.check(operands.first ?? MatrixVerb.sheet)
    case "diff":
      guard operands.count >= 2 else { throw UsageError.missingOperand("Two records' files") }
      try most(2)
      return try verb.diff(operands[0], operands[1])
    case "report":
      try most(0)
      return try verb.report()
    case "atlas":
      try most(0)
      return try await verb.atlas()
    default:
      throw UsageError.badValue(
        option: "matrix", value: word,
        wanted: "run, second-host, verify, fill, check, diff, report or atlas")
    }
  }
}

/// What can be done with the matrix.
struct MatrixVerb {
  static let sheet = "docs/SECURITY_KEY_TEST_MATRIX.md"
  let invocation: Invocation

  private var runs: RunFolder { RunFolder(invocation.options["runs"] ?? "matrix/runs") }
  private var practice: RunFolder { RunFolder(invocation.options["practice"] ?? "matrix/practice") }

  func run() async throws -> Outcome {
    var options = MatrixRunner.Options()
    options.tester = invocation.options["tester"]
    options.serial = invocation.options["serial"]
    options.finishesNow = invocation.options.has("finish")
    if let text = invocation.options["repeat"] {
      guard let count = Int(text), (1...20).contains(count) else {
        throw UsageError.badValue(option: "--repeat", value: text, wanted: "a number from 1 to 20")
      }
      options.repeats = count
    }
    if let also = invocation.options["also"], also != "nfc" {
      throw UsageError.badValue(option: "--also", value: also, wanted: "nfc")
    }
    var outcome = try await run(try await invocation.matrixPlace(invocation.key), options)
    if invocation.options.has("also") {
      invocation.say("Now the same over NFC: lay the key on the reader.")
      let second = try await run(try await invocation.matrixPlace(.nfc(reader: nil)), options)
      outcome.text += "\n\n" + second.text
      outcome.json = .object([("runs", .array([outcome.json, second.json]))])
      outcome.code = max(outcome.code, second.code)
    }
    return outcome
  }

  private func run(_ place: RunPlace, _ options: MatrixRunner.Options) async throws -> Outcome {
    // A key that turns out to be simulated only when it is open is kept apart all the same.
    let folders = (runs, practice)
    func folder(_ isSimulated: Bool) -> RunFolder { isSimulated ? folders.1 : folders.0 }
    let runner = runner(place, options) { record in
      try (SimulationSigns.of(record).isEmpty ? folders.0 : folders.1).keep(
        record, place.description)
    }
    let begun = folder(place.isSimulated).begun(place.description)
    let record: RunRecord
    do { record = try await runner.run(continuing: begun, at: invocation.now) } catch {
      invocation.say(
        "The run has stopped. Start it again with the same key and it goes on where it was.")
      throw error
    }
    let signs = SimulationSigns.of(record)
    let file = "\(folder(!signs.isEmpty).path)/\(record.fileName)"
    return outcome(of: record, file)
  }

  func secondHost(_ file: String) async throws -> Outcome {
    let given = try RunFolder.read(file)
    let place = try await invocation.matrixPlace(invocation.key)
    let record = try await runner(place, MatrixRunner.Options()) { _ in }.secondHost(given)
    try AtomicFile.write(record.encoded(), to: file)
    return outcome(of: record, file)
  }

  private func runner(
    _ place: RunPlace, _ options: MatrixRunner.Options,
    save: @escaping @Sendable (RunRecord) throws -> Void
  ) -> MatrixRunner {
    let invocation = invocation
    return MatrixRunner(
      place, pin: invocation.rememberedPIN(), timings: invocation.timings, options: options,
      tool: "sealkey \(CommandLineTool.version)", progress: { Self.say($0, invocation) }, save: save
    )
  }

  private static func say(_ progress: MatrixRunner.Progress, _ invocation: Invocation) {
    switch progress {
    case .began(let step, let number, let total):
      invocation.say("\(number) of \(total): \(step.title)")
    case .finished(let finding):
      invocation.say("  \(finding.cell)  (\(finding.mark.word))".printable)
      if let line = finding.telemetry { invocation.say("  \(line)".printable) }
      if let why = finding.explanation { invocation.say("  \(why)") }
      for note in finding.notes { invocation.say("  note: \(note)".printable) }
    case .resumed(let count):
      invocation.say("Going on with the run that was begun: \(count) steps are done.")
    case .key(.touchNeeded): invocation.say("  Touch the key now.")
    case .key(.userVerificationNeeded): invocation.say("  Put your finger on the key now.")
    case .key(.cardNeeded(let reader)):
      invocation.say("  Lay the key on \(reader ?? "a card reader") now.")
    case .key(.tapAgainNeeded(let reader)):
      invocation.say("  Lift the key off \(reader) and lay it on again.")
    case .key: break
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
      lines.append("To send it in, make a pull request with this one file; see matrix/README.md.")
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

  func verify(_ files: [String]) throws -> Outcome {
    var lines: [String] = []
    var json: [JSONValue] = []
    var isGood = true
    let payload = try invocation.options["metadata"].map { try metadata($0).payload }
    for file in files {
      let bytes = try AtomicFile.read(file, limit: RunRecord.maximumSize)
      var roots: [Certificate] = []
      var warnings: [String] = []
      if let payload, let record = try? RunRecord(parsing: bytes), let info = Evaluation(record).info {
        roots = try PublishedModel.roots(payload: payload, aaguid: info.aaguid)
        warnings = try PublishedModel.warnings(payload: payload, aaguid: info.aaguid)
      }
      var report = RunRecord.verify(bytes, roots: roots)
      for warning in warnings {
        report.add(.warning, "modelStatus", "key", "The metadata says of the model: \(warning).")
      }
      lines += report.lines + [report.isGood ? "\(file): good." : "\(file): NOT good."]
      isGood = isGood && report.isGood
      json.append(
        .object([
          ("file", .string(file)), ("ok", .bool(report.isGood)), ("checks", report.json["checks"]),
        ]))
    }
    return Outcome(
      text: lines.joined(separator: "\n"),
      json: .object([("ok", .bool(isGood)), ("records", .array(json))]),
      code: isGood ? 0 : 1)
  }

  func fill(_ file: String) throws -> Outcome {
    let sheet = try MatrixSheet(AtomicFile.read(file))
    let found = try runs.runs()
    let filled = try sheet.filled(with: found)
    try AtomicFile.write(filled, to: file)
    return Outcome(
      text: "\(file): \(found.count) runs of real keys.",
      json: .object([("file", .string(file)), ("runs", .int(found.count))]))
  }

  func check(_ file: String) throws -> Outcome {
    let sheet = try MatrixSheet(AtomicFile.read(file))
    let found = try runs.runs()
    for run in found {
      let report = run.record.verification()
      guard let bad = report.failures.first else { continue }
      throw CheckFailure(name: bad.name, message: "\(run.file): \(bad.explanation)")
    }
    try sheet.check(against: found)
    return Outcome(
      text: "\(file) says what the \(found.count) records say.",
      json: .object([("ok", .bool(true)), ("file", .string(file)), ("runs", .int(found.count))]))
  }

  func diff(_ first: String, _ second: String) throws -> Outcome {
    let difference = RunDifference(try RunFolder.read(first), try RunFolder.read(second))
    return Outcome(
      text: difference.lines.isEmpty
        ? "No difference." : difference.lines.map(\.printable).joined(separator: "\n"),
      json: difference.json, code: difference.lines.isEmpty ? 0 : 1)
  }

  func report() throws -> Outcome {
    let out = try invocation.required("out")
    let found = try runs.runs() + practice.runs()
    try AtomicFile.write(Array(MatrixPage.html(found).utf8), to: out)
    return Outcome(
      text: "Wrote \(out). Runs in it: \(found.count).",
      json: .object([("file", .string(out)), ("runs", .int(found.count))]))
  }
}

/// A record among the runs that does not stand up.
struct CheckFailure: NamedError {
  let name: String
  let message: String
  let next = "Take the record out, or have the key run again."
}

extension Invocation {
  /// Where the key of a run is.
  func matrixPlace(_ address: KeyAddress?) async throws -> RunPlace {
    switch address {
    case .virtual(let model):
      let state = "\(try madeDataDirectory())/virtual-key" + (model.map { "-\($0)" } ?? "")
      return .virtual(try makeVirtualKey(model, storage: .file(path: state)))
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

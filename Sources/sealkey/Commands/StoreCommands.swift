// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import WebAuthnCore

extension Command {
  static let directory = Command(
    "directory", "Keep identity records on this computer: import them, list them, pin a root key, hand them on.",
    operands: ["import FILE ...", "list", "pin NAME|HASH", "export"],
    options: [OptionSpec("out", "FILE", "where the records go", only: ["export"])],
    examples: [
      "sealkey directory import ada.json karin.json", "sealkey directory list", "sealkey directory pin Ada",
      "sealkey directory export --out people.json",
    ]
  ) { invocation in
    guard let word = invocation.options.operands.first else {
      throw UsageError.missingOperand("import, list, pin or export")
    }
    let rest = Array(invocation.options.operands.dropFirst())
    switch word {
    case "import":
      guard !rest.isEmpty else { throw UsageError.missingOperand("The file") }
      return try await DirectoryVerb.take(rest, invocation)
    case "list":
      try invocation.noOperands(after: 1)
      return DirectoryVerb.list(try invocation.store.people())
    case "pin":
      guard let who = rest.first else { throw UsageError.missingOperand("A name or root hash") }
      try invocation.noOperands(after: 2)
      return try await DirectoryVerb.pin(who, invocation)
    case "export":
      try invocation.noOperands(after: 1)
      return try DirectoryVerb.export(invocation)
    default: throw UsageError.badValue(option: "directory", value: word, wanted: "import, list, pin or export")
    }
  }

  static let store = Command(
    "store", "Check what this computer keeps.", operands: ["check"], examples: ["sealkey store check --json"]
  ) { invocation in
    let word = try invocation.operand("check")
    guard word == "check" else { throw UsageError.badValue(option: "store", value: word, wanted: "check") }
    let report = invocation.store.check()
    let isGood = report.failures.isEmpty
    return Outcome(
      text: (report.lines + [isGood ? "The store is good." : "The store is NOT good."]).joined(separator: "\n"),
      json: .object([
        ("path", .string(invocation.dataDirectory)), ("ok", .bool(isGood)), ("checks", report.json["checks"]),
      ]), code: isGood ? 0 : 1)
  }

  static let device = Command(
    "device", "This computer's devices: make one, list them, or show the public side for endorsing it elsewhere.",
    operands: ["list", "make NAME", "export NAME"],
    examples: ["sealkey device make laptop", "sealkey device list", "sealkey device export laptop --json"]
  ) { invocation in
    guard let word = invocation.options.operands.first else { throw UsageError.missingOperand("list, make or export") }
    guard word != "list" else {
      try invocation.noOperands(after: 1)
      let names = invocation.store.deviceNames
      return Outcome(
        text: names.joined(separator: "\n"), json: .object([("devices", .array(names.map { .string($0) }))]))
    }
    try invocation.noOperands(after: 2)
    guard invocation.options.operands.count == 2 else { throw UsageError.missingOperand("The device's name") }
    let name = invocation.options.operands[1]
    let halves: PublicHalves
    switch word {
    case "make":
      try await invocation.store.keep(PrivateHalves(), as: name)
      halves = try invocation.store.publicHalves(name)
    case "export": halves = try invocation.store.publicHalves(name)
    default: throw UsageError.badValue(option: "device", value: word, wanted: "list, make or export")
    }
    let fingerprint = try Confirmation.fingerprint(halves.devicePublicKey)
    return Outcome(
      text: [
        "device-public-key \(Hex.encode(halves.devicePublicKey))", "kem-bundle        \(Hex.encode(halves.kemBundle))",
        "fingerprint       \(fingerprint)",
      ].joined(separator: "\n"),
      json: .object([
        ("name", .string(name)), ("devicePublicKeyHex", .hex(halves.devicePublicKey)),
        ("kemBundleHex", .hex(halves.kemBundle)), ("fingerprint", .string(fingerprint)),
      ]))
  }
}

/// What can be done with the people known here.
private enum DirectoryVerb {
  /// Everything in all files, or nothing.
  static func take(_ files: [String], _ invocation: Invocation) async throws -> Outcome {
    let found = try files.flatMap { try RecordFile.read($0) }
    let results = try await invocation.store.updatePeople { people in
      try found.map { try people.take($0.record, isProven: $0.isProven) }
    }
    var lines: [String] = []
    for (entry, result) in zip(found, results) {
      lines.append("\(result.rawValue)  \(entry.record.displayName) \(entry.record.rootHash.prefix(16))".printable)
    }
    return Outcome(
      text: lines.joined(separator: "\n"),
      json: .object([
        (
          "identities",
          .array(
            zip(found, results).map {
              .object([
                ("rootHash", .string($0.record.rootHash)), ("name", .string($0.record.displayName)),
                ("result", .string($1.rawValue)),
              ])
            })
        )
      ]))
  }

  static func list(_ people: KnownPeople) -> Outcome {
    let all = people.records.values.sorted { ($0.displayName, $0.rootHash) < ($1.displayName, $1.rootHash) }
    func devices(_ record: DirectoryRecord) -> Int { (try? VerifiedIdentity(record: record))?.devices.count ?? 0 }
    let lines = all.map {
      let pin = people.pins[$0.rootHash].map { "pinned (\($0.origin.rawValue))" } ?? "not pinned"
      return "\($0.rootHash.prefix(16))  \($0.tier)  \(pin)  \(devices($0)) devices  \($0.displayName)".printable
    }
    return Outcome(
      text: lines.isEmpty ? "Nobody is known here yet." : lines.joined(separator: "\n"),
      json: .object([
        (
          "identities",
          .array(
            all.map {
              .object([
                ("rootHash", .string($0.rootHash)), ("name", .string($0.displayName)), ("tier", .string($0.tier)),
                ("publicKeyHex", .hex($0.publicKey)), ("pinned", .bool(people.pins[$0.rootHash] != nil)),
                ("liveDevices", .int(devices($0))), ("backups", .int($0.backups.count)),
              ])
            })
        )
      ]))
  }

  static func pin(_ who: String, _ invocation: Invocation) async throws -> Outcome {
    let record = try invocation.store.people().record(who)
    try Confirmation.ask(
      [
        "The root key of \(record.displayName) has this fingerprint: \(try Confirmation.fingerprint(record.publicKey))",
        "Compare it with what they told you or what your phone shows. If they are the same, type: same",
        "(--yes answers this.)",
      ], word: "same", invocation, isAnsweredByYes: true)
    try await invocation.store.updatePeople {
      try $0.pin(
        .init(
          rootHash: record.rootHash, publicKey: record.publicKey, displayName: record.displayName, origin: .confirmed,
          pinnedAt: invocation.now))
    }
    return Outcome(
      text: "Pinned the root key of \(record.displayName).".printable,
      json: .object([("rootHash", .string(record.rootHash)), ("pinned", .bool(true))]))
  }

  static func export(_ invocation: Invocation) throws -> Outcome {
    let bytes = try invocation.store.people().encoded(includingPins: false)
    guard let path = invocation.options["out"] else {
      return Outcome(text: String(decoding: bytes.dropLast(), as: UTF8.self), json: try JSONReader.parse(bytes))
    }
    try AtomicFile.write(bytes, to: path)
    return Outcome(text: "Wrote \(path).", json: .object([("file", .string(path))]))
  }
}

/// Identity records in any of the forms in which they come.
private enum RecordFile {
  struct Entry {
    let record: DirectoryRecord
    /// The registration stands beside it, and is good.
    let isProven: Bool
  }

  static func read(_ path: String) throws -> [Entry] {
    let bytes = try AtomicFile.read(path, limit: 256 << 20)
    let json = try? JSONReader.parse(bytes, limits: .init(maximumDepth: 32, maximumByteCount: 256 << 20))
    if let list = json?.array ?? (json?["format"]?.string == "sealkey.directory" ? json?["records"]?.array : nil) {
      return try list.map { Entry(record: try DirectoryRecord(json: $0), isProven: false) }
    }
    let artefact = try Artefact(parsing: bytes)
    let record: DirectoryRecord = try artefact.shape(.identityRecord)
    var isProven = false
    if artefact.evidence?.attestationObject != nil { isProven = try artefact.verify().isGood }
    return [Entry(record: record, isProven: isProven)]
  }
}

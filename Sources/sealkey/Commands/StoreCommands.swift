// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import WebAuthnCore

extension Command {
  static let directory = Command(
    "directory",
    "Keep identity records on this computer: import them or parts of them, list them, pin a root key, hand them on.",
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
      return DirectoryVerb.list(try invocation.store.people(), devicesHere: invocation.store.publicDeviceNames())
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
    var report = invocation.store.check()
    StoredHints(dataDirectory: invocation.dataDirectory).check(&report)
    invocation.checkVirtualKeys(&report)
    let isGood = report.failures.isEmpty
    return Outcome(
      text: (report.lines + [isGood ? "The store is good." : "The store is NOT good."]).joined(separator: "\n"),
      json: .object([
        ("path", .string(invocation.dataDirectory)), ("ok", .bool(isGood)), ("checks", report.json["checks"]),
      ]), code: isGood ? 0 : 1)
  }
}

/// What became of one thing that was imported.
private struct Taken: Sendable {
  let hash: String
  let name: String
  let result: KnownPeople.Imported
  let notes: [String]
}

/// What can be done with the people known here.
private enum DirectoryVerb {
  /// Everything in all files, or nothing.
  static func take(_ files: [String], _ invocation: Invocation) async throws -> Outcome {
    let found = try files.flatMap { file in try RecordFile.read(file).map { (file: file, entry: $0) } }
    let results = try await invocation.store.updatePeople { people in
      var results: [Taken] = []
      // Whole records first: what comes by itself may belong to one of them.
      for case (_, .record(let record, let isProven)) in found {
        var notes: [String] = []
        let result: KnownPeople.Imported
        do { result = try people.take(record, isProven: isProven, noting: &notes) } catch let error as StoreError {
          // One without a device yet does not keep the others out.
          guard found.count > 1, case .unprovenIdentityRecord = error else { throw error }
          notes.append("\(error.message) Import the file of its registration.")
          result = .leftOut
        }
        results.append(Taken(hash: record.rootHash, name: record.displayName, result: result, notes: notes))
      }
      for case (let file, .part(let part)) in found {
        let taken: (rootHash: String, result: KnownPeople.Imported)
        do throws(StoreError) { taken = try people.take(part) } catch {
          guard case .signerUnknown = error else { throw error }
          throw FaultInFile(path: file, below: error)
        }
        let name = people.records[taken.rootHash]?.displayName ?? ""
        results.append(Taken(hash: taken.rootHash, name: name, result: taken.result, notes: []))
      }
      return results
    }
    var lines: [String] = []
    for taken in results {
      lines.append("\(taken.result.rawValue)  \(taken.name) \(taken.hash.prefix(16))")
      lines += taken.notes.map { "  note: \($0)" }
    }
    return Outcome(
      text: lines.map(\.printable).joined(separator: "\n"),
      json: .object([
        (
          "identities",
          .array(
            results.map { taken in
              .object([
                ("rootHash", .string(taken.hash)), ("name", .string(taken.name)),
                ("result", .string(taken.result.rawValue)),
                ("notes", taken.notes.isEmpty ? nil : .array(taken.notes.map { .string($0) })),
              ])
            })
        )
      ]))
  }

  /// - Parameter devicesHere: the names of this computer's devices, by public key.
  static func list(_ people: KnownPeople, devicesHere: [[UInt8]: String]) -> Outcome {
    let all = people.records.values.sorted { ($0.displayName, $0.rootHash) < ($1.displayName, $1.rootHash) }
    let shown = all.map {
      record -> (record: DirectoryRecord, devices: [VerifiedIdentity.Device], spares: [AuthoritySet.Authority]) in
      if record.tier == Tier.deleted.rawValue { return (record, [], []) }
      // A device that was endorsed twice is one.
      var seen = Set<[UInt8]>()
      let devices = ((try? VerifiedIdentity(record: record))?.devices ?? []).filter {
        seen.insert($0.publicKey).inserted
      }
      return (record, devices, ((try? AuthoritySet(record: record))?.members ?? []).filter { $0.role != .root })
    }
    func label(_ spare: AuthoritySet.Authority) -> String {
      if case .backup(let label) = spare.role { label } else { "" }
    }
    let lines = shown.flatMap { record, live, spares in
      let pin = people.pins[record.rootHash].map { "pinned (\($0.origin.rawValue))" } ?? "not pinned"
      return [
        "\(record.rootHash.prefix(16))  \(record.tier)  \(pin)  \(counted(live.count, "device"))  \(record.displayName)"
          .printable + (record.isSimulated ? "  (simulated)" : "")
      ]
        + live.map { device in
          let kind = device.isSponsored ? "  locked with the key" : device.isBackupEndorsed ? "  by a backup" : ""
          let here = devicesHere[device.publicKey].map { "  \($0), on this computer" } ?? ""
          return "  device \(Hex.encode(device.publicKey.prefix(9)))...\(kind)\(here)".printable
        } + spares.map { "  spare key '\(label($0))'".printable }
    }
    return Outcome(
      text: lines.isEmpty ? "Nobody is known here yet." : lines.joined(separator: "\n"),
      json: .object([
        (
          "identities",
          .array(
            shown.map { record, live, spares in
              .object([
                ("rootHash", .string(record.rootHash)), ("name", .string(record.displayName)),
                ("tier", .string(record.tier)), ("publicKeyHex", .hex(record.publicKey)),
                ("pinned", .bool(people.pins[record.rootHash] != nil)), ("liveDevices", .int(live.count)),
                ("backups", .int(record.backups.count)),
                (
                  "spares",
                  .array(
                    spares.map { spare in
                      .object([
                        ("label", .string(label(spare))), ("publicKeyHex", .hex(spare.key.rawRepresentation)),
                      ])
                    })
                ),
                ("simulated", .bool(record.isSimulated)),
                (
                  "devices",
                  .array(
                    live.map { device in
                      .object([
                        ("devicePublicKeyHex", .hex(device.publicKey)),
                        ("label", devicesHere[device.publicKey].map { .string($0) }),
                        ("sponsored", .bool(device.isSponsored)), ("byBackup", .bool(device.isBackupEndorsed)),
                      ])
                    })
                ),
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
      return Outcome(
        text: String(decoding: bytes.dropLast(), as: UTF8.self), json: try JSONReader.parse(bytes), isDocument: true)
    }
    try invocation.write(bytes, to: path)
    return Outcome(text: "Wrote \(path).".printable, json: .object([("file", .string(path))]))
  }
}

/// Identity records, and parts of them, in any of the forms in which they come.
private enum RecordFile {
  enum Entry {
    /// `isProven`: the registration stands beside it, and is good.
    case record(DirectoryRecord, isProven: Bool)
    case part(KnownPeople.Part)
  }

  static func read(_ path: String) throws -> [Entry] {
    let bytes = try AtomicFile.read(path, limit: 256 << 20)
    let json = try? JSONReader.parse(bytes, limits: .init(maximumDepth: 32, maximumByteCount: 256 << 20))
    if json?["format"]?.string == "sealkey.directory", let records = json?["records"]?.array {
      return try records.map { .record(try DirectoryRecord(json: $0), isProven: false) }
    }
    if let list = json?.array { return try list.map { try entry(Artefact(parsing: JSONWriter.write($0))) } }
    let parts: Set<FileKind> = [
      .artefact(.identityRecord), .artefact(.revocation), .artefact(.deleteMarker), .artefact(.endorsement),
      .artefact(.backup),
    ]
    return [
      try FileKind.reading(path, as: parts, "an identity record or a part of one") {
        try entry(Artefact(parsing: bytes))
      }
    ]
  }

  private static func entry(_ artefact: Artefact) throws -> Entry {
    switch artefact.kind {
    case .revocation: return .part(.revocation(try artefact.shape(.revocation)))
    case .deleteMarker: return .part(.deleteMarker(try artefact.shape(.deleteMarker)))
    case .endorsement: return .part(.endorsement(try artefact.shape(.endorsement)))
    case .backup: return .part(.backup(try artefact.shape(.backup)))
    default:
      var record: DirectoryRecord = try artefact.shape(.identityRecord)
      record.isSimulated = record.isSimulated || artefact.isSimulated
      var isProven = false
      // The registration itself must have been checked: a part of one proves nothing.
      if artefact.evidence?.attestationObject != nil {
        let report = try artefact.verify()
        isProven = report.isGood && report.checks.contains { $0.name == "registration" && $0.outcome == .good }
      }
      return .record(record, isProven: isProven)
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import SealFormats
import WebAuthnCore

extension Command {
  static let verify = Command(
    "verify", "Check any file of this program or of Seal's.", operands: ["FILE"],
    options: [
      OptionSpec("public-key", "HEX", "the root's public key, 64 bytes, known from elsewhere"),
      OptionSpec("challenge", "HEX", "the challenge of a bare stored assertion"),
      OptionSpec(
        "identity", "NAME|FILE", "whoever made it: as they are known here, or their record; may be repeated",
        repeatable: true),
    ],
    examples: [
      "sealkey verify tap.json --identity ada.json", "sealkey verify assertion.json --public-key HEX --challenge HEX",
    ]
  ) { invocation in
    let path = try invocation.operand("The file")
    let bytes = try AtomicFile.read(path, limit: Capsule.maximumSize)
    if let people = try VerifyVerb.directory(bytes, path, invocation) { return people }
    let artefact = try FileKind.reading(path, as: [], "a file that this command checks") {
      try Artefact(parsing: bytes)
    }
    if artefact.kind == .capsule {
      return try await CapsuleVerb.verify(path, invocation)
    }
    let key = try invocation.hex("public-key", count: 64)
    var context = VerificationContext(
      directory: invocation.knownPeople().records, rootPublicKey: key, challenge: try invocation.hex("challenge"))
    if context.challenge != nil {
      guard key != nil else { throw UsageError.missingOption("public-key") }
      _ = try FileKind.reading(path, as: [.artefact(.assertion)], "the bare assertion that --challenge is for") {
        try artefact.shape(.assertion, as: StoredAssertion.self)
      }
    }
    for file in invocation.options.values["identity"] ?? [] {
      let (record, _) = try invocation.somebody(file)
      context.directory[record.rootHash] = record
      context.namedSigners = (context.namedSigners ?? []).union([record.rootHash])
    }
    let report = try artefact.verify(context)
    var lines = report.lines
    lines.append(report.isGood ? "\(path): good." : "\(path): NOT good.")
    return Outcome(
      text: lines.joined(separator: "\n"),
      json: .object([
        ("file", .string(path)), ("kind", .string(artefact.kind.rawValue)), ("simulated", .bool(artefact.isSimulated)),
        ("ok", .bool(report.isGood)), ("checks", report.json["checks"]),
      ]), code: report.isGood ? 0 : 1)
  }
}

private enum VerifyVerb {
  /// A file of many identity records: this program's directory, or a list of Seal's. Nil for any other file.
  static func directory(_ bytes: [UInt8], _ path: String, _ invocation: Invocation) throws -> Outcome? {
    let limits = JSONReader.Limits(maximumDepth: 32, maximumByteCount: 256 << 20)
    guard let json = try? JSONReader.parse(bytes, limits: limits) else { return nil }
    let isDirectory = json["format"]?.string == "sealkey.directory"
    guard let list = isDirectory ? json["records"]?.array : json.array, isDirectory || !list.isEmpty else { return nil }
    let context = VerificationContext(directory: invocation.knownPeople().records)
    var report = VerificationReport()
    var isSimulated = false
    for element in list {
      let record = try DirectoryRecord(json: element)
      isSimulated = isSimulated || record.isSimulated
      report.append(try Artefact(.identityRecord, record, isSimulated: record.isSimulated).verify(context))
    }
    let lines =
      report.lines + [
        "\(path): \(counted(list.count, "identity", "identities")), \(report.isGood ? "good" : "NOT good")."
      ]
    return Outcome(
      text: lines.joined(separator: "\n"),
      json: .object([
        ("file", .string(path)), ("kind", .string("directory")), ("simulated", .bool(isSimulated)),
        ("identities", .int(list.count)),
        ("ok", .bool(report.isGood)), ("checks", report.json["checks"]),
      ]), code: report.isGood ? 0 : 1)
  }
}

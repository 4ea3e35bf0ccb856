// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import InteropMatrix
import SealCeremonies
import WebAuthnCore

/// What is done with records that are there.
extension MatrixVerb {
  func verify(_ files: [String]) throws -> Outcome {
    var lines: [String] = []
    var json: [JSONValue] = []
    var isGood = true
    let metadata = try invocation.options["metadata"].map { try self.metadata($0) }
    for file in files {
      let bytes = try AtomicFile.read(file, limit: RunRecord.maximumSize)
      var makers: MakersWord?
      if let metadata, let record = try? RunRecord(parsing: bytes) {
        makers = try MakersWord(
          of: record, payload: metadata.payload, isSigned: metadata.signer != nil, at: timeLimit)
      }
      let report = RunRecord.verify(bytes, makers: makers)
      if !report.isGood, let found = FileKind.of(file), found.kind != .run {
        throw WrongFile(path: file, what: found.what, wanted: MatrixVerb.recordName, use: found.use)
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

  /// The sheet, and the records that belong into it.
  private func sheetAndRuns(_ word: String, _ file: String) throws -> (MatrixSheet, [MatrixSheet.Run]) {
    let bytes: [UInt8]
    do throws(FileError) { bytes = try AtomicFile.read(file) } catch {
      guard case .notFound = error else { throw error }
      throw MatrixFileError.noSheet(path: file, word: word)
    }
    // Without the folder the sheet would be filled with nothing. A checkout may have no record yet.
    let isNamed = invocation.options.has("runs")
    guard access(isNamed ? runs.path : "matrix", F_OK) == 0 else {
      throw MatrixFileError.noRuns(path: runs.path, word: word)
    }
    if let found = FileKind.of(file) {
      throw WrongFile(path: file, what: found.what, wanted: "the sheet with the tables", use: found.use)
    }
    let found = try runs.runs()
    // A row says no more than its record stands for.
    for run in found {
      guard let bad = run.record.verification().failures.first(where: { $0.name != "unfinished" }) else { continue }
      throw CheckFailure(name: bad.name, message: "\(run.file): \(bad.explanation)")
    }
    return (try MatrixSheet(bytes), found)
  }

  func fill(_ file: String) throws -> Outcome {
    let (sheet, found) = try sheetAndRuns("fill", file)
    let filled = try sheet.filled(with: found)
    if filled != sheet.original { try replace(file, filled) }
    for row in try MatrixSheet(filled).unbacked(by: found) { invocation.say("\(row.sentence) It stays as it is.") }
    return Outcome(
      text: "\(file): \(found.count) runs of real keys.",
      json: .object([("file", .string(file)), ("runs", .int(found.count))]))
  }

  /// Writes the sheet where it is: behind a link that stands for it, and with the permissions that it has.
  private func replace(_ file: String, _ bytes: [UInt8]) throws(FileError) {
    let real = realpath(file, nil)
    defer { free(real) }
    let path = real.map { String(cString: $0) } ?? file
    var status = stat()
    guard stat(path, &status) == 0 else { throw .notFound(path: path) }
    let mode = status.st_mode & 0o777
    try AtomicFile.write(bytes, to: path, mode: mode)
    // This program makes files for its user alone (umask).
    guard chmod(path, mode) == 0 else { throw .unwritable(path: path, errno: errno) }
  }

  func check(_ file: String) throws -> Outcome {
    let (sheet, found) = try sheetAndRuns("check", file)
    try sheet.check(against: found)
    return Outcome(
      text: "\(file) says what the \(found.count) records say.",
      json: .object([("ok", .bool(true)), ("file", .string(file)), ("runs", .int(found.count))]))
  }

  static let recordName = "a record of the interop matrix"

  /// A run's record from a file.
  func record(_ file: String) throws -> RunRecord {
    try FileKind.reading(file, as: [.run], Self.recordName) { try RunFolder.read(file) }
  }

  func diff(_ first: String, _ second: String) throws -> Outcome {
    let difference = RunDifference(try record(first), try record(second))
    return Outcome(
      text: difference.lines.isEmpty
        ? "No difference." : difference.lines.map(\.printable).joined(separator: "\n"),
      json: difference.json, code: difference.lines.isEmpty ? 0 : 1)
  }

  func report() throws -> Outcome {
    let out = try invocation.required("out")
    guard [runs, practice].contains(where: { access($0.path, F_OK) == 0 }) else {
      throw MatrixFileError.noRuns(path: "\(runs.path) or \(practice.path)", word: "report")
    }
    let (real, played) = (runs.readable(), practice.readable())
    let found = real.runs + played.runs
    let damaged = real.damaged + played.damaged
    for one in damaged { invocation.say("Left out, because it cannot be read: \(one.message) [\(one.name)]") }
    try invocation.write(Array(MatrixPage.html(found).utf8), to: out)
    let left = damaged.isEmpty ? "" : " Files left out: \(damaged.count)."
    return Outcome(
      text: "Wrote \(out). Runs in it: \(found.count).\(left)".printable,
      json: .object([
        ("file", .string(out)), ("runs", .int(found.count)),
        (
          "leftOut",
          damaged.isEmpty
            ? nil
            : .array(
              damaged.map {
                .object([
                  ("file", .string($0.path)), ("name", .string($0.name)), ("message", .string($0.below.message)),
                ])
              })
        ),
      ]), code: damaged.isEmpty ? 0 : 1)
  }
}

/// Which file of a checkout is missing, and how it is named from elsewhere.
enum MatrixFileError: NamedError, Hashable {
  case noSheet(path: String, word: String)
  case noRuns(path: String, word: String)
  case noMetadata

  var name: String {
    switch self {
    case .noSheet: "sheetNotFound"
    case .noRuns: "runsNotFound"
    case .noMetadata: "missingOption"
    }
  }
  var message: String {
    switch self {
    case .noSheet(let path, let word): "matrix \(word) wants the sheet with the tables, and there is no file \(path)."
    case .noRuns(let path, let word): "matrix \(word) wants the folder with the runs' records, and there is no \(path)."
    case .noMetadata:
      "The option --metadata is missing: matrix atlas reads the published models from the FIDO Metadata Service's BLOB."
    }
  }
  var next: String {
    switch self {
    case .noMetadata:
      "Fetch it: curl -L -o blob.jwt https://mds3.fidoalliance.org/ and then: "
        + "sealkey matrix atlas --metadata blob.jwt --out atlas.md"
    case .noSheet(_, let word):
      "Run it in a checkout of sealkey, or name the sheet: sealkey matrix \(word) FILE --runs DIR"
    case .noRuns(_, let word):
      "Run it in a checkout of sealkey, or name the folder with --runs\(word == "report" ? " or --practice" : ""). "
        + "sealkey matrix run makes records."
    }
  }
  var kind: FaultKind { self == .noMetadata ? .usage : .file }
}

/// A record among the runs that does not stand up.
struct CheckFailure: NamedError {
  let name: String
  let message: String
  let next = "Take the record out, or have the key run again."
}

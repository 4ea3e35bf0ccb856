// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// A sheet with the two tables: Seal's own, or this project's. Only rows that belong to a run are written; every other
/// byte stays as it is.
public struct MatrixSheet: Sendable {
  /// A run as the tables name it.
  public struct Run: Sendable {
    /// The record's file.
    public let file: String
    /// The record.
    public let record: RunRecord
    /// A run of that file.
    public init(file: String, record: RunRecord) {
      self.file = file
      self.record = record
    }

    /// What marks a row as this run's: from the run's nonce, so that it stays when a run is continued.
    var mark: String { "(run \(Hex.encode(record.nonce.prefix(8))))" }
  }

  struct Table {
    var columns: [String]
    /// Line numbers of the rows.
    var rows: [Int]
    /// The line after which a row is appended.
    var last: Int
  }

  /// The bytes that it was read from.
  public let original: [UInt8]

  /// A sheet; both tables are looked for.
  /// - Throws: ``SheetError``.
  public init(_ bytes: [UInt8]) throws(SheetError) {
    original = bytes
    guard let lines = SheetLines(bytes) else { throw .notUTF8 }
    _ = try Self.table(lines, Self.matrixColumns, "the matrix")
    _ = try Self.table(lines, Self.sponsoredColumns, "the sponsored key")
  }

  /// The sheet with a row for each run. Runs are put in the order of their times; a row that is there is brought up to
  /// date where it stands, blank rows are used first, and what a person wrote into a run's notes is kept behind its mark.
  /// - Throws: ``SheetError``: a simulated or unfinished run is refused, and two records that would share a row.
  public func filled(with runs: [Run]) throws(SheetError) -> [UInt8] {
    guard var lines = SheetLines(original) else { throw .notUTF8 }
    try Self.checkMarks(of: runs)
    for run in runs.sorted(by: { ($0.record.startedAt, $0.file) < ($1.record.startedAt, $1.file) }) {
      let signs = SimulationSigns.of(run.record)
      guard signs.isEmpty else {
        throw .simulated(file: run.file, signs: signs.sorted { $0.rawValue < $1.rawValue })
      }
      guard run.record.finishedAt != nil else { throw .unfinished(file: run.file) }
      let cells = run.record.cells
      try Self.put(
        run,
        Dictionary(uniqueKeysWithValues: zip(Self.matrixColumns.dropFirst(), cells.sheet)).merging(
          zip(Self.furtherColumns, cells.further + [run.file])
        ) { first, _ in first }, [], Self.matrixColumns, "the matrix", &lines)
      try Self.put(
        run, Dictionary(uniqueKeysWithValues: zip(Self.sponsoredColumns, cells.sponsored)),
        Self.earlierNotes(run.record), Self.sponsoredColumns,
        "the sponsored key", &lines)
    }
    return lines.bytes
  }

  /// Whether the sheet says what the records say: nothing more, and nothing less.
  /// - Throws: ``SheetError``.
  public func check(against runs: [Run]) throws(SheetError) {
    guard let lines = SheetLines(original) else { throw .notUTF8 }
    try Self.checkMarks(of: runs)
    let known = Set(runs.map(\.mark))
    for columns in [Self.matrixColumns, Self.sponsoredColumns] {
      for row in try Self.table(lines, columns, "")?.rows ?? [] {
        for mark in Self.marks(in: lines.lines[row].text) where !known.contains(mark) {
          throw .rowWithoutRecord(line: row + 1, mark: mark)
        }
      }
    }
    if let row = try unbacked(by: runs).first { throw .rowByHand(row) }
    let wanted = try filled(with: runs)
    guard wanted == original else {
      let differing = zip(SheetLines(wanted)?.lines ?? [], lines.lines).enumerated()
        .first { $1.0.text != $1.1.text }?.offset
      throw .differs(line: (differing ?? lines.lines.count) + 1)
    }
  }

  /// One row for one record: a mark names no two.
  private static func checkMarks(of runs: [Run]) throws(SheetError) {
    for (mark, same) in Dictionary(grouping: runs, by: \.mark).sorted(by: { $0.key < $1.key }) where same.count > 1 {
      throw .twoRecords(mark: mark, files: same.map(\.file).sorted())
    }
  }

  /// Notes that the row of a run had before its lock was tried on a second computer.
  private static func earlierNotes(_ record: RunRecord) -> [String] {
    var earlier = record
    earlier.steps.removeAll { $0.step == .secondHost }
    return earlier.steps.count == record.steps.count ? [] : [earlier.cells.sponsored.last ?? ""]
  }

  // MARK: - Tables

  /// Seal's columns, as they are compared.
  static let matrixColumns = [
    "#", "keymodel", "firmware", "pinset", "nfcusb", "registerresult", "registeralgcrvxlenylen",
    "signinresult",
    "friendtapresult", "verifylineseen", "notes",
  ]
  /// Seal's columns for sponsored keys; some by how they begin.
  static let sponsoredColumns = [
    "model", "prfatregister", "prfatendorse", "signinonasecond", "notes",
  ]
  /// Columns of this project's own document.
  static let furtherColumns = [
    "touches", "times", "limits", "prfequality", "cancel", "attestation", "stateafter", "evidence",
  ]

  /// The table with all of `wanted`, in any order and among others; nil for a missing table of sponsored keys.
  static func table(_ lines: SheetLines, _ wanted: [String], _ what: String)
    throws(SheetError) -> Table?
  {
    var found: [Table] = []
    let all = lines.lines
    let hidden = lines.hidden
    for (number, line) in all.enumerated() where number + 1 < all.count && !hidden[number] && !hidden[number + 1] {
      guard let heads = MarkdownRow.cells(line.text), MarkdownRow.isDelimiter(all[number + 1].text)
      else { continue }
      let columns = Self.columns(heads, wanted)
      guard wanted.allSatisfy(columns.contains) else { continue }
      var rows: [Int] = []
      var at = number + 2
      while at < all.count, !hidden[at], MarkdownRow.cells(all[at].text) != nil {
        rows.append(at)
        at += 1
      }
      // GitHub takes a line without a bar in front for one more row.
      if at < all.count, !hidden[at], !MarkdownRow.endsTable(all[at].text) {
        throw .rowWithoutBar(line: at + 1)
      }
      found.append(Table(columns: columns, rows: rows, last: at - 1))
    }
    if found.count > 1 { throw .twoTables(what) }
    if found.isEmpty { throw .noTable(what) }
    return found.first
  }

  /// The columns of a head by their names in `wanted`. What somebody added has a name of its own, also where it sounds
  /// like one of ours.
  private static func columns(_ heads: [String], _ wanted: [String]) -> [String] {
    let keys = heads.map(MarkdownRow.key)
    var places: [Int: String] = [:]
    for name in wanted {
      let isOpen = name == "signinonasecond" || name == "prfatregister" || name == "prfatendorse"
      let place = keys.firstIndex(of: name) ?? (isOpen ? keys.firstIndex { $0.hasPrefix(name) } : nil)
      if let place { places[place] = name }
    }
    var seen = Set(places.values)
    return keys.enumerated().map { index, key in
      places[index] ?? (seen.insert(key).inserted ? key : "\(index) \(key)")
    }
  }

  /// What a person wrote into the notes of a run's row, byte for byte: what stands before its mark and is none of ours,
  /// and what stands behind it.
  private static func theirs(_ cell: String, _ mark: String, ours: [String]) -> String {
    func trimmed(_ text: String) -> String { MarkdownRow.trimmed(text) }
    for note in ours where !note.isEmpty && cell.hasPrefix("\(note) \(mark)") {
      return String(cell.dropFirst(note.count + 1 + mark.count))
    }
    let parts = cell.split(separator: mark, maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    var front = trimmed(parts[0])
    let rest = parts.count > 1 ? parts[1] : ""
    // Ours again, with something of theirs before or behind it.
    if let note = ours.first(where: { !$0.isEmpty && (front.hasPrefix($0) || front.hasSuffix($0)) }) {
      front = trimmed(String(front.hasPrefix(note) ? front.dropFirst(note.count) : front.dropLast(note.count)))
    }
    return front.isEmpty ? rest : " \(front)\(rest)"
  }

  /// Writes the row of one run into one table.
  private static func put(
    _ run: Run, _ values: [String: String], _ earlier: [String], _ wanted: [String], _ what: String,
    _ lines: inout SheetLines
  ) throws(SheetError) {
    guard let table = try table(lines, wanted, what) else { return }
    let own = table.rows.filter { lines.lines[$0].text.contains(run.mark) }
    guard own.count <= 1 else { throw .twoRows(line: own[1] + 1, mark: run.mark) }
    let blank = table.rows.first { row in
      let cells = MarkdownRow.cells(lines.lines[row].text) ?? []
      return cells.enumerated().allSatisfy { index, cell in
        cell.isEmpty || index < table.columns.count && table.columns[index] == "#"
      }
    }
    let place = own.first ?? blank
    let old = place.flatMap { MarkdownRow.cells(lines.lines[$0].text) } ?? []
    var cells: [String] = []
    for (index, column) in table.columns.enumerated() {
      let before = index < old.count ? old[index] : ""
      switch column {
      case "#": cells.append(before.isEmpty ? "\(nextNumber(table, lines))" : before)
      case "notes":
        let note = MarkdownRow.escaped(values[column] ?? "")
        let ours = [note] + earlier.map(MarkdownRow.escaped)
        cells.append((note.isEmpty ? "" : note + " ") + run.mark + theirs(before, run.mark, ours: ours))
      default: cells.append(values[column].map(MarkdownRow.escaped) ?? before)
      }
    }
    // A row that was longer than the head keeps its surplus.
    cells += old.dropFirst(table.columns.count)
    let text = MarkdownRow.line(cells)
    if let place {
      let lead = lines.lines[place].text.unicodeScalars.prefix { $0 == " " || $0 == "\t" }
      lines.lines[place].text = String(String.UnicodeScalarView(lead)) + text
    } else {
      var end = lines.lines[table.last].end
      if end.isEmpty {
        end = lines.lines.first?.end ?? "\n"
        lines.lines[table.last].end = end
        lines.lines.insert(.init(text: text, end: ""), at: table.last + 1)
      } else {
        lines.lines.insert(.init(text: text, end: end), at: table.last + 1)
      }
    }
  }

  private static func nextNumber(_ table: Table, _ lines: SheetLines) -> Int {
    guard let index = table.columns.firstIndex(of: "#") else { return 1 }
    let numbers = table.rows.compactMap { row -> Int? in
      let cells = MarkdownRow.cells(lines.lines[row].text) ?? []
      return index < cells.count ? Int(cells[index]) : nil
    }
    return min(numbers.max() ?? 0, 1_000_000) + 1
  }

  /// Every mark in a line.
  static func marks(in line: String) -> [String] {
    line.split(separator: "(run ", omittingEmptySubsequences: false).dropFirst().compactMap {
      part in
      let digits = part.prefix(16)
      guard digits.count == 16, digits.allSatisfy({ $0.isHexDigit }),
        part.dropFirst(16).first == ")"
      else { return nil }
      return "(run \(digits))"
    }
  }
}

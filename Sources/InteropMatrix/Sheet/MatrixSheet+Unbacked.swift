// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

extension MatrixSheet {
  /// A row that says how a key did, and is no run's.
  public struct UnbackedRow: Sendable, Hashable {
    /// Its line in the sheet, from 1.
    public let line: Int
    /// Its number and model, or what it has of them.
    public let row: String
    /// Which table.
    public let table: String

    /// For a person.
    public var sentence: String { "Line \(line): the row \(row) in \(table) has results that no record backs." }
  }

  /// Rows with results that none of the runs' records backs. A model without results, and notes, are anybody's to write.
  /// - Throws: ``SheetError``.
  public func unbacked(by runs: [Run]) throws(SheetError) -> [UnbackedRow] {
    guard let lines = SheetLines(original) else { throw .notUTF8 }
    let known = Set(runs.map(\.mark))
    var found: [UnbackedRow] = []
    for (columns, title) in [
      (Self.matrixColumns, "the matrix"), (Self.sponsoredColumns, "the table of keys for somebody else"),
    ] {
      guard let table = try Self.table(lines, columns, title) else { continue }
      for row in table.rows where !Self.marks(in: lines.lines[row].text).contains(where: known.contains) {
        let cells = MarkdownRow.cells(lines.lines[row].text) ?? []
        guard Self.hasResults(cells, table) else { continue }
        let name = zip(table.columns, cells).filter { ["#", "keymodel", "model"].contains($0.0) && !$0.1.isEmpty }
        found.append(
          UnbackedRow(
            line: row + 1, row: name.isEmpty ? "without a name" : name.map(\.1).joined(separator: " ").printable,
            table: title))
      }
    }
    return found
  }

  /// Columns that say which key is meant, or what a person thinks of it.
  private static let plainColumns: Set<String> = ["#", "keymodel", "model", "firmware", "nfcusb", "notes"]

  /// Anything in a column that only a run fills, or one of the signs of a result in any other but the notes.
  private static func hasResults(_ cells: [String], _ table: Table) -> Bool {
    let own = Set(matrixColumns + sponsoredColumns + furtherColumns).subtracting(plainColumns)
    return cells.enumerated().contains { index, cell in
      let column = index < table.columns.count ? table.columns[index] : ""
      if own.contains(column) { return !cell.isEmpty }
      return column != "notes"
        && [Mark.works, .sometimes, .fails].contains { mark in
          cell.unicodeScalars.contains { $0 == mark.sign.unicodeScalars.first }
        }
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why a sheet cannot be used.
public enum SheetError: NamedError, Hashable {
  /// Not text in UTF-8.
  case notUTF8
  /// No table with those columns.
  case noTable(String)
  /// More than one.
  case twoTables(String)
  /// Two rows for one run.
  case twoRows(line: Int, mark: String)
  /// A row says that it is a run's, and there is no such record.
  case rowWithoutRecord(line: Int, mark: String)
  /// Two records of one mark: one would take the other's row.
  case twoRecords(mark: String, files: [String])
  /// A row without a bar in front, which GitHub shows as a row and nothing here would read.
  case rowWithoutBar(line: Int)
  /// A row has results, and no record backs it.
  case rowByHand(MatrixSheet.UnbackedRow)
  /// The sheet and the records differ, from this line on.
  case differs(line: Int)
  /// The record is of no real key.
  case simulated(file: String, signs: [SimulationSigns])
  /// The run was not finished.
  case unfinished(file: String)

  public var name: String {
    switch self {
    case .notUTF8: "sheetNotUTF8"
    case .noTable: "sheetNoTable"
    case .twoTables: "sheetTwoTables"
    case .twoRows: "sheetTwoRows"
    case .rowWithoutRecord: "sheetRowWithoutRecord"
    case .twoRecords: "twoRecords"
    case .rowWithoutBar: "sheetRowWithoutBar"
    case .rowByHand: "sheetRowNotMeasured"
    case .differs: "sheetDiffers"
    case .simulated: "simulatedRecord"
    case .unfinished: "unfinishedRecord"
    }
  }

  public var message: String {
    switch self {
    case .notUTF8: "The sheet is not text in UTF-8."
    case .noTable(let what): "The sheet has no table of \(what) with the columns that it must have."
    case .twoTables(let what): "The sheet has more than one table of \(what)."
    case .twoRows(let line, let mark):
      "Line \(line) of the sheet is a second row for one run \(mark)."
    case .rowWithoutRecord(let line, let mark):
      "Line \(line) of the sheet is for a run whose record is not there \(mark)."
    case .twoRecords(let mark, let files): "Two records are of one run \(mark): \(files.joined(separator: ", "))."
    case .rowWithoutBar(let line): "Line \(line) of the sheet is a table's row without a bar in front."
    case .rowByHand(let row): row.sentence
    case .differs(let line): "The sheet does not say what the records say, from line \(line) on."
    case .simulated(let file, let signs):
      "\(file) was not made with a real key: \(signs.map(\.sentence).joined(separator: "; "))."
    case .unfinished(let file): "\(file) is a run that was not finished."
    }
  }

  public var next: String {
    switch self {
    case .notUTF8, .noTable:
      "Give Seal's sheet or docs/SECURITY_KEY_TEST_MATRIX.md; the columns may be in any order."
    case .twoTables, .twoRows: "Remove one of the two."
    case .rowWithoutRecord: "Put the record back into matrix/runs, or remove the row."
    case .twoRecords: "Keep the one that the key was run for, unchanged; each run has a mark of its own."
    case .rowWithoutBar: "Put a bar in front of it, or a blank line between it and the table."
    case .rowByHand: "Take its results out; a run of the key writes them: sealkey matrix run, then sealkey matrix fill"
    case .differs: "Write it anew: sealkey matrix fill"
    case .simulated: "Practice runs stay in matrix/practice; only real keys are measured."
    case .unfinished: "Finish it: sealkey matrix run, with the same key."
    }
  }

  public var kind: FaultKind {
    switch self {
    case .simulated, .unfinished: .refused
    default: .bad
    }
  }
}

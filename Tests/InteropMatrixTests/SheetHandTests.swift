// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import InteropMatrix

/// What people write into a sheet stays theirs, and what only looks like a table is none.
@Suite("Matrix sheets and people") struct SheetHandTests {
  private func filled(_ text: String, _ runs: [MatrixSheet.Run]) throws -> String {
    String(decoding: try MatrixSheet(Array(text.utf8)).filled(with: runs), as: UTF8.self)
  }

  private func run(_ file: String = "a.json") throws -> MatrixSheet.Run {
    .init(file: file, record: try MadeRun.record())
  }

  @Test("notes in front of a run's mark are kept behind it, byte for byte, once and for all")
  func notes() throws {
    let one = try run()
    let first = try filled(SheetTests.seal, [one])
    for (written, kept) in [
      ("mine \\| bar", " mine \\| bar"), ("mine", " mine behind"), ("a  b", " a  b \(one.mark) again"),
    ] {
      let behind = String(kept.dropFirst(written.count + 1))
      let text = first.replacing("| \(one.mark) |", with: "| \(written) \(one.mark)\(behind) |")
      #expect(text != first)
      let again = try filled(text, [one])
      #expect(again == first.replacing("\(one.mark) |", with: "\(one.mark)\(kept) |"), "\(written)")
      #expect(try filled(again, [one]) == again)
    }
  }

  @Test("a note of this program's own in front stays, and what a person put around it is kept")
  func ownNotes() throws {
    let record = try MadeRun.record { $0.counters = [5, 5, 5] }
    let one = MatrixSheet.Run(file: "a.json", record: record)
    let note = MarkdownRow.escaped(record.cells.sheet[9])
    #expect(note.contains("signCountNotIncreased"))
    let first = try filled(SheetTests.seal, [one])
    #expect(first.contains("| \(note) \(one.mark) |"))
    #expect(try filled(first, [one]) == first)
    for text in ["mine \(note)", "\(note) mine"] {
      let again = try filled(first.replacing("\(note) \(one.mark)", with: "\(text) \(one.mark)"), [one])
      #expect(again == first.replacing("\(one.mark) |", with: "\(one.mark) mine |", maxReplacements: 1))
    }
  }

  @Test("a column that somebody added is theirs, whatever it is called")
  func columns() throws {
    let one = try run()
    let text = """
      | # | Key model | Key model notes | Firmware | Firmware date (from the box) | PIN set? | NFC/USB | Register: result | Register: result (retest) | Register: alg / crv / xLen / yLen | Sign-in: result | Friend tap: result | verify line seen | Notes | Notes |
      |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
      | 1 | | | | | | | | | | | | | | |

      | Model | PRF at register (x) | PRF at register, again | PRF at endorse | Sign-in on a second iPhone unlocks | Sign-in on a second try | Notes |
      |---|---|---|---|---|---|---|---|
      """
    let lines = try filled(text, [one]).split(separator: "\n").map { MarkdownRow.cells(String($0)) ?? [] }
    let row = lines[2]
    #expect([1, 3, 5].map { row[$0] } == ["Maker Key 5", "7", "yes"])
    #expect([2, 4, 8, 14].allSatisfy { row[$0].isEmpty } && row[13] == one.mark)
    let sponsored = try #require(lines.last)
    #expect([1, 3, 4].map { sponsored[$0] } == ["– not run", "– not run", "– not run"])
    #expect(sponsored[2].isEmpty && sponsored[5].isEmpty)
  }

  @Test("a row without a bar in front is named; what begins something else ends the table")
  func withoutBar() throws {
    for row in ["2 | YubiKey | ✅ | | | | | | | | |", "YubiKey"] {
      let text = SheetTests.seal.replacing("\n\nResult =", with: "\n\(row)\n\nResult =")
      #expect(throws: SheetError.rowWithoutBar(line: 9)) { try MatrixSheet(Array(text.utf8)) }
    }
    for row in ["## Head", "> said", "```\n| 1 |\n```", "<p>", "- item", "---"] {
      let text = SheetTests.seal.replacing("\n\nResult =", with: "\n\(row)\n\nResult =")
      try MatrixSheet(Array(text.utf8)).check(against: [])
    }
  }

  @Test("two records of one mark: neither takes the other's row")
  func twoRecords() throws {
    let one = try run()
    var other = try run("b.json").record
    other.nonce = Array(one.record.nonce.prefix(8)) + other.nonce.dropFirst(8)
    let both = [MatrixSheet.Run(file: "b.json", record: other), one]
    let sheet = try MatrixSheet(Array(SheetTests.seal.utf8))
    let error = SheetError.twoRecords(mark: one.mark, files: ["a.json", "b.json"])
    #expect(throws: error) { try sheet.filled(with: both) }
    #expect(throws: error) { try sheet.check(against: both) }
  }

  @Test("a table between fences or in a comment is none; a row keeps its indentation")
  func hidden() throws {
    let one = try run()
    let table = SheetTests.seal
    for (open, close) in [("```", "```"), ("~~~~ md", "~~~~~"), ("<!--", "-->"), ("<!-- old", "end -->")] {
      let text = "\(open)\n\(table)\n\(close)\n"
      #expect(throws: SheetError.noTable("the matrix")) { try MatrixSheet(Array(text.utf8)) }
      let shown = try filled(text + table, [one])
      #expect(shown.hasPrefix(text) && shown.contains(one.mark))
    }
    let indented = table.replacing("| 1 |  ", with: "  | 1 |  ")
    #expect(try filled(indented, [one]).contains("\n  | 1 | Maker Key 5 |"))
  }
}

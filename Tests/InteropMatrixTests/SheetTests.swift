// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

@testable import InteropMatrix

/// Sheets are filled in place: every byte that is not a run's row stays.
@Suite("Matrix sheets") struct SheetTests {
  /// Seal's own blank sheet in shape: its columns, its rows, text around them.
  static let seal = """
    # Security-Key Interop Test Matrix

    Some prose with a | bar, and é.

    | # | Key model | Firmware | PIN set? | NFC/USB | Register: result | Register: alg / crv / xLen / yLen | Sign-in: result | Friend tap: result | verify line seen | Notes |
    |---|-----------|----------|----------|---------|------------------|-----------------------------------|-----------------|--------------------|------------------|-------|
    | 1 |           |          |          |         |                  |                                   |                 |                    |                  |       |
    | 2 |           |          |          |         |                  |                                   |                 |                    |                  |       |

    Result = ✅ works / ⚠️ works sometimes / ❌ fails.

    | Model | PRF at register (`checkForSupport`) | PRF at endorse (`inputValues`) | Sign-in on a second iPhone unlocks | Notes |
    |---|---|---|---|---|
    | YubiKey 5 NFC (5.4+) | | | | expected to work |

    The end.

    """

  private func run(_ file: String = "a.json", _ change: (inout MadeRun.Answers) -> Void = { _ in })
    throws -> MatrixSheet.Run
  {
    .init(file: file, record: try MadeRun.record(change))
  }

  private func lines(_ bytes: [UInt8]) -> [String] {
    String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
  }

  @Test("Seal's blank sheet: blank rows first, then more rows; every other line as it was")
  func fills() throws {
    let runs = try (0..<3).map { n in try run("\(n).json") { $0.startedAt += Int64(n) } }
    let filled = try MatrixSheet(Array(Self.seal.utf8)).filled(with: runs.reversed())
    let before = lines(Array(Self.seal.utf8))
    let after = lines(filled)
    #expect(after.count == before.count + 1 + 3)
    #expect(after[..<6] == before[..<6])
    #expect(
      after[6].hasPrefix(
        "| 1 | Maker Key 5 | 7 | yes | USB | ✅ | ES256(P-256) / P-256 / 32 / 32 | ✅ | ✅ | "))
    // Bars in a line are not columns.
    #expect(after[6].contains("| verify: OK (flags=UP\\|UV) |"))
    #expect(
      after[6].contains(runs[0].mark) && after[7].contains(runs[1].mark)
        && after[8].contains(runs[2].mark))
    #expect(after[8].hasPrefix("| 3 | Maker Key 5"))
    #expect(Array(after[9...14]) == Array(before[8...13]))
    #expect(after[14] == "| YubiKey 5 NFC (5.4+) | | | | expected to work |")
    #expect(after[15].hasPrefix("| Maker Key 5 | – not run | – not run | – not run |"))
    #expect(after.suffix(3) == before.suffix(3))
    try MatrixSheet(filled).check(against: runs)
    #expect(throws: SheetError.differs(line: 7)) {
      try MatrixSheet(Array(Self.seal.utf8)).check(against: runs)
    }
    #expect(throws: SheetError.rowWithoutRecord(line: 7, mark: runs[0].mark)) {
      try MatrixSheet(filled).check(against: Array(runs.dropFirst()))
    }
  }

  @Test("filled, edited by hand, filled again: what a person wrote stays")
  func edited() throws {
    let first = try run()
    let filled = try MatrixSheet(Array(Self.seal.utf8)).filled(with: [first])
    var text = String(decoding: filled, as: UTF8.self)
    text = text.replacing(first.mark + " |", with: first.mark + " seen at the fair, blue key |")
    text = text.replacing("Some prose", with: "Some other prose")
    let again = try MatrixSheet(Array(text.utf8)).filled(with: [first])
    #expect(again == Array(text.utf8))
    try MatrixSheet(Array(text.utf8)).check(against: [first])
    // A changed cell of a run's row is brought back, and nothing else.
    let wrong = text.replacing("| 7 | yes |", with: "| 8 | no |")
    #expect(try MatrixSheet(Array(wrong.utf8)).filled(with: [first]) == Array(text.utf8))
    #expect(throws: SheetError.self) { try MatrixSheet(Array(wrong.utf8)).check(against: [first]) }
    // A row that a person wrote is theirs.
    let own = text.replacing("| 2 |           |", with: "| 2 | My own key |")
    #expect(try MatrixSheet(Array(own.utf8)).filled(with: [first]) == Array(own.utf8))
  }

  static let blankRow =
    "| 1 |           |          |          |         |                  |                                   |                 |                    |                  |       |"

  @Test(
    "results that somebody typed are no measurement: named by check, kept by fill byte for byte",
    arguments: [
      (blankRow, "| 1 | YubiKey 5 NFC | 5.4.3 | yes | USB | ✅ | ES256 | ✅ | ✅ | OK | |", "1 YubiKey 5 NFC"),
      (blankRow, "| 1 | YubiKey 5 NFC | | | | | | | | verify: OK | |", "1 YubiKey 5 NFC"),
      (blankRow, "| 1 | | | | | works |", "1"), (blankRow, "| | | | yes | | | | | | | |", "without a name"),
      (blankRow, "| 1 | Blue ✅ | | | | | | | | | |", "1 Blue ✅"),
      (blankRow, "| 1 | | | | | | | | | | | ⚠️ |", "1"),
      (
        "| YubiKey 5 NFC (5.4+) | | | | expected to work |", "| YubiKey 5 NFC | ✅ | | | expected |", "YubiKey 5 NFC"
      ),
      ("| YubiKey 5 NFC (5.4+) | | | | expected to work |", "| | | | ❌ | |", "without a name"),
    ])
  func typedByHand(row: String, typed: String, name: String) throws {
    #expect(Self.seal.contains(row))
    let text = Self.seal.replacing(row, with: typed)
    let sheet = try MatrixSheet(Array(text.utf8))
    let line = try #require(lines(Array(text.utf8)).firstIndex(of: typed)) + 1
    let table = row == Self.blankRow ? "the matrix" : "the table of keys for somebody else"
    let wanted = MatrixSheet.UnbackedRow(line: line, row: name, table: table)
    #expect(throws: SheetError.rowByHand(wanted)) { try sheet.check(against: []) }
    #expect(wanted.sentence.contains("row \(name) in \(table)"))
    #expect(try sheet.filled(with: []) == Array(text.utf8))
    let one = try run()
    let filled = try MatrixSheet(try sheet.filled(with: [one]))
    #expect(lines(filled.original).contains(typed))
    #expect(try filled.unbacked(by: [one]) == [wanted])
  }

  @Test(
    "a model without results, notes and prose are anybody's to write",
    arguments: [
      "| 1 | YubiKey 5 NFC | 5.4.3 | | NFC | | | | | | said to work ✅ |", "| 1 | | | | | | | | | | blue |", "| 1 |",
      "| 1 | | | | | | | | | | |\n\n✅ YubiKey 5 works, says Ada.\n\n| a | b |\n|---|---|\n| ✅ | x |",
    ])
  func notesByHand(typed: String) throws {
    let text = Self.seal.replacing(Self.blankRow, with: typed)
    try MatrixSheet(Array(text.utf8)).check(against: [])
  }

  @Test("CRLF, columns moved and added, no end of line at the end")
  func shapes() throws {
    let one = try run()
    let crlf = Array(Self.seal.replacing("\n", with: "\r\n").utf8)
    let filled = try MatrixSheet(crlf).filled(with: [one])
    let lone = zip(filled, filled.dropFirst()).contains { $0 != 0x0d && $1 == 0x0a }
    #expect(!lone)
    #expect(String(decoding: filled, as: UTF8.self).contains(one.mark))

    let moved = """
      | Notes | # | Key model | Colour | Firmware | PIN set? | NFC/USB | Register: result | Register: alg / crv / xLen / yLen | Sign-in: result | Friend tap: result | verify line seen |
      |---|---|---|---|---|---|---|---|---|---|---|---|
      | | 4 | | | | | | | | | | |

      | Model | PRF at register | PRF at endorse | Sign-in on a second phone unlocks | Notes |
      |---|---|---|---|---|
      """
    let text = lines(try MatrixSheet(Array(moved.utf8)).filled(with: [one]))
    #expect(text[2].hasPrefix("| \(one.mark) | 4 | Maker Key 5 |  | 7 | yes |"))
    #expect(text.last?.hasPrefix("| Maker Key 5 |") == true)
  }

  @Test("sheets that are none")
  func none() throws {
    #expect(throws: SheetError.noTable("the matrix")) { try MatrixSheet(Array("no table".utf8)) }
    #expect(throws: SheetError.twoTables("the matrix")) {
      try MatrixSheet(Array((Self.seal + Self.seal).utf8))
    }
    #expect(throws: SheetError.notUTF8) { try MatrixSheet([0xff, 0xfe]) }
    #expect(throws: SheetError.noTable("the sponsored key")) {
      try MatrixSheet(Array(Self.seal.replacing("PRF at endorse", with: "PRF later").utf8))
    }
  }

  @Test("a record of no real key is refused, whatever its flag says")
  func simulated() async throws {
    let sheet = try MatrixSheet(Array(Self.seal.utf8))
    let practice = try await MatrixBench().run()
    func refusal(_ record: RunRecord) -> [SimulationSigns]? {
      do {
        _ = try sheet.filled(with: [.init(file: "copied.json", record: record)])
        return nil
      } catch {
        guard case .simulated(_, let signs) = error else { return nil }
        return signs
      }
    }
    #expect(refusal(practice)?.contains(.flag) == true)
    var edited = practice
    edited.isSimulated = false
    edited.key.transport = "hidraw"
    edited.key.name = "Maker Key 5"
    edited.key.place = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/x"
    // AAGUID and root are in the signed bytes.
    #expect(refusal(edited) == [.aaguid, .attestationRoot])
    for (place, transport, sign) in [
      ("/sys/devices/virtual/misc/uhid/0003:1050:0407.0001", "hidraw", SimulationSigns.node),
      ("/sys/devices/platform/dummy_hcd.0/usb9/9-1/9-1:1.0", "hidraw", .node),
      ("/sys/devices/platform/vhci_hcd.0/usb3/3-1", "hidraw", .node),
      ("Virtual PCD 00 00", "pcsc", .reader),
      ("", "udp", .transport),
    ] {
      let record = try MadeRun.record {
        $0.place = place
        $0.transport = transport
      }
      #expect(refusal(record) == [sign], "\(place)")
    }
    #expect(refusal(try MadeRun.record()) == nil)
    var unfinished = try MadeRun.record()
    unfinished.finishedAt = nil
    #expect(throws: SheetError.unfinished(file: "u")) {
      try sheet.filled(with: [.init(file: "u", record: unfinished)])
    }
  }

  @Test(
    "the page: self-contained, marked where it is practice, and text from a record is no markup")
  func page() async throws {
    let evil = try run("evil.json") { $0.name = "<script>alert(1)</script> & | key" }
    let practice = MatrixSheet.Run(file: "practice.json", record: try await MatrixBench().run())
    let html = MatrixPage.html([evil, practice])
    #expect(!html.contains("<script") && html.contains("&lt;script&gt;"))
    #expect(!html.contains("http:") && !html.contains("https:") && !html.contains("src="))
    #expect(html.contains("<strong class=\"practice\">simulated</strong>"))
    #expect(MatrixPage.html([]).contains("No real key has been measured yet."))
    let text = String(
      decoding: try MatrixSheet(Array(Self.seal.utf8)).filled(with: [evil]), as: UTF8.self)
    #expect(text.contains("&lt;script>alert(1)&lt;/script> & \\| key"))
  }

  @Test("two runs side by side")
  func differences() throws {
    let a = try MadeRun.record()
    let b = try MadeRun.record {
      $0.options["clientPin"] = false
      $0.assertionFlags = 0x01
      $0.registrationFlags = 0x41
    }
    #expect(RunDifference(a, a).lines.isEmpty)
    let lines = RunDifference(a, b).lines
    #expect(lines.contains("option clientPin: true -> false"))
    #expect(lines.contains("sign in: log line: verify: OK (flags=UP|UV) -> verify: OK (flags=UP)"))
  }
}

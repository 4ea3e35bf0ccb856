// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// The matrix from the command line, on the virtual key.
@Suite("matrix command", .programs) struct MatrixCommandTests {
  @Test("a practice run: kept apart, verified, refused by the sheet under any name")
  func practice() throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.path
    let run = try Sealkey.run(
      [
        "matrix", "run", "--key", "virtual", "--data-dir", folder, "--practice", "\(folder)/practice", "--runs",
        "\(folder)/runs",
      ])
    #expect(run.code == 0 && run.json["simulated"]?.bool == true)
    let file = try #require(run.json["file"]?.string)
    #expect(file.hasPrefix("\(folder)/practice/"))
    #expect(try !Sealkey.exists("\(folder)/runs"))
    #expect(run.json["steps"]?.array?.count == 11)
    #expect(run.err.contains("register: fmt=packed ES256(P-256) P-256 flags=UP|AT credIdLen="))

    let verified = try Sealkey.run(["matrix", "verify", file])
    #expect(verified.code == 0 && verified.json["ok"]?.bool == true)
    let same = try Sealkey.run(["matrix", "diff", file, file])
    #expect(same.code == 0)

    _ = try Program.run("mkdir", ["\(folder)/runs"])
    _ = try Program.run("cp", [file, "\(folder)/runs/real-key.json"])
    let sheet = "\(folder)/sheet.md"
    try Sealkey.put(
      """
      | # | Key model | Firmware | PIN set? | NFC/USB | Register: result | Register: alg / crv / xLen / yLen | Sign-in: result | Friend tap: result | verify line seen | Notes |
      |---|---|---|---|---|---|---|---|---|---|---|
      | 1 | | | | | | | | | | |

      | Model | PRF at register | PRF at endorse | Sign-in on a second iPhone unlocks | Notes |
      |---|---|---|---|---|

      """, sheet)
    let before = try Sealkey.text(sheet)
    for word in ["fill", "check"] {
      let refused = try Sealkey.run(["matrix", word, sheet, "--runs", "\(folder)/runs"])
      #expect(refused.code == 6 && refused.error == "simulatedRecord", "\(word)")
    }
    try Sealkey.put(
      try Sealkey.text(file).replacing("\"simulated\" : true", with: "\"simulated\" : false"),
      "\(folder)/runs/real-key.json")
    #expect(
      try Sealkey.run(["matrix", "fill", sheet, "--runs", "\(folder)/runs"]).error == "evidenceDigestDoesNotMatch")
    #expect(try Sealkey.text(sheet) == before)
    let page = try Sealkey.run(
      [
        "matrix", "report", "--practice", "\(folder)/practice", "--runs", "\(folder)/none", "--out",
        "\(folder)/page.html",
      ])
    #expect(page.code == 0 && page.json["runs"]?.int == 1)
    #expect(try Sealkey.text("\(folder)/page.html").contains("simulated"))
  }

  @Test("what cannot be done is said before the first touch, and nothing is written")
  func refusedFirst() throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.path
    let common = [
      "matrix", "run", "--key", "virtual", "--data-dir", folder, "--practice", "\(folder)/practice", "--runs",
      "\(folder)/runs", "--json",
    ]
    // No service answers at this name.
    let also = try Program.run(
      "env", ["PCSCLITE_CSOCK_NAME=\(folder)/none", Program.sealkey] + common + ["--also", "nfc"])
    #expect(also.code == 3, "\(also.out)")
    #expect(also.out.contains("pcscdAbsent") || also.out.contains("pcscLibraryAbsent"), "\(also.out)")
    let finish = try Program.run(Program.sealkey, common + ["--finish"])
    #expect(finish.code == 6 && finish.out.contains("\"nothingBegun\""), "\(finish.out)")
    for run in [also, finish] { #expect(!run.err.contains("register") && !run.err.contains("has stopped")) }
    #expect(try !Sealkey.exists("\(folder)/practice"))
    #expect(try !Sealkey.exists("\(folder)/runs"))
  }

  @Test("the button of the virtual key is pressed as --virtual-touch says")
  func virtualTouch() throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.path
    let run = try Sealkey.run(
      [
        "matrix", "run", "--key", "virtual", "--data-dir", folder, "--practice", folder, "--virtual-touch", "3000",
        "--timeout", "1",
      ])
    // A touch that was late says nothing about the key.
    #expect(run.code == 5 && run.error == "timedOut", "\(run.json)")
    #expect(run.err.contains("It asks once more") && !run.err.contains("❌"), "\(run.err)")
    #expect(!run.err.contains("has stopped"), "nothing was begun")
  }

  @Test("a key says ten times a second that it waits; the person is told once for each touch")
  func oneCallForATouch() throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.path
    let run = try Program.run(
      Program.sealkey,
      [
        "matrix", "run", "--key", "virtual", "--data-dir", folder, "--practice", folder, "--virtual-touch", "400",
      ])
    #expect(run.code == 0, "\(run.err)")
    var calls = 0
    var all = 0
    var isLast = false
    for line in run.err.split(separator: "\n") {
      calls = line.hasPrefix("  Touch the key now") ? calls + 1 : 0
      #expect(calls == 0 || !isLast, "called in the step that is cancelled")
      if line.hasPrefix("11 of 11: cancel during a touch") { isLast = true }
      all += min(calls, 1)
      #expect(calls < 2, "called twice in a row")
    }
    #expect(all >= 8 && isLast, "\(run.err)")
    #expect(run.err.contains("11 of 11: cancel during a touch\n  Do not touch the key in this step"), "\(run.err)")
  }

  @Test("outside a checkout: which file is wanted, and how it is named", arguments: ["fill", "check", "report"])
  func outside(word: String) throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.path
    func run(_ rest: String) throws -> Program.Result {
      try Program.run("sh", ["-c", "cd '\(folder)' && '\(Program.sealkey)' matrix \(word) \(rest)"])
    }
    if word == "report" {
      let none = try run("--out page.html")
      #expect(none.code == 7 && none.err.contains("no matrix/runs or matrix/practice"), "\(none.err)")
      #expect(none.err.contains("--runs or --practice") && none.err.contains("[runsNotFound]"))
      #expect(try !Sealkey.exists("\(folder)/page.html"))
      return
    }
    let none = try run("")
    #expect(none.code == 7 && none.err.contains("[sheetNotFound]"), "\(none.err)")
    #expect(none.err.contains("no file docs/SECURITY_KEY_TEST_MATRIX.md"))
    #expect(none.err.contains("sealkey matrix \(word) FILE --runs DIR"))
    // A sheet by itself is not filled with nothing.
    try Sealkey.put("| # |\n", "\(folder)/sheet.md")
    for (rest, missing) in [("sheet.md", "matrix/runs"), ("sheet.md --runs none", "none")] {
      let noRuns = try run(rest)
      #expect(noRuns.code == 7 && noRuns.err.contains("there is no \(missing)"), "\(noRuns.err)")
      #expect(noRuns.err.contains("--runs") && noRuns.err.contains("[runsNotFound]"))
    }
    #expect(try Sealkey.text("\(folder)/sheet.md") == "| # |\n")
  }

  @Test(
    "used wrongly",
    arguments: [
      ["matrix"], ["matrix", "run", "x"], ["matrix", "dance"], ["matrix", "run", "--repeat", "0"],
      ["matrix", "verify"],
      ["matrix", "diff", "a"], ["matrix", "atlas"], ["matrix", "run", "--also", "usb"],
      ["matrix", "run", "--also", "nfc", "--key", "nfc"],
    ])
  func wrong(arguments: [String]) throws { #expect(try Sealkey.run(arguments).code == 2) }
}

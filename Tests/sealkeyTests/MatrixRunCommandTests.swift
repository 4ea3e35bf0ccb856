// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import InteropMatrix
import TestSupport
import Testing
import WebAuthnCore

/// What a run says of itself on the command line: when it stops, when it goes on, and with which files.
@Suite("matrix run, stopped and gone on with", .programs) struct MatrixRunCommandTests {
  private let temporary: TemporaryFolder
  private var folder: String { temporary.path }
  private let hint = "goes on where it was"

  init() throws { temporary = try TemporaryFolder() }

  private func arguments(_ owner: String) -> [String] {
    [
      "matrix", "run", "--key", "virtual", "--data-dir", "\(folder)/\(owner)", "--practice", "\(folder)/practice",
      "--runs", "\(folder)/runs",
    ]
  }

  /// Begins a run and presses Ctrl-C in its third step.
  private func interrupt(_ owner: String) throws -> Program.Result {
    let script = """
      "$@" 2>'\(folder)/err' >'\(folder)/out' & run=$!
      while ! grep -q '^3 of 11' '\(folder)/err' && kill -0 $run; do sleep 0.05; done
      kill -INT $run; wait $run; code=$?; cat '\(folder)/err' >&2; exit $code
      """
    return try Program.run(
      "bash", ["-c", "set -m\n" + script, "bash", Program.sealkey] + arguments(owner) + ["--virtual-touch", "1500"])
  }

  @Test("two keys of one model, and garbage: nothing begun is lost, and each word is true")
  func goesOn() throws {
    let stopped = try interrupt("ada")
    #expect(stopped.code == 130 && stopped.err.contains(hint), "\(stopped.err)")
    let ls = "ls -A '\(folder)/practice' | grep '^.unfinished.*json$' | head -1"
    let begun = try Program.run("sh", ["-c", ls]).out.split(separator: "\n").first.map(String.init)
    let file = "\(folder)/practice/\(try #require(begun))"
    let garbage = "\(folder)/practice/.unfinished-virtual_key__virtual_-virtual.json"
    try Sealkey.put("garbage", garbage)

    let other = try Sealkey.run(arguments("bob"))
    #expect(other.code == 0 && other.err.contains("1 of 11: register"), "\(other.err)")
    #expect(other.err.contains("Another run that was begun stays as it is: \(file)"), "\(other.err)")
    #expect(other.err.contains("It is kept as \(garbage).damaged."), "\(other.err)")
    #expect(try Sealkey.text("\(garbage).damaged") == "garbage")

    let own = try Sealkey.run(arguments("ada") + ["--tester", "Ada"])
    #expect(own.code == 0 && !own.err.contains("\n1 of 11"), "\(own.err)")
    #expect(own.err.contains("Going on with the run that was begun: 2 steps are done."), "\(own.err)")
    #expect(own.err.contains("it takes Ada."), "\(own.err)")
    #expect(try !Sealkey.exists(file))
  }

  @Test("where nothing was begun, nobody is told to go on")
  func nothingBegun() throws {
    let data = ["--key", "virtual", "--data-dir", "\(folder)/ada"]
    #expect(try Sealkey.run(["pin", "set"] + data, pin: "2468").code == 0)
    for pin in ["1357", ""] {
      let wrong = try Sealkey.run(arguments("ada"), pin: pin)
      #expect(wrong.code == 4, "\(wrong.json)")
      #expect(!wrong.err.contains(hint), "\(wrong.err)")
    }
    let always = try Sealkey.run(
      arguments("ada").map { $0 == "virtual" ? "virtual:always-uv" : $0 })
    #expect(always.error == "uvNotConfigured" && !always.err.contains("1 of 11"), "\(always.err)")
    #expect(try !Sealkey.exists("\(folder)/practice") || Program.run("ls", ["\(folder)/practice"]).out.isEmpty)
  }

  @Test("one damaged record does not keep the others from the page")
  func damagedRecord() throws {
    #expect(try Sealkey.run(arguments("ada")).code == 0)
    try Sealkey.put("garbage", "\(folder)/practice/bad.json")
    let page = try Sealkey.run(
      [
        "matrix", "report", "--practice", "\(folder)/practice", "--runs", "\(folder)/none", "--out",
        "\(folder)/page.html",
      ])
    #expect(page.code == 1 && page.json["runs"]?.int == 1, "\(page.json)")
    let left = page.json["leftOut"]?.array ?? []
    #expect(left.map { $0["file"]?.string } == ["\(folder)/practice/bad.json"])
    #expect(page.err.contains("Left out") && page.err.contains("bad.json"))
    #expect(try Sealkey.text("\(folder)/page.html").contains("simulated"))
  }

  @Test("results that somebody typed: fill says them, check fails")
  func typedByHand() throws {
    let sheet = "\(folder)/sheet.md"
    let text = """
      | # | Key model | Firmware | PIN set? | NFC/USB | Register: result | Register: alg / crv / xLen / yLen | Sign-in: result | Friend tap: result | verify line seen | Notes |
      |---|---|---|---|---|---|---|---|---|---|---|
      | 1 | YubiKey 5 NFC | 5.4.3 | | | ✅ | | | | | |

      | Model | PRF at register | PRF at endorse | Sign-in on a second iPhone unlocks | Notes |
      |---|---|---|---|---|

      """
    try Sealkey.put(text, sheet)
    _ = try Program.run("mkdir", ["\(folder)/runs"])
    let fill = try Sealkey.run(["matrix", "fill", sheet, "--runs", "\(folder)/runs"])
    #expect(fill.code == 0 && fill.err.contains("the row 1 YubiKey 5 NFC in the matrix has results"), "\(fill.err)")
    #expect(try Sealkey.text(sheet) == text)
    let check = try Sealkey.run(["matrix", "check", sheet, "--runs", "\(folder)/runs"])
    #expect(check.code == 1 && check.error == "sheetRowNotMeasured", "\(check.json)")
  }

  @Test("a sheet is filled where it is: unchanged it is not written, and a link and its permissions stay")
  func inPlace() throws {
    let sheet = "\(folder)/sheet.md"
    let text = """
      | # | Key model | Firmware | PIN set? | NFC/USB | Register: result | Register: alg / crv / xLen / yLen | Sign-in: result | Friend tap: result | verify line seen | Notes |
      |---|---|---|---|---|---|---|---|---|---|---|

      | Model | PRF at register | PRF at endorse | Sign-in on a second iPhone unlocks | Notes |
      |---|---|---|---|---|

      """
    try Sealkey.put(text, sheet)
    _ = try Program.run("sh", ["-c", "cd '\(folder)' && mkdir runs && chmod 664 sheet.md && ln -s sheet.md link.md"])
    func state() throws -> String {
      try Program.run("sh", ["-c", "cd '\(folder)' && stat -c '%a %i' sheet.md && stat -c %F link.md"]).out
    }
    let before = try state()
    #expect(before.hasPrefix("664 ") && before.hasSuffix("symbolic link\n"))
    let fill = try Sealkey.run(["matrix", "fill", "\(folder)/link.md", "--runs", "\(folder)/runs"])
    #expect(fill.code == 0, "\(fill.err)")
    #expect(try state() == before)
  }

  @Test("metadata whose time is over is refused, and a decoded payload vouches for nothing")
  func metadata() throws {
    let file = try #require(try Sealkey.run(arguments("ada")).json["file"]?.string)
    func verify(_ day: String, _ rest: [String] = []) throws -> Sealkey.Run {
      try Sealkey.put("{\"no\":1,\"nextUpdate\":\"\(day)\",\"entries\":[]}", "\(folder)/payload.json")
      return try Sealkey.run(["matrix", "verify", file, "--metadata", "\(folder)/payload.json"] + rest)
    }
    #expect(try verify("2020-01-01").error == "metadataExpired")
    for run in [try verify("2020-01-01", ["--expired-ok"]), try verify("2099-01-01")] {
      let checks = run.json["records"]?.array?.first?["checks"]?.array ?? []
      let warnings = checks.filter { $0["outcome"]?.string == "warning" }.map { $0["name"]?.string }
      #expect(run.code == 0 && warnings == ["metadataUnsigned", "modelNotInMetadata"])
    }
  }

  @Test("a record that verify does not call good is not filled in")
  func notGood() throws {
    let file = try #require(try Sealkey.run(arguments("ada")).json["file"]?.string)
    var record = try RunRecord(parsing: Array(try Sealkey.text(file).utf8))
    record.steps.removeAll { $0.step == .cancel }
    _ = try Program.run("mkdir", ["\(folder)/runs"])
    try Sealkey.put(String(decoding: record.encoded(), as: UTF8.self), "\(folder)/runs/a.json")
    try Sealkey.put("| # |\n", "\(folder)/sheet.md")
    for word in ["fill", "check"] {
      let refused = try Sealkey.run(["matrix", word, "\(folder)/sheet.md", "--runs", "\(folder)/runs"])
      #expect(refused.error == "stepsMissing", "\(word)")
    }
    #expect(try Sealkey.text("\(folder)/sheet.md") == "| # |\n")
  }

  @Test("a key is called what the tester calls it")
  func model() throws {
    let run = try Sealkey.run(arguments("ada") + ["--model", "My Key 5"])
    #expect(run.code == 0 && run.json["model"]?.string == "My Key 5", "\(run.err)")
    #expect(run.json["file"]?.string?.contains("/my_key_5-") == true)
  }

  @Test("the words that a person meets first name what to type")
  func whatToType() throws {
    let atlas = try Program.run(Program.sealkey, ["matrix", "atlas", "--out", "\(folder)/atlas.md"])
    #expect(atlas.code == 2 && atlas.err.contains("https://mds3.fidoalliance.org/"), "\(atlas.err)")
    let diff = try Program.run(Program.sealkey, ["matrix", "diff", "one"])
    #expect(diff.err.contains("Missing here: two records' files."), "\(diff.err)")
  }
}

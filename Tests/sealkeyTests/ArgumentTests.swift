// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

@Suite("arguments and names", .programs) struct ArgumentTests {
  /// Runs shell words after the program; `$bad` is a name with a byte that no UTF-8 has.
  private func run(_ words: String, in folder: String, environment: String = "") throws -> Program.Result {
    try Program.run(
      "sh",
      [
        "-c",
        """
        cd '\(folder)' && bad=$(printf 'ad\\377a.json') && \(environment) '\(Program.sealkey)' \(words)
        """,
      ])
  }

  @Test(
    "an argument that is not UTF-8 is refused with its place, wherever it stands, and nothing is written",
    arguments: [
      (#"register --name Ada --key virtual --data-dir data --out "$bad""#, 9),
      (#"register --name Ada --key virtual --data-dir data --out="$bad" --json"#, 8),
      (#"register --name "$bad" --key virtual --data-dir data"#, 3), (#"verify "$bad""#, 2), (#""$bad""#, 1),
      (#"--data-dir "$bad" register --name Ada --key virtual"#, 2), (#"inspect -- "$bad""#, 3),
      (#"inspect --json -- "$bad""#, 4), (#"--"$bad" list"#, 1),
    ])
  func argument(words: String, position: Int) throws {
    let folder = try TemporaryFolder()
    let result = try run(words, in: folder.path)
    #expect(result.code == 2, "\(words): \(result.err)")
    let said = words.contains("--json") ? result.out : result.err
    #expect(said.contains("argumentNotUTF8"), "\(said)")
    let text = said.replacing("\n", with: " ")
    #expect(text.contains("Argument \(position) is not valid UTF-8") && text.contains("FFa.json"), "\(said)")
    #expect(try Program.run("ls", ["-A", folder.path]).out.isEmpty)
  }

  @Test("a shell that completes a line is told nothing")
  func completion() throws {
    let folder = try TemporaryFolder()
    let result = try run(#"__complete people --data-dir "$bad""#, in: folder.path)
    #expect(result.code == 0 && result.out.isEmpty && result.err.isEmpty)
  }

  @Test(
    "an environment variable that names the data folder is not repaired either", arguments: ["XDG_DATA_HOME", "HOME"])
  func environment(variable: String) throws {
    let folder = try TemporaryFolder()
    let result = try run(
      "pin status --key virtual", in: folder.path,
      environment: "env -u XDG_DATA_HOME \(variable)=\"$PWD/$bad\"")
    #expect(result.code == 2 && result.err.contains("[environmentNotUTF8]"), "\(result.err)")
    #expect(result.err.contains(variable))
    #expect(try Program.run("ls", ["-A", folder.path]).out.isEmpty)
  }

  @Test("names in folders that are not UTF-8 are named, never repaired")
  func folders() throws {
    let folder = try TemporaryFolder()
    let path = folder.path
    #expect(try Sealkey.run(["device", "make", "laptop", "--data-dir", "\(path)/data"]).code == 0)
    _ = try Program.run("sh", ["-c", "cd '\(path)' && touch data/devices/$(printf 'x\\377').device && mkdir runs"])
    let check = try Sealkey.run(["store", "check", "--data-dir", "\(path)/data"])
    #expect(check.code == 1)
    let names = check.json["checks"]?.array?.filter { $0["name"]?.string == "fileNameNotUTF8" } ?? []
    #expect(names.count == 1, "\(check.json)")
    #expect(names.first?["subject"]?.string?.hasSuffix("/devices/x\\xFF.device") == true, "\(names)")
    let list = try Sealkey.run(["device", "list", "--data-dir", "\(path)/data"])
    #expect(list.json["devices"]?.array?.map(\.string) == ["laptop"])

    _ = try Program.run("sh", ["-c", "cd '\(path)' && echo '| # |' >sheet.md && touch runs/$(printf 'x\\377').json"])
    let fill = try Sealkey.run(["matrix", "check", "\(path)/sheet.md", "--runs", "\(path)/runs"])
    #expect(fill.error == "sheetNoTable" || fill.error == "fileNameNotUTF8", "\(fill.json)")
    let report = try Sealkey.run(["matrix", "report", "--runs", "\(path)/runs", "--out", "\(path)/page.html"])
    #expect(report.code == 1, "\(report.json)")
    #expect(report.json["leftOut"]?.array?.first?["name"]?.string == "fileNameNotUTF8", "\(report.json)")
  }

  @Test(
    "an empty argument is said to be empty, before anything is done",
    arguments: [
      (["inspect", ""], "emptyOperand", Int32(2)), (["verify", ""], "emptyOperand", 2),
      (["unlock", ""], "emptyOperand", 2), (["capsule", "verify", ""], "fileNotFound", 7),
      (["matrix", "verify", ""], "fileNotFound", 7),
      (["register", "--name", "Ada", "--key", "virtual", "--out", ""], "fileNotFound", 7),
      (["register", "--name", "Ada", "--key", "virtual", "--data-dir", ""], "badValue", 2),
    ])
  func empty(words: [String], name: String, code: Int32) throws {
    let folder = try TemporaryFolder()
    let data = words.contains("--data-dir") ? [] : ["--data-dir", "\(folder.path)/data"]
    let run = try Sealkey.run(words + data)
    #expect(run.error == name && run.code == code, "\(words): \(run.json)")
    #expect(run.json["error"]?["message"]?.string?.contains("no file .") == false, "\(run.json)")
    #expect(try !Sealkey.exists("\(folder.path)/data"))
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// Where results go: known to be possible before anybody touches a key.
@Suite(.programs) struct OutputTests {
  let folder: TemporaryFolder
  let common: [String]

  init() throws {
    folder = try TemporaryFolder()
    common = ["--key", "virtual", "--data-dir", "\(folder.path)/data"]
  }

  @Test func badPlacesAreRefusedBeforeTheTouch() throws {
    let identity = "\(folder.path)/ada.json"
    #expect(try Sealkey.run(["register", "--name", "Ada", "--out", identity] + common).code == 0)
    let device = "\(folder.path)/one.device"
    let endorse = ["endorse", "--identity", identity, "--device", device, "--out"]
    #expect(try Sealkey.run(endorse + ["\(folder.path)/e.json"] + common).code == 0)
    let before = try (Sealkey.text(identity), Sealkey.text(device))
    for (place, error, code) in [
      (folder.path, "isDirectory", 7), ("\(folder.path)/no/such", "fileUnwritable", 7), (identity, "badValue", 2),
      (device, "badValue", 2),
    ] as [(String, String, Int32)] {
      let refused = try Sealkey.run(endorse + [place] + common)
      #expect(refused.error == error, "\(place)")
      #expect(refused.code == code)
      #expect(!refused.err.contains("Touch"))
    }
    // Private halves are not written over by another command's result either.
    #expect(try Sealkey.run(["directory", "export", "--out", device] + common).error == "fileExists")
    #expect(try Sealkey.text(identity) == before.0)
    #expect(try Sealkey.text(device) == before.1)
  }

  @Test func aResultThatCannotBeWrittenIsSaid() throws {
    let full = try Program.run(
      "sh",
      [
        "-c",
        "exec \(Program.sealkey) commitment release.authorize.v1 estateID=E epoch=1 claimID=C recordHeadDigest= >/dev/full",
      ])
    #expect(full.code == 7)
    #expect(full.err.contains("resultLost"))
    // Closed streams are nobody's pipe.
    for closed in ["<&- >&- 2>&-", "<&- >&-", "<&-"] {
      let run = try Program.run("sh", ["-c", "exec \(Program.sealkey) list --json \(closed)"])
      #expect(run.code == 0, "\(closed)")
    }
  }

  /// A mark that somebody took off is seen by what it stood on.
  @Test func aVirtualKeyIsKnownWithoutItsMark() throws {
    let identity = "\(folder.path)/ada.json"
    #expect(try Sealkey.run(["register", "--name", "Ada", "--out", identity] + common).code == 0)
    let unmarked = try Sealkey.text(identity).split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.contains("simulated") ? String(line.replacing("true", with: "false")) : String(line)
    }.joined(separator: "\n")
    try Sealkey.put(unmarked, "\(folder.path)/unmarked.json")
    let checked = try Program.run(Program.sealkey, ["verify", "\(folder.path)/unmarked.json"])
    #expect(checked.out.lowercased().contains("simulated"), "\(checked.out)")
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import TestSupport
import Testing
import VirtualAuthenticator
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

  /// A file's name is text from outside: a line of it is no line of the program's.
  @Test func aNameOfTwoLines() throws {
    let name = "\(folder.path)/x\nDone, and safe.json"
    let run = try Sealkey.run(["register", "--name", "Ada", "--out", name] + common)
    #expect(run.code == 0)
    #expect(run.err.contains("/x\u{FFFD}Done"))
    #expect(!run.err.split(separator: "\n").contains { $0.hasPrefix("Done") })
    let plain = try Program.run(Program.sealkey, ["directory", "export", "--out", name, "--replace"] + common)
    #expect(plain.out.split(separator: "\n").count == 1)
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
    for (closed, code) in [("<&- >&- 2>&-", 7), ("<&- >&-", 7), ("<&-", 0), ("<&- 2>&-", 0)] as [(String, Int32)] {
      let run = try Program.run("sh", ["-c", "exec \(Program.sealkey) list --json \(closed)"])
      #expect(run.code == code, "\(closed)")
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

/// A file that is there may be the only copy of something that nobody has published yet.
@Suite(.programs) struct OverwritingTests {
  @Test func nothingIsReplacedUnasked() throws {
    let folder = try TemporaryFolder()
    let file = "\(folder.path)/precious"
    let data = ["--key", "virtual", "--data-dir", "\(folder.path)/data"]
    try Sealkey.put("precious", file)
    for verb in [
      ["register", "--name", "Ada"], ["directory", "export"], ["sign-in"],
      ["capsule", "merge", file], ["matrix", "report"],
    ] {
      let run = try Sealkey.run(verb + ["--out", file] + data)
      #expect(run.error == "fileExists" && run.code == 7, "\(verb): \(run.json)")
      #expect(!run.err.contains("Touch the key"))
    }
    #expect(try Sealkey.text(file) == "precious")
    #expect(try Sealkey.run(["register", "--name", "Ada", "--out", file, "--replace"] + data).code == 0)
    #expect(try Sealkey.text(file).contains("sealkey.identity"))
  }

  /// What one command reads another writes: it is looked at as any result is.
  @Test func whatIsWrittenBesidesTheResultIsNotReplacedUnasked() throws {
    let folder = try TemporaryFolder()
    let here = folder.path
    let data = ["--key", "virtual", "--data-dir", "\(here)/data"]
    func error(_ words: [String]) throws -> String? { try Sealkey.run(words + data).error }
    #expect(try error(["register", "--name", "A", "--endorse", "--device", "\(here)/d", "--out", "\(here)/a"]) == nil)
    let device = try Sealkey.text("\(here)/d")
    let request = ["request", "register", "--name", "B", "--pending"]
    for more in [[], ["--replace"]] {
      for verb in [request, ["demo", "--capsule"]] {
        #expect(try error(verb + ["\(here)/d"] + more) == "fileExists")
        #expect(try error(verb + ["\(here)/data/directory.json"] + more) == "fileExists")
      }
    }
    #expect(try Sealkey.text("\(here)/d") == device)
    #expect(try error(request + ["\(here)/p"]) == nil)
    #expect(try Sealkey.mode("\(here)/p") == "600")
    let first = try Sealkey.text("\(here)/p")
    #expect(try error(request + ["\(here)/p"]) == "fileExists")
    #expect(try Sealkey.text("\(here)/p") == first)
    #expect(try error(request + ["\(here)/p", "--replace"]) == nil)
    // A link that leads nowhere takes the name.
    _ = try Program.run("ln", ["-s", "nowhere", "\(here)/link"])
    let linked = try Sealkey.run(["directory", "export", "--out", "\(here)/link"] + data)
    #expect(linked.error == "fileExists")
    // Of people that are there none is played over.
    _ = try Program.run("mkdir", ["-p", "\(here)/people/emma", "\(here)/demo"])
    #expect(try error(["demo", "--capsule", "\(here)/c", "--people", "\(here)/people"]) == "fileExists")
    try Sealkey.put("precious", "\(here)/demo/tap.json")
    #expect(try error(["demo", "--dir", "\(here)/demo"]) == "fileExists")
    #expect(try Sealkey.text("\(here)/demo/tap.json") == "precious")
  }

  /// Values that only the end of a command uses.
  @Test func valuesAreLookedAtBeforeTheTouch() throws {
    let folder = try TemporaryFolder()
    let here = folder.path
    let data = ["--key", "virtual", "--data-dir", "\(here)/data"]
    #expect(try Sealkey.run(["register", "--name", "A", "--out", "\(here)/a.json"] + data).code == 0)
    let bare = ["--identity", "\(here)/a.json", "--epoch", "1", "--head", ""]
    for (words, error) in [
      (["register", "--name", "B", "--endorse", "--device", "\(here)/no/x"], "fileUnwritable"),
      (["sign-in", "--device", ""], "badDeviceName"),
      (["tap", "--estate", "", "--claim", "C"] + bare, "badValue"),
      (["tap", "--estate", "E", "--claim", "C\nD"] + bare, "badValue"),
      (["confirm", "--estate", " "] + bare, "badValue"),
      (["endorse", "--identity", "\(here)/a.json", "--device", "\(here)/d", "--kem-bundle", "00"], "missingOption"),
    ] as [([String], String)] {
      let run = try Sealkey.run(words + data)
      #expect(run.error == error, "\(words): \(run.json)")
      #expect(!run.err.contains("Touch"))
    }
  }

  /// The mark of a virtual key goes with a person wherever the record goes.
  @Test func aSimulatedPersonStaysOne() throws {
    let folder = try TemporaryFolder()
    func data(_ name: String) -> [String] { ["--key", "virtual", "--data-dir", "\(folder.path)/\(name)"] }
    let list = "\(folder.path)/people.json"
    _ = try Sealkey.run(
      ["register", "--name", "Ada", "--endorse", "--device", "\(folder.path)/d"] + data("here"))
    #expect(try Sealkey.run(["directory", "export", "--out", list] + data("here")).code == 0)
    #expect(try JSONReader.parse(Array(Sealkey.text(list).utf8))["simulated"]?.bool == true)
    #expect(try Sealkey.run(["verify", list]).json["simulated"]?.bool == true)
    // One who has no device yet does not keep the others out.
    _ = try Sealkey.run(["register", "--name", "Bea", "--key", "virtual:final", "--data-dir", "\(folder.path)/here"])
    #expect(try Sealkey.run(["directory", "export", "--out", list, "--replace"] + data("here")).code == 0)
    let taken = try Sealkey.run(["directory", "import", list] + data("there"))
    #expect(taken.code == 0)
    #expect(
      Set((taken.json["identities"]?.array ?? []).compactMap { $0["result"]?.string }) == ["new", "leftOut"])
    let known = try Sealkey.run(["directory", "list"] + data("there")).json["identities"]?.array ?? []
    #expect(known.count == 1 && known.allSatisfy { $0["simulated"]?.bool == true })
  }
}

/// What the first touch of two has made is not lost with the second.
@Suite(.programs) struct SecondTouchTests {
  @Test(arguments: [false, true])
  func anIdentityOutlivesItsSecondTouch(_ isWritten: Bool) throws {
    let touches = Locked(0)
    let virtual = try VirtualAuthenticator(
      touch: .prompt { pending in
        let isFirst = touches.withLock {
          $0 += 1
          return $0 == 1
        }
        if isFirst { pending.approve() } else { pending.refuse() }
      })
    let host = try VirtualKeyHost.udp(virtual)
    defer { host.stop() }
    let port = try #require(host.port)
    let folder = try TemporaryFolder()
    let file = "\(folder.path)/ada.json"
    let data = ["--data-dir", "\(folder.path)/data", "--key", "udp:\(port)"]
    let run = try Sealkey.run(
      ["register", "--name", "Ada", "--endorse", "--device", "\(folder.path)/d"] + (isWritten ? ["--out", file] : [])
        + data)
    let name = try #require(run.json["notEndorsed"]?["name"]?.string, "\(run.json) \(run.err)")
    #expect(run.code == (name == "timedOut" ? 5 : run.code) && run.code != 0, "\(name)")
    #expect(run.err.contains("NO device speaks for it") && run.err.contains("sealkey endorse"))
    if isWritten {
      #expect(try Sealkey.run(["verify", file]).code == 0)
    } else {
      #expect(run.json["artefact"]?["format"]?.string?.hasPrefix("sealkey.") == true)
    }
    let people = try Sealkey.run(["directory", "list"] + data).json["identities"]?.array
    #expect(people?.count == 1)
    // A file that is no device is said before any touch.
    try Sealkey.put("x", "\(folder.path)/wrong")
    let early = try Sealkey.run(
      ["register", "--name", "Eve", "--endorse", "--device", "\(folder.path)/wrong"] + data)
    #expect(early.error != nil && touches.withLock { $0 } == 2)
  }

  /// However it is spelt: through a folder, a link to it, or a link of its own.
  @Test func oneFileUnderTwoNames() throws {
    let folder = try TemporaryFolder()
    let here = folder.path
    _ = try Program.run("sh", ["-c", "mkdir '\(here)/real' && ln -s real '\(here)/link'"])
    let register = ["register", "--name", "A", "--endorse", "--key", "virtual", "--data-dir", "\(here)/data"]
    for (device, out) in [
      ("\(here)/./a", "\(here)/a"), ("\(here)/real/a", "\(here)/link/a"),
      ("\(here)/real/../a", "\(here)/a"),
    ] {
      let refused = try Sealkey.run(register + ["--device", device, "--out", out])
      #expect(refused.error == "badValue" && refused.code == 2, "\(device) \(out): \(refused.json)")
      #expect(!refused.err.contains("Touch"))
      #expect(try !Sealkey.exists(out))
    }
  }

  @Test("a file that appears while the key waits stays, and so does the result")
  func aFileThatAppears() throws {
    let folder = try TemporaryFolder()
    let run = try Program.run(
      "sh",
      [
        "-c",
        """
        cd '\(folder.path)' && { sleep 1; echo precious >ada.json; } & cd '\(folder.path)' &&
        '\(Program.sealkey)' register --name Ada --out ada.json --key virtual --data-dir data --virtual-touch 4000 --json; echo $?; wait
        """,
      ])
    #expect(run.out.contains("\"publicKeyHex\"") || run.out.contains("\"artefact\""), "\(run.out) \(run.err)")
    #expect(run.err.contains("NOT written") && run.err.contains("[fileExists]"), "\(run.err)")
    #expect(run.out.hasSuffix("\n7\n"))
    #expect(try Sealkey.text("\(folder.path)/ada.json") == "precious\n")
  }
}

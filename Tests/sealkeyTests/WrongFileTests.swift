// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// Good files in wrong places: what each is, and which command takes it.
@Suite("wrong files", .programs) struct WrongFileTests {
  let folder: TemporaryFolder

  /// One file of every kind that the demos and a practice run leave.
  init() throws {
    folder = try TemporaryFolder()
    let path = folder.path
    #expect(try Sealkey.run(["demo", "--dir", path]).code == 0)
    #expect(try Sealkey.run(["demo", "--capsule", "\(path)/estate.capsule"]).code == 0)
  }

  private func refusal(_ words: [String]) throws -> (name: String?, message: String, next: String) {
    let run = try Sealkey.run(words + ["--data-dir", "\(folder.path)/data"])
    let error = run.json["error"]
    return (run.error, error?["message"]?.string ?? "\(run.json)", error?["next"]?.string ?? "")
  }

  @Test func everyKindIsNamed() throws {
    let path = folder.path
    let (tap, device, capsule) = ("\(path)/tap.json", "\(path)/laptop.device", "\(path)/estate.capsule")
    let identity = "\(path)/identity.json"

    func expect(_ words: [String], _ file: String, _ what: String, _ use: String) throws {
      let (name, message, next) = try refusal(words)
      #expect(name == "unexpectedKind", "\(words): \(message)")
      #expect(message.contains(file) && message.contains(what), "\(words): \(message)")
      #expect(next.contains(use), "\(words): \(next)")
    }
    for verb in [
      ["capsule", "verify", tap], ["capsule", "show", tap], ["directory", "import", tap], ["matrix", "verify", tap],
      ["unlock", tap], ["matrix", "diff", tap, tap], ["endorse", "--identity", tap, "--device", device],
      ["matrix", "check", tap, "--runs", path], ["import", tap, "--pending", tap],
    ] { try expect(verb, tap, "is a tap", "sealkey verify \(tap)") }
    for verb in [["unlock", capsule], ["directory", "import", capsule], ["matrix", "verify", capsule]] {
      try expect(verb, capsule, "is a capsule", "sealkey capsule verify \(capsule)")
    }
    for verb in [["verify", device], ["capsule", "verify", device], ["unlock", device]] {
      try expect(verb, device, "private halves", "--device")
    }
    try expect(["capsule", "verify", identity], identity, "is an identity", "sealkey verify \(identity)")
    try expect(
      ["endorse", "--identity", identity, "--device", tap], tap, "is a tap", "sealkey verify \(tap)")
  }

  @Test func aRunAndARequestAreNamed() throws {
    let path = folder.path
    let run = try Sealkey.run(
      ["matrix", "run", "--key", "virtual", "--data-dir", "\(path)/data", "--practice", "\(path)/practice", "--quiet"])
    let record = try #require(run.json["file"]?.string)
    for verb in [["verify", record], ["capsule", "verify", record]] {
      let (name, message, next) = try refusal(verb)
      #expect(name == "unexpectedKind" && message.contains("a record of the interop matrix"), "\(message)")
      #expect(next.contains("sealkey matrix verify \(record)"))
    }
    #expect(try Sealkey.run(["request", "register", "--name", "Ada", "--pending", "\(path)/ada.pending"]).code == 0)
    let (name, message, next) = try refusal(["verify", "\(path)/ada.pending"])
    #expect(name == "unexpectedKind" && message.contains("waits for its answer"), "\(message)")
    #expect(next.contains("sealkey import ANSWER --pending"))
  }

  @Test("a file of the right kind that is bad keeps its own error")
  func right() throws {
    let path = folder.path
    try Sealkey.put("{\"format\":\"seal.capsule\",\"version\":9}", "\(path)/old.capsule")
    #expect(try refusal(["capsule", "verify", "\(path)/old.capsule"]).name == "unsupportedVersion")
    try Sealkey.put("no JSON", "\(path)/text")
    #expect(try refusal(["verify", "\(path)/text"]).name?.hasPrefix("json") == true)
    // What is no JSON at all is said to be none of what is wanted, and an empty file to be empty.
    for (content, words) in [
      ("", "is empty: it is not a capsule"),
      ("#!/bin/sh", "is not a capsule, the whole record of an estate. It begins with '#'"),
      ("{\"format\":", "does not read as a capsule, the whole record of an estate. The JSON text ends too early"),
    ] {
      try Sealkey.put(content, "\(path)/text")
      for verb in ["verify", "show"] {
        let (name, message, _) = try refusal(["capsule", verb, "\(path)/text"])
        #expect(name?.hasPrefix("json") == true && message.contains("\(path)/text \(words)"), "\(message)")
      }
    }
  }

  @Test("what is wrong inside a file is said with its name")
  func names() throws {
    let folder = try TemporaryFolder()
    let file = "\(folder.path)/other.json"
    try Sealkey.put(#"{"format":"somebody.elses","version":1}"#, file)
    let run = try Sealkey.run(["verify", file])
    #expect(run.error == "unknownFormat", "\(run.json)")
    #expect(run.json["error"]?["message"]?.string?.hasPrefix("\(file): ") == true)
    let ada = ["--key", "virtual", "--data-dir", "\(folder.path)/ada"]
    #expect(try Sealkey.run(["register", "--name", "Ada", "--out", "\(folder.path)/ada.json"] + ada).code == 0)
    let part = "\(folder.path)/e.json"
    #expect(
      try Sealkey.run(
        ["endorse", "--identity", "Ada", "--device", "\(folder.path)/laptop.device", "--out", part] + ada
      ).code == 0)
    let unknown = try Sealkey.run(["directory", "import", part, "--data-dir", "\(folder.path)/empty"])
    #expect(unknown.error == "signerUnknown", "\(unknown.json)")
    #expect(unknown.json["error"]?["message"]?.string?.hasPrefix("\(part): ") == true)
  }
}

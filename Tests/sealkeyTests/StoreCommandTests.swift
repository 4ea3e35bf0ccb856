// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import TestSupport
import Testing
import WebAuthnCore

/// The local store as a person meets it, and what is left of it when a program is killed in the middle of a write.
@Suite(.programs) struct StoreCommandTests {
  @Test func importListPinExport() throws {
    let folder = try TemporaryFolder()
    let data = ["--data-dir", "\(folder.path)/data"]
    let key = ["--key", "virtual", "--data-dir", "\(folder.path)/ada"]
    let file = "\(folder.path)/ada.json"
    // What is registered here is known here, and pinned.
    let made = try Sealkey.run(
      ["register", "--name", "Ada", "--endorse", "--device", "\(folder.path)/d", "--out", file] + key)
    #expect(made.code == 0, "\(made.err)")
    let own = try Sealkey.run(["directory", "list"] + key).json["identities"]?.array?.first
    #expect(own?["pinned"]?.bool == true)
    #expect(own?["liveDevices"]?.int == 1)
    // One key, one identity.
    let twice = try Sealkey.run(["register", "--name", "Eve"] + key)
    #expect(twice.error == "alreadyRegistered")
    #expect(twice.code == 6)

    #expect(
      try Sealkey.run(["directory", "import", file] + data).json["identities"]?.array?.first?["result"]?.string == "new"
    )
    let again = try Sealkey.run(["directory", "import", file] + data)
    #expect(again.json["identities"]?.array?.first?["result"]?.string == "unchanged")
    let asked = try Sealkey.run(["directory", "pin", "Ada"] + data)
    #expect(asked.error == "nobodyToAsk")
    #expect(asked.json["error"]?["next"]?.string?.hasSuffix("add: --yes") == true)
    #expect(try Sealkey.run(["directory", "pin", "Ada", "--yes"] + data).code == 0)
    let people = "\(folder.path)/people.json"
    #expect(try Sealkey.run(["directory", "export", "--out", people] + data).code == 0)
    #expect(try Sealkey.run(["directory", "import", people, "--data-dir", "\(folder.path)/third"]).code == 0)
    #expect(try Sealkey.run(["directory", "import", "/dev/null"] + data).error == "notARegularFile")
    #expect(try Sealkey.run(["directory", "pin", "Eve"] + data).error == "identityNotFound")

    #expect(try Sealkey.run(["device", "make", "laptop"] + data).code == 0)
    #expect(try Sealkey.run(["device", "make", "laptop"] + data).error == "fileExists")
    let device = try Sealkey.run(["device", "export", "laptop"] + data).json
    #expect(device["devicePublicKeyHex"]?.string?.count == 130)
    #expect(try Sealkey.run(["device", "list"] + data).json["devices"]?.array?.count == 1)
    #expect(try Sealkey.run(["store", "check"] + data).code == 0)
    #expect(try Sealkey.mode("\(folder.path)/data/devices/laptop.device") == "600")
  }

  /// A registration beside a record proves it only when all of it is there and good.
  @Test func aPartOfARegistrationProvesNothing() throws {
    let folder = try TemporaryFolder()
    let file = "\(folder.path)/ada.json"
    let key = ["--key", "virtual", "--data-dir", "\(folder.path)/ada"]
    #expect(try Sealkey.run(["register", "--name", "Ada", "--out", file] + key).code == 0)
    let text = try Sealkey.text(file)
    for (number, member) in ["registrationChallengeHex", "registrationClientDataHex"].enumerated() {
      let changed = text.replacing("\"\(member)\"", with: "\"another\"")
      #expect(changed != text)
      let part = "\(folder.path)/part\(number).json"
      try Sealkey.put(changed, part)
      let data = ["--data-dir", "\(folder.path)/data\(number)"]
      #expect(try Sealkey.run(["directory", "import", part] + data).error == "unprovenIdentityRecord")
      #expect(try Sealkey.run(["verify", part] + data).code == 1)
      #expect(try Sealkey.run(["directory", "import", file] + data).code == 0)
    }
  }

  /// A key that writes bytes which nothing announces is refused, by name, and nothing is left of it.
  @Test func unannouncedBytesAreRefused() throws {
    let folder = try TemporaryFolder()
    let key = ["--key", "virtual:unannounced-bytes", "--data-dir", "\(folder.path)/data"]
    let made = try Sealkey.run(["register", "--name", "Ada", "--out", "\(folder.path)/ada.json"] + key)
    #expect(made.error == "badAnswer", "\(made.json)")
    #expect(made.json["error"]?["message"]?.string?.contains("bytes that its flags do not announce") == true)
    #expect(try !Sealkey.exists("\(folder.path)/ada.json"))
    #expect(try Sealkey.run(["directory", "list"] + key).json["identities"]?.array?.isEmpty == true)
  }

  /// A sponsored identity's halves are kept only when that is asked for.
  @Test func unlockedHalvesAreKeptOnRequest() throws {
    let folder = try TemporaryFolder()
    let key = ["--key", "virtual", "--data-dir", "\(folder.path)/data"]
    _ = try Sealkey.run(["pin", "set"] + key, pin: "2468")
    let made = try Sealkey.run(["sponsor", "--name", "Emma", "--out", "\(folder.path)/e.json"] + key, pin: "2468")
    #expect(made.code == 0)
    let none = try Sealkey.run(["device", "list"] + key)
    #expect(none.json["devices"]?.array?.isEmpty == true)
    #expect(none.err.contains("sealkey device make NAME"))
    let kept = try Sealkey.run(["unlock", "\(folder.path)/e.json", "--store", "emma"] + key, pin: "2468")
    #expect(kept.json["stored"]?.bool == true)
    let device = try Sealkey.run(["device", "export", "emma"] + key).json
    #expect(device["devicePublicKeyHex"]?.string == made.json["devicePublicKeyHex"]?.string)
  }

  static let strace: Bool = (try? Program.run("strace", ["-qq", "-o", "/dev/null", "true"]))?.code == 0
  static let isFull = getenv("SEALKEY_FULL") != nil

  /// Kill -9 before any system call of a write, and errors of a full or read-only disk at each of them: the store opens
  /// and holds the old state or the new one.
  @Test(
    .enabled(if: strace || Program.isCI, "strace is not installed, or may not trace"),
    arguments: ["directory", "estate", "device", "passphrase"])
  func interruptedWrites(_ what: String) async throws {
    let folder = try TemporaryFolder()
    let (capsule, people) = ("\(folder.path)/e", "\(folder.path)/p")
    let made = try Sealkey.run(["demo", "--capsule", capsule, "--stage", "open", "--people", people])
    try #require(made.code == 0)
    let (base, work) = ("\(folder.path)/base", "\(folder.path)/work")
    func onWork(_ verb: [String]) -> [String] { verb + ["--data-dir", work, "--json"] }
    _ = try Sealkey.run(["directory", "import", "\(people)/ada/identity.json", "--data-dir", base])
    if what != "directory" { _ = try Sealkey.run(["device", "make", "old", "--data-dir", base]) }
    let (change, look): ([String], [String]) =
      switch what {
      case "directory": (["directory", "import", "\(people)/karin/identity.json"], ["directory", "list"])
      case "estate": (["capsule", "show", capsule], ["capsule", "show", capsule, "--no-store"])
      case "passphrase": (["device", "passphrase", "set", "old", "--passphrase-fd", "7"], ["device", "list"])
      default: (["device", "make", "new"], ["device", "list"])
      }
    /// What is stored, without what the clock changes.
    func state() throws -> String {
      let run = try Sealkey.run(onWork(look).dropLast())
      if what == "estate" { return run.json["firstMeeting"]?.bool == true ? "unknown" : "known" }
      return String(decoding: JSONWriter.write(run.json), as: UTF8.self)
    }
    func reset() throws { _ = try Program.run("sh", ["-c", "rm -rf '\(work)' && cp -a '\(base)' '\(work)'"]) }
    try reset()
    let old = try state()
    func runChange(_ words: [String], _ program: String = Program.sealkey) throws -> Program.Result {
      guard what == "passphrase" else { return try Program.run(program, words) }
      return try Program.run(program, words, input: Array("one, two, three\n".utf8), inputDescriptor: 7)
    }
    #expect(try runChange(onWork(change)).code == 0)
    let new = try state()
    #expect(old != new)

    /// At which of its calls of a kind, counted from its start, some thread of the program touches the store.
    func places(_ call: String) throws -> [Int] {
      try reset()
      let log = "\(folder.path)/trace"
      let run = try runChange(
        ["-f", "-y", "-qq", "-s", "512", "-o", log, "-e", "trace=\(call)", Program.sealkey] + onWork(change), "strace")
      #expect(run.code == 0, "\(run.err)")
      var counts: [Substring: Int] = [:]
      var found = Set<Int>()
      for line in try Sealkey.text(log).split(separator: "\n") where !line.contains("resumed>") {
        let thread = line.prefix { $0 != " " }
        guard line.contains("\(call)(") else { continue }
        counts[thread, default: 0] += 1
        if line.contains(work) { found.insert(counts[thread] ?? 0) }
      }
      return found.sorted()
    }

    let faults = ["signal=KILL", "error=ENOSPC", "error=EROFS"]
    // Every write ends with these two; the other calls of a write are for the long run.
    let calls =
      ["write", "rename", "link"]
      + (Self.isFull ? ["openat", "read", "fsync", "flock", "mkdir", "close", "unlink", "access", "getdents64"] : [])
    var killed = 0
    var tried = 0
    for call in calls {
      let numbers = try places(call)
      for fault in faults where fault != "error=EROFS" || Self.isFull || call != "write" {
        for number in numbers {
          try reset()
          let run = try runChange(
            [
              "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):\(fault):when=\(number)",
              Program.sealkey,
            ] + onWork(change), "strace")
          let check = try Sealkey.run(["store", "check", "--data-dir", work])
          #expect(check.code == 0, "\(call) \(number) \(fault): \(check.json)")
          let found = try state()
          #expect(found == old || found == new, "\(call) \(number) \(fault)")
          // Showing a capsule goes on without the store, and says so.
          if run.code == 0, what != "estate" {
            #expect(found == new, "\(call) \(number) \(fault): it said that it was done")
          }
          if run.code == 137 { killed += 1 }
          tried += 1
          // The next writer goes on from there.
          let next = try runChange(onWork(change))
          #expect(
            next.code == 0 || next.out.contains("fileExists") || next.out.contains("hasPassphrase"),
            "\(call) \(number) \(fault): \(next.out)")
          #expect(try state() == new)
          await Task.yield()
        }
      }
    }
    #expect(killed > 1)
    if Self.isFull { print("\(what): \(tried) faults, \(killed) of them kills") }
  }
}

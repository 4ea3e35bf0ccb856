// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import TestSupport
import Testing
import WebAuthnCore

@testable import sealkey

/// What goes wrong around the program, not in it: too few descriptors, pipes for files, text that steers terminals, words
/// out of place.
@Suite(.programs) struct RobustnessTests {
  let folder: TemporaryFolder
  let common: [String]

  init() throws {
    folder = try TemporaryFolder()
    common = ["--key", "virtual", "--data-dir", "\(folder.path)/data"]
  }

  @Test(
    "a PIN is read from what was given, and from no descriptor of the program's own", arguments: [3, 4, 9, 10, 11, 13])
  func ownDescriptors(number: Int) throws {
    let folder = try TemporaryFolder()
    let data = ["--key", "virtual", "--data-dir", "\(folder.path)/d"]
    #expect(try Sealkey.run(["pin", "set"] + data, pin: "2468").code == 0)
    for verb in ["register --name A --no-store --pin-fd", "device make x --protect --passphrase-fd"] {
      let line =
        "for n in 3 4 5 6 7 8 9 10 11 12 13; do eval \"exec $n>&-\"; done; exec timeout 60 '\(Program.sealkey)' "
        + "\(verb) \(number) --json \(data.joined(separator: " ")) </dev/null"
      let run = try Program.run("bash", ["-c", line])
      #expect(run.code == 2, "\(verb): \(run.code) \(run.out)")
      #expect(run.out.contains("badValue"))
    }
    #expect(try Sealkey.run(["pin", "status"] + data).json["triesLeft"]?.int == 8)
  }

  @Test("what goes to a closed stdout is lost, and that is said")
  func closedOutput() throws {
    for (redirection, json) in [(">&-", ""), (">/dev/full", ""), (">&-", "--json"), (">/dev/full", "--json")] {
      let run = try Program.run(
        "sh",
        [
          "-c",
          "exec '\(Program.sealkey)' register --name A --no-store \(common.joined(separator: " ")) \(json) \(redirection)",
        ])
      #expect(run.code == 7, "\(redirection) \(json)")
      #expect(run.err.contains("[resultLost]"), "\(redirection) \(json): \(run.err)")
    }
  }

  @Test(
    "whatever signal ends it, it is in silence: nothing looks into its memory",
    arguments: [SIGHUP, SIGQUIT, SIGABRT, SIGSEGV])
  func signals(number: Int32) throws {
    let folder = try TemporaryFolder()
    let line =
      "'\(Program.sealkey)' register --name A --no-store --key virtual --data-dir \(folder.path)/d --virtual-touch 20000 "
      + "2>'\(folder.path)/said' & p=$!; while ! grep -q 'Touch the key' '\(folder.path)/said'; do sleep 0.05; done; "
      + "kill -\(number) $p; wait $p"
    let run = try Program.run("bash", ["-c", line])
    #expect(run.code == ([SIGHUP, SIGQUIT].contains(number) ? 130 : 128 + number))
    #expect(try !Sealkey.text("\(folder.path)/said").contains("crashed"))
  }

  @Test("with few descriptors it works or says so; it never ends by a signal")
  func descriptors() throws {
    var worked = 0
    for limit in [4, 5, 6, 8, 12, 20, 30, 36, 44, 64, 256] {
      let run = try Program.run(
        "sh",
        ["-c", "ulimit -n \(limit); exec \(Program.sealkey) info --json \(common.joined(separator: " "))"])
      #expect(run.code == 0 || run.code == 7, "\(limit): \(run.code) \(run.err)")
      if run.code == 0 {
        worked += 1
      } else {
        let json = try JSONReader.parse(Array(run.out.utf8))
        #expect(json["error"]?["name"]?.string == "tooFewDescriptors", "\(limit)")
      }
    }
    #expect(worked >= 2)
    let said = try Program.run("sh", ["-c", "ulimit -n 6; exec \(Program.sealkey) list"])
    #expect(said.err.contains("ulimit -n 256"))
  }

  @Test("a pipe, a device or a socket is no file, and nobody waits for one")
  func notRegular() throws {
    let fifo = "\(folder.path)/fifo"
    #expect(mkfifo(fifo, 0o600) == 0)
    let reading = [
      ["verify"], ["inspect"], ["capsule", "show"], ["capsule", "verify"], ["directory", "import"], ["unlock"],
      ["tap", "--estate", "E", "--epoch", "1", "--claim", "C", "--head", "", "--identity"],
      ["tap", "--capsule"], ["import", "--pending"], ["endorse", "--identity"],
    ]
    for words in reading {
      for place in [fifo, "/dev/zero"] {
        let extra = words.first == "import" ? ["answer"] : words.first == "endorse" ? ["--device", "d"] : []
        let run = try Sealkey.run(words + [place] + extra + common)
        #expect(run.error == "notARegularFile", "\(words) \(place): \(run.json)")
        #expect(run.code == 7)
      }
    }
    for place in [fifo, "/dev/null", "/dev/stdout"] {
      let run = try Sealkey.run(["register", "--name", "Ada", "--out", place] + common)
      #expect(run.error == "notARegularFile", "\(place)")
      #expect(!run.err.contains("Touch the key"))
    }
    // The standard input is read whatever it is.
    let piped = try Program.run("sh", ["-c", "printf a0 | \(Program.sealkey) inspect - --json"])
    #expect(try JSONReader.parse(Array(piped.out.utf8))["kind"] != nil || piped.code == 1)
  }

  @Test("nothing from outside steers a terminal")
  func controls() throws {
    let evil = "\u{1B}[2J\u{9B}31m\u{7}\u{202E}x"
    for words in [
      [evil], ["help", evil], ["verify", evil], ["inspect", evil], ["list", evil], ["--key", evil, "list"],
      ["register", "--name", evil, "--key", "virtual", "--out", "\(folder.path)/\(evil)"],
      ["request", evil], ["settings", evil], ["pin", evil], ["commitment", evil], ["device", "make", evil],
      ["directory", "pin", evil], ["--\(evil)"], ["list", "--timeout", evil],
    ] {
      let run = try Program.run(Program.sealkey, words + ["--data-dir", "\(folder.path)/data"])
      for text in [run.out, run.err] {
        #expect(
          !text.unicodeScalars.contains { "\u{1B}\u{9B}\u{7}\u{202E}".unicodeScalars.contains($0) }, "\(words): \(text)"
        )
      }
      let json = try Program.run(Program.sealkey, words + ["--json", "--data-dir", "\(folder.path)/data2"])
      #expect(!json.out.unicodeScalars.contains { "\u{1B}\u{9B}\u{7}\u{202E}".unicodeScalars.contains($0) }, "\(words)")
      #expect((try? JSONReader.parse(Array(json.out.utf8))) != nil, "\(words): \(json.out)")
    }
  }

  @Test func escapedJSONMeansTheSame() throws {
    let text = "a\u{7F}b\u{9B}c\u{202E}d\u{E0001}e\u{1F469}\u{200D}\u{1F467}é\n"
    let json = String(decoding: JSONWriter.write(.string(text)), as: UTF8.self)
    let escaped = json.escapedForTerminal
    #expect(escaped.printable == escaped)
    #expect(try JSONReader.parse(Array(escaped.utf8)).string == text)
  }

  @Test("on a terminal that shows ASCII the marks are words")
  func marksInASCII() {
    let ascii = TerminalText(columns: nil, showsUnicode: false)
    #expect(
      ascii.shown("✅ 3/3, ❌ no, ⚠️ 1/3, – not run, ✓, ✗, é") == "good 3/3, BAD no, note 1/3, - not run, good, BAD, ?")
    #expect(TerminalText(columns: nil, showsUnicode: true).shown("✅ 3/3") == "✅ 3/3")
  }

  @Test("lines are broken between words, at the terminal's width", arguments: [20, 40, 80])
  func wrapping(columns: Int) {
    let shown = TerminalText(columns: columns, showsUnicode: true)
    let sentence =
      "  The last sign of Käthe known here is 118 days old: heartbeat of 2026-08-04T10:12:13Z. 沈黙は死ではない, she said."
    let lines = shown.shown(sentence).split(separator: "\n")
    #expect(lines.allSatisfy { TerminalText.width($0) <= max(columns, 23) && $0.hasPrefix("  ") })
    #expect(lines.joined(separator: " ").split(separator: " ") == sentence.split(separator: " "))
    #expect(TerminalText(columns: nil, showsUnicode: true).shown(sentence) == sentence)
    let table = "  --key KEY   the key to use: " + String(repeating: "word ", count: 20)
    let rows = shown.shown(table).split(separator: "\n")
    if columns > 24 { #expect(rows.dropFirst().allSatisfy { $0.hasPrefix(String(repeating: " ", count: 14) + "w") }) }
    let wide = String(repeating: "f", count: columns - 8)
    let lone = shown.shown("kem-bundle  " + wide + " x").split(separator: "\n")
    #expect(lone == ["kem-bundle", wide[...] + " x"], "a long word has a line of its own")
    let rule = #"Put it into a file: SUBSYSTEM=="hidraw", KERNELS=="0003:1209:BEEE.*", TAG+="uaccess""#
    #expect(shown.shown(rule) == rule)
    let long = String(repeating: "ab", count: 64)
    #expect(shown.shown(long) == long, "what is copied is not broken")
    #expect(shown.shown("PIN of a key with a name that is long enough for two lines: ").hasSuffix(": "))
  }

  @Test func alphabets() {
    let plain = TerminalText(columns: 80, showsUnicode: false)
    #expect(plain.shown("Käthe") == "K?the")
    for (variables, isUTF8) in [
      (["LANG": "de_DE.UTF-8"], true), (["LANG": "C"], false), ([:], false), (["LC_ALL": "C.utf8", "LANG": "C"], true),
      (["LC_ALL": "POSIX", "LANG": "en_US.UTF-8"], false), (["LC_CTYPE": "en_US.UTF-8", "LANG": "C"], true),
      (["LC_ALL": "", "LANG": "en_US.UTF-8"], true), (["LANG": "de_DE.ISO-8859-1"], false),
    ] as [([String: String], Bool)] {
      #expect(TerminalText.isUTF8Locale { variables[$0] } == isUTF8, "\(variables)")
    }
  }

  @Test("the word that is wrong is the one that is named")
  func usage() throws {
    for (words, error, mention) in [
      (["request", "bogus"], "badValue", "bogus"), (["virtual", "run"], "missingOption", "--vpcd"),
      (["virtual", "run", "--card", "x"], "missingOption", "--uhid"), (["backup", "bogus"], "badValue", "bogus"),
      (["pin", "bogus"], "badValue", "bogus"), (["help", "bogus"], "unknownVerb", "bogus"),
      (["help", "list", "x"], "extraOperand", "x"), (["capsule", "bogus", "f"], "badValue", "bogus"),
      (["directory", "bogus"], "badValue", "bogus"), (["matrix", "bogus"], "badValue", "bogus"),
    ] {
      let run = try Sealkey.run(words)
      #expect(run.error == error, "\(words): \(run.json)")
      #expect(run.code == 2)
      #expect(run.json["error"]?["message"]?.string?.contains(mention) == true, "\(words): \(run.json)")
    }
  }

  @Test func helpIsHelpHoweverAsked() throws {
    let overview = try Program.run(Program.sealkey, ["--help"]).out
    for words in [["help"], ["-h"]] {
      let run = try Program.run(Program.sealkey, words)
      #expect(run.code == 0 && run.out == overview, "\(words)")
    }
    for words in [["help"], ["--help"]] {
      #expect((try Sealkey.run(words).json["commands"]?.array?.count ?? 0) > 20, "\(words)")
    }
    let itself = try Program.run(Program.sealkey, ["help", "--help"])
    #expect(itself.code == 0 && itself.out.contains("Usage: sealkey help"))
    #expect(try Sealkey.run(["help", "--help"]).json["name"]?.string == "help")
    for words in [["help", "tap"], ["tap", "--help"]] {
      #expect(try Sealkey.run(words).json["name"]?.string == "tap", "\(words)")
    }
    #expect(try Sealkey.run(["help", "reset"]).json["topic"]?.string == "reset")
    #expect(try Sealkey.run(["--version"]).json["version"]?.string == CommandLineTool.version)
  }

  @Test("a setting is explained also when --yes answers")
  func explained() throws {
    #expect(try Sealkey.run(["pin", "set"] + common, pin: "2468").code == 0)
    let on = try Sealkey.run(["settings", "always-uv", "on", "--yes"] + common, pin: "2468")
    #expect(on.code == 0, "\(on.json)")
    #expect(on.err.contains("every time, for everything"))
    let asked = try Sealkey.run(["settings", "always-uv", "off"] + common, pin: "2468")
    #expect(asked.error == "nobodyToAsk")
    #expect(asked.err.contains("only ask for the PIN"))
    let quiet = try Sealkey.run(["settings", "always-uv", "off", "--yes", "--quiet"] + common, pin: "2468")
    #expect(quiet.code == 0 && quiet.err.isEmpty)
  }

  @Test func aForcedPINChangeIsSaid() throws {
    #expect(try Sealkey.run(["pin", "set"] + common, pin: "2468").code == 0)
    #expect(try Sealkey.run(["pin", "status"] + common).json["mustChange"]?.bool == false)
    #expect(try Sealkey.run(["settings", "require-pin-change", "--yes"] + common, pin: "2468").code == 0)
    let status = try Sealkey.run(["pin", "status"] + common)
    #expect(status.json["mustChange"]?.bool == true)
    let text = try Program.run(Program.sealkey, ["pin", "status"] + common)
    #expect(text.out.contains("sealkey pin change"))
  }

  @Test("after a lost file, the way back is named")
  func lostRecord() throws {
    #expect(try Sealkey.run(["register", "--name", "Ada"] + common).code == 0)
    let again = try Sealkey.run(["register", "--name", "Ada"] + common)
    #expect(again.error == "alreadyRegistered")
    #expect(again.code == 6)
    #expect(again.json["error"]?["next"]?.string?.contains("sealkey directory export") == true)
    #expect(again.json["error"]?["message"]?.string?.contains("Ada") == true)
  }

  @Test func nobodyOnUDP() throws {
    // The discard port: one that was free a moment ago may be another test's key now.
    let port = 9
    for extra in ["", ":\(try freePort())"] {
      let run = try Sealkey.run(["info", "--key", "udp:\(port)\(extra)"])
      #expect(run.error == "noSuchKey", "\(run.json)")
      #expect(run.code == 3)
      #expect(run.json["error"]?["next"]?.string?.contains("--udp \(port)") == true)
    }
  }

  @Test func inspectNamesErrorsAsEverywhere() throws {
    // An attestation object that is cut off.
    let run = try Sealkey.run(["inspect", "a363666d74646e6f6e656761747453746d74a068617574684461746158"])
    guard run.json["fields"] != nil else { return #expect(run.error == "unknownBytes") }
    #expect(run.json["error"]?["name"]?.string != nil, "\(run.json)")
    #expect(run.json["error"]?["message"]?.string != nil)
    #expect(run.code == 1)
  }

  /// A UDP port on which nobody listens.
  private func freePort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let done = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
      }
    }
    try #require(done)
    return UInt16(bigEndian: address.sin_port)
  }
}

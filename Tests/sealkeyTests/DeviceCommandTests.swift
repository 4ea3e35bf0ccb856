// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// Devices from the command line: the passphrase, and what is said of a damaged file.
@Suite struct DeviceCommandTests {
  /// Runs with lines on descriptor 7, for a passphrase.
  private func run(_ arguments: [String], lines: String, option: String = "--passphrase-fd") throws -> Sealkey.Run {
    let result = try Program.run(
      Program.sealkey, arguments + ["--json", option, "7"], input: Array(lines.utf8), inputDescriptor: 7)
    return Sealkey.Run(code: result.code, json: try JSONReader.parse(Array(result.out.utf8)), err: result.err)
  }

  @Test func passphrases() throws {
    let folder = try TemporaryFolder()
    let data = ["--data-dir", "\(folder.path)/data"]
    let key = ["--key", "virtual"] + data
    #expect(try Sealkey.run(["device", "make", "laptop"] + data).json["protected"]?.bool == false)
    let set = ["device", "passphrase", "set", "laptop"] + data
    #expect(try Sealkey.run(set).error == "passphraseRequired")
    #expect(try run(set, lines: "short\n").error == "unfitPassphrase")
    #expect(try run(set, lines: "first of three\n").json["protected"]?.bool == true)
    #expect(try run(set, lines: "first of three\n").error == "hasPassphrase")
    #expect(try Sealkey.mode("\(folder.path)/data/devices/laptop.device") == "600")
    #expect(try Sealkey.run(["device", "list"] + data).json["protected"]?.array?.count == 1)
    #expect(try Sealkey.run(["device", "export", "laptop"] + data).code == 0)
    #expect(try Sealkey.run(["store", "check"] + data).code == 0)

    // Endorsing needs the public side alone; meeting needs the private one.
    #expect(try Sealkey.run(["register", "--name", "Ada", "--out", "\(folder.path)/ada.json"] + key).code == 0)
    let device = "\(folder.path)/data/devices/laptop.device"
    let endorsed = try Sealkey.run(
      ["endorse", "--identity", "\(folder.path)/ada.json", "--device", device, "--out", "\(folder.path)/e.json"] + key)
    #expect(endorsed.code == 0, "\(endorsed.json)")
    let bob = ["--key", "virtual:final"] + data
    #expect(
      try Sealkey.run(["register", "--name", "Bob", "--no-store", "--out", "\(folder.path)/bob.json"] + bob).code == 0)
    let meet = ["meet", "--me", "Ada", "--device", "laptop", "--friend", "\(folder.path)/bob.json"] + bob
    let refused = try Sealkey.run(meet)
    #expect(refused.error == "passphraseRequired")
    #expect(refused.code == 4 && !refused.err.contains("Touch"))
    #expect(try run(meet, lines: "first of four!\n").error == "wrongPassphrase")
    let met = try run(meet, lines: "first of three\n")
    #expect(met.code == 0, "\(met.json)")
    // The friend is known from now on, by name and without an endorsement of their own.
    let receipt = try run(
      ["receipt", "--giver", "Ada", "--device", "laptop", "--receiver", "Bob", "--item", "x"] + bob,
      lines: "first of three\n")
    #expect(receipt.code == 0, "\(receipt.json)")

    let change = ["device", "passphrase", "change", "laptop"] + data
    #expect(try run(change, lines: "first of three\nsecond of three\n").code == 0)
    #expect(try run(["device", "passphrase", "remove", "laptop"] + data, lines: "first of three\n").code == 4)
    #expect(try run(["device", "passphrase", "remove", "laptop"] + data, lines: "second of three\n").code == 0)
    #expect(try run(change, lines: "x\ny\n").error == "hasNoPassphrase")
    #expect(try run(["device", "make", "desk"] + data, lines: "third of three\n").json["protected"]?.bool == true)
    #expect(try Sealkey.run(["device", "passphrase"] + data).error == "missingOperand")
    #expect(try Sealkey.run(["device", "passphrase", "forget", "desk"] + data).error == "badValue")
  }

  @Test func halvesThatAKeyOpenedAreKeptUnderAPassphrase() throws {
    let folder = try TemporaryFolder()
    let key = ["--key", "virtual", "--data-dir", "\(folder.path)/data"]
    _ = try Sealkey.run(["pin", "set"] + key, pin: "2468")
    #expect(
      try Sealkey.run(["sponsor", "--name", "Emma", "--out", "\(folder.path)/e.json"] + key, pin: "2468").code == 0)
    let lines = ["--pin-fd", "7", "--store", "emma"]
    let kept = try run(["unlock", "\(folder.path)/e.json"] + lines + key, lines: "2468\nlong enough\n")
    #expect(kept.code == 0, "\(kept.json)")
    #expect(try Sealkey.run(["device", "list"] + key).json["protected"]?.array?.first?.string == "emma")
  }

  /// A wrong file is called what it is, and other files of the data directory are looked at too.
  @Test func wrongFilesAreNamed() throws {
    let folder = try TemporaryFolder()
    let key = ["--key", "virtual", "--data-dir", "\(folder.path)/data"]
    let ada = "\(folder.path)/ada.json"
    #expect(try Sealkey.run(["register", "--name", "Ada", "--out", ada] + key).code == 0)
    try Sealkey.put("{\"a\":1}", "\(folder.path)/wrong")
    _ = try Program.run("chmod", ["600", "\(folder.path)/wrong"])
    let wrong = try Sealkey.run(["endorse", "--identity", ada, "--device", "\(folder.path)/wrong"] + key)
    #expect(wrong.error == "notADevice")
    #expect(wrong.json["error"]?["message"]?.string?.contains("lock") == false)
    #expect(try Sealkey.run(["store", "check"] + key).code == 0)
    for (file, name) in [("known-keys.json", "storeDamaged"), ("virtual-key", "virtualKeyTruncated")] {
      let path = "\(folder.path)/data/\(file)"
      _ = try Program.run(
        "sh", ["-c", "cp -a '\(path)' '\(path).kept' 2>/dev/null; printf x > '\(path)'; chmod 600 '\(path)'"])
      let checked = try Sealkey.run(["store", "check"] + key)
      #expect(checked.code == 1, "\(file)")
      let names = checked.json["checks"]?.array?.filter { $0["outcome"]?.string == "bad" }.compactMap {
        $0["name"]?.string
      }
      #expect(names?.contains(name) == true || names?.contains("virtualKeyForeign") == true, "\(names ?? [])")
      _ = try Program.run("sh", ["-c", "rm '\(path)'; mv '\(path).kept' '\(path)' 2>/dev/null"])
    }
    // The directory's own file verifies as what it is.
    let list = "\(folder.path)/people.json"
    _ = try Sealkey.run(
      ["endorse", "--identity", ada, "--device", "\(folder.path)/d", "--out", "\(folder.path)/e"] + key)
    #expect(try Sealkey.run(["directory", "export", "--out", list] + key).code == 0)
    let verified = try Sealkey.run(["verify", list] + key)
    #expect(verified.json["kind"]?.string == "directory", "\(verified.json)")
    #expect(verified.code == 0)
  }

  /// Names out of files do not steer the terminal, and JSON stays the same JSON.
  @Test func namesDoNotSteerTheTerminal() throws {
    let folder = try TemporaryFolder()
    let key = ["--key", "virtual", "--data-dir", "\(folder.path)/data"]
    let ada = "\(folder.path)/ada.json"
    #expect(
      try Sealkey.run(
        ["register", "--name", "Ada", "--endorse", "--device", "\(folder.path)/d", "--out", ada] + key
      ).code == 0)
    let evil = "A\u{1b}[2J\u{9b}31m\u{202e}da"
    let text = try Sealkey.text(ada).replacing("\"Ada\"", with: "\"A\\u001b[2J\u{9b}31m\u{202e}da\"")
    try Sealkey.put(text, ada)
    let data = ["--data-dir", "\(folder.path)/other"]
    #expect(try Sealkey.run(["directory", "import", ada] + data).code == 0)
    for verb in [
      ["directory", "list"], ["directory", "export"], ["verify", ada], ["store", "check"],
      ["directory", "pin", "nobody\u{1b}[2J"],
      ["endorse", "--identity", ada, "--device", "\(folder.path)/d", "--key", "virtual:final"],
    ] {
      for json in [[], ["--json"]] {
        let run = try Program.run(Program.sealkey, verb + data + json)
        for scalar in ["\u{1b}", "\u{9b}", "\u{202e}"] {
          #expect(!(run.out + run.err).contains(scalar), "\(verb) \(json)")
        }
      }
    }
    let listed = try Sealkey.run(["directory", "list"] + data).json["identities"]?.array?.first?["name"]?.string
    #expect(listed == evil)
  }

  /// What lies in the folder in which somebody happens to be does not stand in for what is kept here; `./laptop` does.
  @Test func namesOfKeptDevicesAreNoFiles() throws {
    let folder = try TemporaryFolder()
    let key = ["--key", "virtual", "--data-dir", "\(folder.path)/data"]
    func there(_ arguments: [String]) throws -> Sealkey.Run {
      let result = try Program.run("env", ["-C", folder.path, Program.sealkey] + arguments + ["--json"] + key)
      return Sealkey.Run(code: result.code, json: try JSONReader.parse(Array(result.out.utf8)), err: result.err)
    }
    let kept = try there(["device", "make", "laptop"]).json["devicePublicKeyHex"]?.string
    #expect(kept != nil)
    #expect(try there(["register", "--name", "Ada", "--out", "ada.json"]).code == 0)
    let endorse = ["endorse", "--identity", "ada.json", "--out"]
    #expect(try there(endorse + ["1.json", "--device", "laptop"]).json["devicePublicKeyHex"]?.string == kept)
    #expect(try !Sealkey.exists("\(folder.path)/laptop"), "no second device of that name")
    let other = try there(endorse + ["2.json", "--device", "./laptop"])
    #expect(other.code == 0 && other.json["devicePublicKeyHex"]?.string != kept, "\(other.json)")
    // Now there are two. The name is the kept one's, and a person's name is not a file's.
    #expect(try there(endorse + ["3.json", "--device", "laptop"]).json["devicePublicKeyHex"]?.string == kept)
    try Sealkey.put("no identity", "\(folder.path)/Ada")
    #expect(try there(["revoke-device", "--identity", "Ada", "--device", "laptop", "--out", "4.json"]).code == 0)
  }
}

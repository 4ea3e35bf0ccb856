// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// What a person does with a key that is not Seal's business: PIN, passkeys, fingerprints, settings.
@Suite(.programs) struct CareCommandTests {
  let folder: TemporaryFolder
  let key: [String]

  init() throws {
    folder = try TemporaryFolder()
    key = ["--key", "virtual:bio", "--data-dir", "\(folder.path)/data"]
  }

  private func run(_ words: [String], pin: String? = "2468") throws -> Sealkey.Run {
    try Sealkey.run(words + key, pin: pin)
  }

  @Test func fingerprintsFromFirstToLast() throws {
    #expect(try run(["fingerprints", "list"]).error == "pinNotSet")
    #expect(try run(["pin", "set"]).code == 0)
    #expect(try run(["fingerprints", "list"]).json["fingerprints"]?.array?.count == 0)
    let added = try run(["fingerprints", "add", "right thumb"])
    #expect(added.code == 0)
    #expect(added.err.contains("Put the finger on the key's sensor"))
    #expect(!added.err.contains("Touch the key"))
    let id = try #require(added.json["idHex"]?.string)
    #expect(try run(["fingerprints", "rename", id, "left thumb"]).code == 0)
    let listed = try run(["fingerprints", "list"])
    #expect(listed.json["fingerprints"]?.array?.first?["name"]?.string == "left thumb")
    #expect(try run(["fingerprints", "remove", "ff"]).error == "noSuchID")
    // Removing is asked about; in a pipe there is nobody to ask.
    #expect(try run(["fingerprints", "remove", id]).error == "nobodyToAsk")
    #expect(try run(["fingerprints", "remove", id, "--yes"]).code == 0)
    #expect(try run(["fingerprints", "list"]).json["fingerprints"]?.array?.count == 0)
  }

  @Test func settings() throws {
    let before = try run(["settings", "show"], pin: nil)
    #expect(before.json["alwaysUv"]?.bool == false)
    #expect(before.json["simulated"]?.bool == true)
    #expect(try run(["pin", "set"]).code == 0)
    #expect(try run(["settings", "always-uv", "on"]).error == "nobodyToAsk")
    let on = try run(["settings", "always-uv", "on", "--yes"])
    #expect(on.json["settings"]?["alwaysUv"]?.bool == true)
    let longer = try run(["settings", "min-pin-length", "6", "--yes"])
    #expect(longer.json["settings"]?["minPINLength"]?.int == 6)
    #expect(try run(["settings", "show"], pin: nil).json["minPINLength"]?.int == 6)
    for words in [
      ["always-uv"], ["always-uv", "maybe"], ["min-pin-length", "3"], ["min-pin-length", "64"], ["colour"], [],
    ] {
      #expect(try run(["settings"] + words, pin: nil).code == 2, "\(words)")
    }
  }

  @Test func changeThePIN() throws {
    #expect(try run(["pin", "change"]).error == "pinNotSet")
    #expect(try run(["pin", "set"]).code == 0)
    // Both PINs from one pipe: first the old one, then the new one.
    #expect(try run(["pin", "change"], pin: "2468\n13579").json["changed"]?.bool == true)
    let wrong = try run(["pin", "change"], pin: "2468\n11111")
    #expect(wrong.error == "pinInvalid")
    #expect(wrong.code == 4)
    #expect(try run(["pin", "status"], pin: nil).json["triesLeft"]?.int == 7)
    #expect(try run(["pin", "change"], pin: "13579\n123").error == "pinTooShort")
    // As a file that was written on Windows has it.
    #expect(try run(["pin", "change"], pin: "13579\r\n97531\r").code == 0)
    #expect(try run(["pin", "change"], pin: "97531\n13579").code == 0)
    #expect(try run(["pin", "change"], pin: "13579\n2468").code == 0)
    #expect(try run(["passkeys", "list"]).json["passkeys"]?.array?.count == 0)
    #expect(try run(["pin", "status"], pin: nil).json["triesLeft"]?.int == 8)
  }

  @Test func resetIsExplainedAndNotOffered() throws {
    let help = try Program.run(Program.sealkey, ["help", "reset"])
    #expect(help.code == 0)
    #expect(help.out.contains("sealkey does not reset keys"))
    #expect(try Sealkey.run(["reset"]).error == "unknownVerb")
  }

  @Test(.enabled(if: Program.python != nil || Program.isCI, "needs Python; `make test` prepares it"))
  func questionsOnATerminal() throws {
    let python = try #require(Program.python)
    #expect(try run(["pin", "set"]).code == 0)
    let script = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let result = try Program.run(
      python, ["-B", "/\(script)/Tests/Integration/python/terminal.py", Program.sealkey] + key)
    #expect(result.code == 0, "\(result.out)\(result.err)")
    #expect(result.out.contains("12 passed"))
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// Commands that only look: what they say of a key, and of a file, agrees with what the others do with it.
@Suite("info, list, inspect", .programs) struct LookCommandTests {
  @Test("what info says of a key is what doctor says and register does")
  func alwaysUv() throws {
    let temporary = try TemporaryFolder()
    let key = ["--key", "virtual:always-uv", "--data-dir", temporary.path]
    func canRegister() throws -> [Bool?] {
      let info = try Sealkey.run(["info"] + key).json["seal"]
      let doctor = try Sealkey.run(["doctor"] + key).json["answers"]
      #expect((info?["because"] == nil) == (info?["canRegister"]?.bool == true))
      return [info?["canRegister"]?.bool, doctor?["register"]?["can"]?.bool]
    }
    #expect(try canRegister() == [false, false])
    let text = try Program.run(Program.sealkey, ["info"] + key).out
    #expect(text.contains("register and tap               no, because it always wants a PIN"), "\(text)")
    let register = ["register", "--name", "Ada", "--no-store"] + key
    #expect(try Sealkey.run(register).error == "uvNotConfigured")
    #expect(try Sealkey.run(["pin", "set"] + key, pin: "2468").code == 0)
    #expect(try canRegister() == [true, true])
    #expect(try Sealkey.run(register, pin: "2468").code == 0)
  }

  @Test(
    "an option that would do nothing is refused",
    arguments: [
      ["list", "--key", "virtual"], ["watch", "--key", "virtual"], ["virtual", "models", "--udp", "0"],
      ["virtual", "models", "--virtual-touch", "auto"], ["list", "--virtual-touch", "auto"],
      ["register", "--name", "A", "--key", "udp:9", "--virtual-touch", "auto"],
    ])
  func idleOptions(words: [String]) throws {
    let run = try Sealkey.run(words)
    #expect(run.error == "unknownOption", "\(run.json)")
    #expect(run.code == 2)
  }

  @Test(
    "broken bytes are said to be broken, and where",
    arguments: [("a2616101616203fff6", 7), ("a26161016162", 6), ("00a2616101616203fff6", 8), ("ffa1", nil)]
      as [(String, Int?)])
  func broken(hex: String, offset: Int?) throws {
    let run = try Sealkey.run(["inspect", hex])
    #expect(run.error == "unknownBytes")
    #expect(run.json["error"]?["offset"]?.int.map { Int($0) } == offset, "\(run.json)")
  }

  @Test("help names its topics")
  func topics() throws {
    let overview = try Program.run(Program.sealkey, ["help"]).out
    #expect(overview.contains("\n  lost          What to do when something is lost."), "\(overview)")
    #expect(overview.contains("\n  reset         sealkey does not reset keys."))
  }

  @Test("a record of a run is called what it is, a page of the web nothing, and what is long is cut")
  func inspect() throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.path
    let run = try Sealkey.run(
      ["matrix", "run", "--key", "virtual", "--data-dir", folder, "--practice", "\(folder)/practice"])
    let record = try Sealkey.run(["inspect", try #require(run.json["file"]?.string)])
    #expect(record.error == "unexpectedKind", "\(record.json)")
    #expect(record.json["error"]?["next"]?.string?.contains("sealkey matrix verify") == true)
    try Sealkey.put("<!DOCTYPE html>\n" + String(repeating: "<p>page</p>\n", count: 5000), "\(folder)/page.html")
    #expect(try Sealkey.run(["inspect", "\(folder)/page.html"]).error == "unknownBytes")
    // A map with one member of 60,000 bytes.
    try Sealkey.put("a16161" + "59ea60" + String(repeating: "ab", count: 60_000), "\(folder)/long.txt")
    let text = try Program.run(Program.sealkey, ["inspect", "\(folder)/long.txt"]).out
    #expect(text.utf8.count < 10_000 && text.contains("(111808 more; --json has all)"), "\(text.suffix(200))")
    let whole = try Sealkey.run(["inspect", "\(folder)/long.txt"]).json["fields"]?.array?.first
    #expect(whole?["value"]?.string?.utf8.count == 120_000)
  }
}

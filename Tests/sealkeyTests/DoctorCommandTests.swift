// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// What doctor says in the end, with keys in every state.
@Suite(.programs) struct DoctorCommandTests {
  private func can(_ run: Sealkey.Run) -> [String: Bool] {
    Dictionary(
      uniqueKeysWithValues: ["register", "tap", "unlock"].map { ($0, run.json["answers"]?[$0]?["can"]?.bool ?? false) })
  }

  private func names(_ run: Sealkey.Run) -> Set<String> {
    let all = (run.json["findings"]?.array ?? []) + (run.json["keys"]?.array?.first?["findings"]?.array ?? [])
    return Set(all.compactMap { $0["name"]?.string })
  }

  @Test func aKeyFromNewToBlocked() throws {
    let folder = try TemporaryFolder()
    let key = ["--key", "virtual", "--data-dir", "\(folder.path)/data"]
    let new = try Sealkey.run(["doctor"] + key)
    #expect(can(new) == ["register": true, "tap": true, "unlock": false], "\(new.json)")
    #expect(new.code == 1)
    #expect(names(new).isSuperset(of: ["pinNotSet", "store", "libfido2"]))
    #expect(try Sealkey.run(["pin", "set"] + key, pin: "2468").code == 0)
    let ready = try Sealkey.run(["doctor"] + key)
    #expect(can(ready) == ["register": true, "tap": true, "unlock": true])
    #expect(ready.code == 0)
    #expect(ready.json["keys"]?.array?.first?["simulated"]?.bool == true)
    // Nothing is asked and nothing is spent.
    #expect(!ready.err.contains("Touch"))
    #expect(try Sealkey.run(["settings", "require-pin-change", "--yes"] + key, pin: "2468").code == 0)
    let forced = try Sealkey.run(["doctor"] + key)
    // A touch alone asks for no PIN.
    #expect(can(forced) == ["register": true, "tap": true, "unlock": false], "\(forced.json)")
    #expect(names(forced).contains("pinChangeRequired"))
    let text = try Program.run(Program.sealkey, ["doctor"] + key)
    #expect(
      text.out.contains("You can tap: yes, because virtual key does it with a touch alone (--no-uv)"), "\(text.out)")
    #expect(text.out.contains("sealkey pin change"))
    #expect(try Sealkey.run(["register", "--name", "Ada", "--no-store", "--no-uv"] + key).code == 0)
  }

  @Test("what doctor and info say of a blocked PIN is what the key does")
  func blocked() throws {
    let folder = try TemporaryFolder()
    let key = ["--key", "virtual", "--data-dir", "\(folder.path)/data"]
    let register = ["register", "--name", "Ada", "--no-store"] + key
    #expect(try Sealkey.run(["pin", "set"] + key, pin: "2468").code == 0)
    for _ in 0..<5 { #expect(try Sealkey.run(register, pin: "1357").code == 4) }
    let low = try Sealkey.run(["doctor"] + key)
    #expect(can(low) == ["register": true, "tap": true, "unlock": false], "\(low.json)")
    let text = try Program.run(Program.sealkey, ["doctor"] + key).out
    #expect(
      text.contains("3 PIN tries are left. When none is, it takes no PIN until it is reset, and a reset"), "\(text)")
    for _ in 0..<3 { #expect(try Sealkey.run(register + ["--last-tries"], pin: "1357").code == 4) }
    let run = try Sealkey.run(["doctor"] + key)
    #expect(names(run).contains("pinBlocked"))
    #expect(can(run) == ["register": true, "tap": true, "unlock": false], "\(run.json)")
    let seal = try Sealkey.run(["info"] + key).json["seal"]
    #expect(seal?["canTap"]?.bool == true && seal?["canRegister"]?.bool == true)
    #expect(seal?["obstacle"]?.string == "its PIN is blocked")
    #expect(try Sealkey.run(register).error == "pinBlocked")
    #expect(try Sealkey.run(register + ["--no-uv"]).code == 0)
  }

  @Test(
    "other kinds of key",
    arguments: [
      ("virtual:u2f", ["register": true, "tap": true, "unlock": false], "u2fOnly"),
      ("virtual:no-hmac-secret", ["register": true, "tap": true, "unlock": false], "pinNotSet"),
    ])
  func kinds(key: String, answers: [String: Bool], finding: String) throws {
    let folder = try TemporaryFolder()
    let run = try Sealkey.run(["doctor", "--key", key, "--data-dir", "\(folder.path)/data"])
    #expect(can(run) == answers, "\(run.json)")
    #expect(names(run).contains(finding))
  }

  @Test func aKeyThatIsNotThereAndAStoreThatIsDamaged() throws {
    let folder = try TemporaryFolder()
    let data = ["--data-dir", "\(folder.path)/data"]
    #expect(try Sealkey.run(["register", "--name", "Ada", "--key", "virtual"] + data).code == 0)
    #expect(try Program.run("chmod", ["644", "\(folder.path)/data/directory.json"]).code == 0)
    let run = try Sealkey.run(["doctor", "--key", "udp:9"] + data)
    #expect(can(run).values.allSatisfy { !$0 })
    #expect(names(run).isSuperset(of: ["noSuchKey", "storeDamaged"]), "\(run.json)")
    #expect(run.code == 1)
  }
}

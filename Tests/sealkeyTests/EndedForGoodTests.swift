// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SecurityKeys
import TestSupport
import Testing
import WebAuthnCore

@testable import sealkey

/// What is gone stays gone, what is kept stays kept, and a PIN goes to the key that it was given for.
@Suite(.programs) struct EndedForGoodTests {
  let folder: TemporaryFolder
  let here: [String]

  init() throws {
    folder = try TemporaryFolder()
    here = ["--key", "virtual", "--data-dir", "\(folder.path)/here"]
  }

  private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

  @Test func aDeletionDoesNotBringARevokedDeviceBack() throws {
    for words in [
      ["device", "make", "laptop"], ["register", "--name", "Ada", "--out", path("ada.json")],
      ["endorse", "--identity", "Ada", "--device", "laptop", "--out", path("e.json")],
      ["revoke-device", "--identity", "Ada", "--device", "laptop", "--out", path("r.json")],
    ] { #expect(try Sealkey.run(words + here).code == 0, "\(words)") }
    #expect(try Sealkey.failures(Sealkey.run(["verify", path("e.json")] + here)).contains("deviceRevoked"))
    #expect(try Sealkey.run(["delete", "--identity", "Ada", "--yes", "--out", path("m.json")] + here).code == 0)
    #expect(try Sealkey.failures(Sealkey.run(["verify", path("e.json")] + here)).contains("deviceRevoked"))
    let again = try Sealkey.run(["directory", "import", path("r.json")] + here)
    #expect(again.json["identities"]?.array?.first?["result"]?.string == "unchanged")
    #expect(try Sealkey.run(["store", "check"] + here).code == 0)
  }

  /// Somebody unknown is not deleted by a record's bare word: it would keep the genuine record out for good.
  @Test func aBareWordOfADeletionNeedsSomebodyKnown() throws {
    let register = ["register", "--name", "Ada", "--out", path("ada.json"), "--endorse", "--device", path("l.device")]
    #expect(try Sealkey.run(register + here).code == 0)
    let exported = try Sealkey.run(["directory", "export", "--out", path("people.json")] + here)
    #expect(exported.code == 0, "\(exported.json)")
    let listed = try Sealkey.run(["directory", "list"] + here).json["identities"]?.array?.first
    let hash = try #require(listed?["rootHash"]?.string)
    let wrong = Base64.encode([UInt8](repeating: 0x11, count: 64), .standard)
    let poison = #"{"recordName":"\#(hash)","publicKey":"\#(wrong)","tier":"deleted","displayName":"Ada"}"#
    try Sealkey.put(poison, path("poison.json"))
    let there = ["--data-dir", path("there")]
    let refused = try Sealkey.run(["directory", "import", path("poison.json")] + there)
    #expect(refused.error == "unprovenIdentityRecord", "\(refused.json)")
    #expect(try Sealkey.run(["directory", "import", path("people.json")] + there).code == 0)
  }

  /// `--pending` and `demo --capsule` name results: nothing is replaced without a word, and private halves never.
  @Test func resultsReplaceNothing() throws {
    let own = path("own.device")
    #expect(try Sealkey.run(["register", "--name", "Ada", "--endorse", "--device", own] + here).code == 0)
    let before = try Program.run("cat", [own]).out
    let request = ["request", "register", "--name", "Zoe", "--pending"]
    for words in [request + [own], ["demo", "--capsule", own, "--stage", "sealed"]] {
      for more in [[], ["--replace"]] {
        let run = try Sealkey.run(words + more + here)
        #expect(run.error == "fileExists" && run.code == 7, "\(words): \(run.json)")
      }
    }
    #expect(try Program.run("cat", [own]).out == before)
    #expect(try Sealkey.run(request + [path("here/directory.json"), "--replace"] + here).error == "fileExists")
    #expect(try Sealkey.run(request + [path("z.json")] + here).code == 0)
    #expect(try Sealkey.run(request + [path("z.json")] + here).error == "fileExists")
    #expect(try Sealkey.mode(path("z.json")) == "600")
    // A link that leads nowhere is in the way all the same, before anybody touches anything.
    _ = try Program.run("ln", ["-s", "/nonexistent/x", path("dangling")])
    let dangling = try Sealkey.run(["register", "--name", "Bo", "--out", path("dangling")] + here)
    #expect(dangling.error == "fileExists" && !dangling.err.contains("Touch"), "\(dangling.err)")
  }

  /// Other people's files in a folder that is given as the data directory are not leftovers of ours.
  @Test func filesOfOthersStay() throws {
    _ = try Program.run("mkdir", ["-m", "700", path("here")])
    for name in ["notes.new.2024", "mail.tmp-4194303"] { _ = try Program.run("touch", [path("here/\(name)")]) }
    #expect(try Sealkey.run(["register", "--name", "Ada", "--out", path("ada.json")] + here).code == 0)
    for name in ["notes.new.2024", "mail.tmp-4194303"] { #expect(try Sealkey.exists(path("here/\(name)")), "\(name)") }
  }

  @Test func aSpareThatIsRevokedIsNotInTheWayOfTheNext() throws {
    #expect(try Sealkey.run(["register", "--name", "Ada", "--out", path("ada.json")] + here).code == 0)
    for key in ["virtual:final", "virtual:protocol2"] {
      let add = ["backup", "add", "--identity", "Ada", "--label", "spare", "--new-key", key]
      let added = try Sealkey.run(add + here)
      #expect(added.code == 0, "\(added.json)")
      let revoked = try Sealkey.run(["backup", "revoke", "--identity", "Ada", "--label", "spare"] + here)
      #expect(revoked.code == 0, "\(revoked.json)")
    }
  }

  @Test func theUsualKeyIsTheSameByName() throws {
    #expect(try Sealkey.run(["register", "--name", "Ada", "--out", path("ada.json")] + here).code == 0)
    let words = ["sign-in", "--device", path("phone"), "--out", path("in.json"), "--key", "virtual:virtual"]
    let run = try Sealkey.run(words + ["--data-dir", path("here")])
    #expect(run.code == 0, "\(run.json)")
  }

  @Test func aSpareHasANameOfItsOwn() throws {
    #expect(try Sealkey.run(["register", "--name", "Ada", "--out", path("ada.json")] + here).code == 0)
    let add = ["backup", "add", "--identity", "Ada", "--label", "spare", "--new-key"]
    #expect(try Sealkey.run(add + ["virtual:final"] + here).code == 0)
    // Said before anybody touches anything.
    for (label, name) in [("spare", "labelTaken"), ("a\u{1}b", "badName"), ("   ", "badName")] {
      let run = try Sealkey.run(
        ["backup", "add", "--identity", "Ada", "--label", label, "--new-key", "virtual:protocol2"] + here)
      #expect(run.error == name, "\(run.json)")
      #expect(!run.err.contains("Touch the key"))
    }
  }

  @Test func aPINIsAskedForAgainWhenTheKeyMayBeAnother() async throws {
    let asked = Locked(0)
    let remembered = RememberedPIN { _ in
      asked.withLock { $0 += 1 }
      return SecretBytes(Array("2468".utf8))
    }
    var request = PINRequest(keyName: "k", triesLeft: 8, minimumLength: 4)
    _ = try await remembered.ask(request)
    _ = try await remembered.ask(request)
    #expect(asked.withLock { $0 } == 1)
    request.mayBeAnotherKey = true
    _ = try await remembered.ask(request)
    #expect(asked.withLock { $0 } == 2)
  }
}

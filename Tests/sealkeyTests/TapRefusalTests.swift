// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// Who may not tap or confirm, and why: told by name, before anybody touches anything.
@Suite(.programs) struct TapRefusalTests {
  /// Whoever is no key holder of the estate is told so, and who is.
  @Test func whoIsNoKeyHolder() throws {
    let estate = try HolderEstate("open")
    let strangers = try HolderEstate("open")
    let holders = "Its key holders are Karin (simulated), David (simulated), Ruth (simulated)."
    let emma = ["--identity", estate.path("p/emma/identity.json")]
    let table: [([String], String, String)] = [
      ([estate.file] + estate.data("emma") + emma, "notAKeyHolder", "Emma (simulated) is not a key holder"),
      ([strangers.file] + estate.data("karin"), "notAKeyHolder", "Karin (simulated) is not a key holder"),
      ([estate.file] + estate.data("emma"), "noDeviceKey", "speaks for a key holder"),
      ([estate.file] + estate.data("ada"), "notAKeyHolder", "Ada (simulated) is not a key holder"),
    ]
    for (arguments, name, words) in table {
      let refused = try Sealkey.run(["tap", "--capsule"] + arguments)
      let message = refused.json["error"]?["message"]?.string ?? ""
      #expect(refused.error == name, "\(refused.json)")
      #expect(message.contains(words) && message.contains(holders), "\(message)")
    }
  }

  /// A key holder's new computer: the device is endorsed, and the record does not know it before the owner seals again.
  @Test func aNewDeviceHoldsNoShareYet() throws {
    let estate = try HolderEstate("open")
    let new = ["--key", "virtual", "--data-dir", estate.path("new")]
    _ = try Program.run("mkdir", ["-m", "700", estate.path("new")])
    _ = try Program.run("cp", ["-p", estate.path("p/karin/virtual-key"), estate.path("new")])
    for who in ["karin", "ada"] {
      #expect(try Sealkey.run(["directory", "import", estate.path("p/\(who)/identity.json")] + new).code == 0)
    }
    #expect(try Sealkey.run(["sign-in"] + new).code == 0)
    for verb in ["tap", "confirm"] {
      let refused = try Sealkey.run([verb, "--capsule", estate.file] + new)
      #expect(refused.error == "noShare", "\(refused.json)")
      #expect(refused.code == 6)
      #expect(refused.json["error"]?["next"]?.string?.contains("seal again") == true)
    }
  }

  @Test func refusalsHaveTheirNamesAndCodes() throws {
    let estate = try HolderEstate("open")
    let tap = ["tap", "--capsule", estate.file]
    func run(_ arguments: [String], _ who: String = "karin") throws -> Sealkey.Run {
      try Sealkey.run(arguments + estate.data(who))
    }
    // Nobody to ask. --yes is no answer to a question about a sign of life; the explanation is given all the same.
    for words in [[], ["--yes"]] {
      let asked = try run(tap + words)
      #expect(asked.error == "nobodyToAsk")
      #expect(asked.code == 6)
      #expect(asked.err.contains("days old: check-in"))
      let answer = try estate.seen().joined(separator: " ")
      #expect(asked.json["error"]?["next"]?.string?.hasSuffix("add: \(answer)") == true)
      #expect(!asked.err.contains("Touch the key"))
    }
    let other = try run(tap + ["--last-sign", "2020-01-01T00:00:00Z"])
    #expect(other.error == "lastSignDiffers")
    #expect(other.code == 6)
    #expect(try run(tap + ["--yes", "--claim", "another"]).error == "notTheCurrentClaim")
    #expect(try run(tap + ["--yes", "--use-record-times"]).error == "claimTimeUnproven")
    #expect(try run(tap + ["--yes", "--estate", "x"]).error == "conflictingOptions")
    let none = try run(tap + ["--yes"], "emma")
    #expect(none.error == "noDeviceKey")
    #expect(none.json["error"]?["next"]?.string?.contains("A device made now is in no record") == true)
    #expect(try run(tap + ["--yes"], "ada").error == "notAKeyHolder")
    // A computer that has never seen the estate, and does not know the owner.
    let stranger = ["--key", "virtual", "--data-dir", estate.path("other")]
    let given = [
      "--identity", estate.path("p/karin/identity.json"), "--device", estate.path("p/karin/devices/laptop.device"),
    ]
    let first = try Sealkey.run(tap + ["--yes"] + given + stranger)
    #expect(first.error == "ownerNotPinned")
    #expect(first.err.contains("never seen this estate before"))
    let owner = try #require(
      try run(["directory", "list"]).json["identities"]?.array?.first { $0["name"]?.string == "Ada (simulated)" })
    let key = ["--owner-key", try #require(owner["publicKeyHex"]?.string)]
    let late = try Sealkey.run(tap + ["--yes"] + given + key + stranger)
    #expect(late.error == "notOpen")
    #expect(late.code == 6)
    let wrong = [
      "--owner-key", try #require(owner["publicKeyHex"]?.string).map { $0 == "a" ? "b" : $0 }.map(String.init).joined(),
    ]
    #expect(try run(tap + ["--yes"] + wrong).error == "publicKeyChanged")
    // The wrong key in the port: nothing is kept of it.
    let mixed = try Sealkey.run(
      tap + estate.seen() + ["--data-dir", "\(estate.folder.path)/p/karin", "--key", "virtual:final"])
    #expect(mixed.error == "notOnThisKey")
    let whose = mixed.json["error"]?["message"]?.string
    #expect(whose?.contains("This is not the key of Karin (simulated)") == true)
    let shown = try run(["capsule", "show", estate.file])
    #expect(shown.json["byFirstSight"]?["taps"]?.array?.count == 0)
    #expect(try Sealkey.run(["tap", "--into", "x"]).error == "missingOption")
    for verb in ["tap", "confirm"] {
      #expect(try Sealkey.run([verb]).json["error"]?["message"]?.string?.contains("--capsule") == true)
      let bare = try Sealkey.run([verb, "--estate", "E"])
      #expect(bare.json["error"]?["message"]?.string?.contains("--identity") == true)
    }
    // The day alone says which sign was seen.
    let day = try estate.seen().map { String($0.prefix { $0 != "T" }) }
    #expect(day[1].utf8.count == 10)
    #expect(try run(tap + day).code == 0)
  }

  /// Whoever deleted their identity says nothing more with it, and is not asked to touch anything.
  @Test func aDeletedKeyHolderIsRefusedBeforeTheTouch() throws {
    let estate = try HolderEstate("open")
    func run(_ arguments: [String]) throws -> Sealkey.Run { try Sealkey.run(arguments + estate.data("karin")) }
    let name = "Karin (simulated)"
    let file = estate.path("p/karin/identity.json")
    let seen = try estate.seen()
    #expect(try run(["delete", "--identity", name, "--yes", "--out", estate.path("x")]).code == 0)
    let bare = ["--identity", file, "--estate", "E", "--epoch", "1", "--head", ""]
    for arguments in [
      ["tap", "--capsule", estate.file] + seen, ["confirm", "--capsule", estate.file],
      ["tap", "--capsule", estate.file, "--identity", file] + seen,
      ["tap", "--claim", "C"] + bare, ["confirm"] + bare,
      ["endorse", "--identity", file, "--device", estate.path("new.device")],
      ["backup", "add", "--identity", name, "--label", "spare", "--new-key", "virtual:protocol2"],
      ["backup", "revoke", "--identity", name, "--label", "spare"],
      ["revoke-device", "--identity", name, "--device", "laptop"],
    ] {
      let refused = try run(arguments)
      #expect(refused.error == "identityDeleted", "\(arguments) \(refused.json)")
      #expect(refused.code == 6)
      #expect(!refused.err.contains("ouch the key"), "\(arguments) \(refused.err)")
    }
    #expect(try !Sealkey.exists(estate.path("new.device")))
    // A store in which nobody else is known, so that no key could be anybody's.
    let alone = ["--key", "virtual", "--data-dir", estate.path("alone")]
    #expect(try Sealkey.run(["directory", "import", file] + alone).code == 0)
    #expect(try Sealkey.run(["directory", "import", estate.path("x")] + alone).code == 0)
    for words in [[], ["--passkey"]] {
      let refused = try Sealkey.run(["sign-in"] + words + alone)
      #expect(refused.error == "identityDeleted", "\(refused.json)")
      #expect(!refused.err.contains("ouch"), "\(refused.err)")
    }
  }

  @Test(arguments: [("sealed", "noClaim"), ("claimed", "notOpen")])
  func closedStages(_ stage: String, _ name: String) throws {
    let estate = try HolderEstate(stage)
    let run = try Sealkey.run(["tap", "--capsule", estate.file, "--yes"] + estate.data("karin"))
    #expect(run.error == name)
    #expect(run.code == 6)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// Devices that were revoked and people who were deleted: nobody touches anything for them, and an older copy of a record
/// does not bring them back.
@Suite(.programs) struct EndedTests {
  let folder: TemporaryFolder
  let here: [String]
  let bob: [String]

  init() throws {
    folder = try TemporaryFolder()
    here = ["--key", "virtual", "--data-dir", "\(folder.path)/here"]
    bob = ["--key", "virtual:final", "--data-dir", "\(folder.path)/here"]
    for words in [
      ["device", "make", "laptop"] + here,
      ["register", "--name", "Ada", "--endorse", "--device", "laptop", "--out", path("old.json")] + here,
      ["register", "--name", "Bob", "--endorse", "--device", path("b.device"), "--out", path("bob.json")] + bob,
      ["meet", "--me", "Ada", "--device", "laptop", "--friend", "Bob", "--out", path("f.json")] + bob,
    ] { #expect(try Sealkey.run(words).code == 0, "\(words)") }
  }

  private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

  /// Refused under that name, before the key asked for a touch.
  private func untouched(_ words: [String], _ name: String) throws {
    let run = try Sealkey.run(words)
    #expect(run.error == name, "\(words): \(run.json)")
    #expect(!run.err.contains("Touch the key"), "\(words)")
  }

  private func checks(_ words: [String]) throws -> [String] {
    try Sealkey.run(words).json["checks"]?.array?.compactMap { $0["name"]?.string } ?? []
  }

  @Test func aRevokedDevice() throws {
    let handshake = path("f-handshake.json")
    func standing(_ member: String) throws -> [String] {
      let list = try Sealkey.run(["device", "list"] + here).json[member]?.array ?? []
      return list.map { "\($0["device"]?.string ?? "-") \($0["name"]?.string ?? "-")" }
    }
    #expect(try Sealkey.run(["verify", handshake, "--identity", path("old.json")] + here).code == 0)
    #expect(try standing("speaksFor") == ["laptop Ada"])
    #expect(try standing("revokedBy").isEmpty)
    #expect(try Sealkey.run(["revoke-device", "--identity", "Ada", "--device", "laptop"] + here).code == 0)
    #expect(try standing("speaksFor").isEmpty)
    #expect(try standing("revokedBy") == ["laptop Ada"])
    // The older copy is good as it is, and what is known here counts all the same.
    #expect(try !checks(["verify", path("old.json"), "--data-dir", path("none")]).contains("deviceRevoked"))
    #expect(try checks(["verify", path("old.json")] + here).contains("deviceRevoked"))
    for named in [[], ["--identity", path("old.json")], ["--identity", "Ada"]] {
      let run = try Sealkey.run(["verify", handshake] + named + here)
      #expect(try Sealkey.failures(run) == ["deviceNotEndorsed"])
      let why = run.json["checks"]?.array?.first { $0["name"]?.string == "deviceNotEndorsed" }
      #expect(why?["explanation"]?.string?.contains("was revoked") == true)
    }
    #expect(
      try Sealkey.run(["verify", handshake, "--identity", path("old.json"), "--data-dir", path("none")]).code == 0)
    for me in ["Ada", path("old.json")] {
      try untouched(["meet", "--me", me, "--device", "laptop", "--friend", "Bob"] + bob, "deviceNotEndorsed")
      let receipt = ["receipt", "--giver", me, "--device", "laptop", "--receiver", "Bob", "--item", "x"]
      try untouched(receipt + bob, "deviceNotEndorsed")
      try untouched(["endorse", "--identity", me, "--device", "laptop"] + here, "deviceRevoked")
    }
    // As a list shows the device, as a check calls it, and its whole key.
    let digits = try #require(
      try Sealkey.run(["device", "export", "laptop"] + here).json["devicePublicKeyHex"]?.string)
    for text in [digits, "\(digits.prefix(18))...", String(digits.dropFirst(2).prefix(8)), digits.uppercased()] {
      let again = try Sealkey.run(["revoke-device", "--identity", "Ada", "--device-public-key", text] + here)
      #expect(again.code == 0, "\(text)")
      #expect(again.err.contains("revoked already"))
    }
    // Another key than theirs is told so, and has signed nothing.
    let stranger = try Sealkey.run(["revoke-device", "--identity", "Ada", "--device", "laptop"] + bob)
    #expect(stranger.error == "notOnThisKey")
    #expect(stranger.json["error"]?["message"]?.string?.contains("not the key of Ada") == true)
    // Whose key it is, only a touch can say; the second one is spared.
    let signIn = try Sealkey.run(["sign-in", "--device", "laptop"] + here)
    #expect(signIn.error == "deviceRevoked")
    #expect(signIn.err.components("Touch the key") == 1)
  }

  @Test func aDeletedPerson() throws {
    #expect(try Sealkey.run(["delete", "--identity", "Bob", "--yes"] + bob).code == 0)
    let ada = ["--me", "Ada", "--device", "laptop"]
    for who in ["Bob", path("bob.json")] {
      try untouched(["meet"] + ada + ["--friend", who] + bob, "identityDeleted")
      let receipt = ["receipt", "--giver", "Ada", "--device", "laptop", "--receiver", who, "--item", "x"]
      try untouched(receipt + bob, "identityDeleted")
      try untouched(["endorse", "--identity", who, "--device", "laptop"] + bob, "identityDeleted")
      try untouched(["delete", "--identity", who, "--yes"] + bob, "identityDeleted")
    }
    // What Bob signed before stays signed, and whoever reads it is told.
    for named in [[], ["--identity", path("bob.json")]] {
      let run = try Sealkey.run(["verify", path("f.json")] + named + here)
      #expect(run.code == 0)
      #expect(run.json["checks"]?.array?.contains { $0["name"]?.string == "identityDeleted" } == true)
    }
  }

  /// Nothing that a person says writes over what is kept here.
  @Test func resultsOverTheStore() throws {
    let before = try Sealkey.text(path("here/directory.json"))
    _ = try Program.run("ln", ["-s", path("here"), path("link")])
    for target in ["here/directory.json", "link/directory.json", "here/known-keys.json", "here/devices/new"] {
      let run = try Sealkey.run(["directory", "export", "--out", path(target), "--replace"] + here)
      #expect(run.error == "fileExists", "\(target)")
    }
    #expect(try Sealkey.text(path("here/directory.json")) == before)
    #expect(try Sealkey.run(["directory", "export", "--out", path("people.json"), "--replace"] + here).code == 0)
    // Words that say nothing.
    #expect(try Sealkey.run(["register", "--name", "  "] + here).error == "badName")
    let nothing = ["receipt", "--giver", "Ada", "--device", "laptop", "--receiver", "Bob", "--item", " "]
    #expect(try Sealkey.run(nothing + bob).error == "badValue")
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// What people do with each other and with their keys, from the command line.
@Suite(.programs) struct PeopleCommandTests {
  @Test func aLifeOfAnIdentity() throws {
    let folder = try TemporaryFolder()
    func path(_ name: String) -> String { "\(folder.path)/\(name)" }
    let here = ["--key", "virtual", "--data-dir", path("here")]
    func good(_ arguments: [String], _ data: [String] = here) throws -> JSONValue {
      let run = try Sealkey.run(arguments + data)
      #expect(run.code == 0, "\(arguments.joined(separator: " ")): \(run.json) \(run.err)")
      return run.json
    }
    // Two people, each with a key; both are known here.
    _ = try good(["device", "make", "laptop"])
    _ = try good(["register", "--name", "Ada", "--out", path("ada.json")])
    // Bob's key, which he plugs in here when he taps.
    let bobHere = ["--data-dir", path("here"), "--key", "virtual:final"]
    _ = try good(
      [
        "register", "--name", "Bob", "--endorse", "--device", path("b.device"), "--out", path("bob.json"), "--no-store",
      ],
      bobHere)
    _ = try good(["directory", "import", path("bob.json")])

    let signed = try good(["sign-in", "--device", "laptop", "--out", path("me.json")])
    #expect(signed["name"]?.string == "Ada")
    #expect(signed["backup"]?.bool == false)
    _ = try good(["verify", path("me.json")])
    #expect(try Sealkey.run(["sign-in", "--key", "virtual", "--data-dir", path("none")]).error == "directoryEmpty")

    let met = try good(
      ["meet", "--me", "Ada", "--device", "laptop", "--friend", "Bob", "--out", path("f.json")], bobHere)
    #expect(met["pinned"]?.bool == true)
    _ = try good(["verify", path("f.json")])
    _ = try good(["verify", path("f-handshake.json")])
    let list = try good(["directory", "list"])["identities"]?.array
    #expect(list?.allSatisfy { $0["pinned"]?.bool == true } == true)
    try Sealkey.put("a picture", path("box.jpg"))
    _ = try good(
      [
        "receipt", "--giver", "Ada", "--device", "laptop", "--receiver", "Bob", "--item", "The blue box", "--photo",
        path("box.jpg"), "--out", path("r.json"),
      ], bobHere)
    _ = try good(["verify", path("r.json")])
    let wrongKey = try Sealkey.run(
      ["receipt", "--giver", "Ada", "--device", "laptop", "--receiver", "Bob", "--item", "x"] + here)
    #expect(wrongKey.error == "notOnThisKey")

    // A spare key, which signs in, and is then dead.
    let spare = ["--data-dir", path("here"), "--key", "virtual:protocol2"]
    let added = try good(
      [
        "backup", "add", "--identity", "Ada", "--label", "spare", "--new-key", "virtual:protocol2", "--out",
        path("s.json"),
      ])
    #expect(added["label"]?.string == "spare")
    _ = try good(["verify", path("s.json")])
    func spares() throws -> [String]? {
      let ada = try good(["directory", "list"])["identities"]?.array?.first { $0["name"]?.string == "Ada" }
      return ada?["spares"]?.array?.compactMap { $0["label"]?.string }
    }
    #expect(try spares() == ["spare"])
    let bySpare = try good(["sign-in", "--device", "desk"], spare)
    #expect(bySpare["backup"]?.bool == true)
    let selfBackup = try Sealkey.run(
      ["backup", "add", "--identity", "Ada", "--label", "again", "--new-key", "virtual:protocol2"] + here)
    #expect(selfBackup.error == "selfBackup")
    #expect(selfBackup.code == 6)
    #expect(
      try Sealkey.run(["backup", "revoke", "--identity", "Ada", "--label", "none"] + here).error == "nothingToRevoke")
    _ = try good(["backup", "revoke", "--identity", "Ada", "--label", "spare", "--out", path("br.json")])
    _ = try good(["verify", path("br.json")])
    #expect(try spares() == [])
    #expect(try Sealkey.run(["sign-in", "--device", "desk"] + spare).error == "credentialNoLongerValid")

    // A device that is lost is found in the list, and the beginning of its key is enough.
    _ = try good(["sign-in", "--device", "attic"])
    let listed = try good(["directory", "list"])["identities"]?.array?.first { $0["name"]?.string == "Ada" }
    let attic = try #require(listed?["devices"]?.array?.first { $0["label"]?.string == "attic" })
    let digits = try #require(attic["devicePublicKeyHex"]?.string)
    #expect(digits.count == 130)
    let revoke = ["revoke-device", "--identity", "Ada", "--device-public-key"]
    #expect(try Sealkey.run(revoke + ["04"] + here).error == "badValue")
    #expect(try Sealkey.run(revoke + ["0400000000"] + here).error == "nothingToRevoke")
    #expect(try good(revoke + [String(digits.prefix(18))])["publicKeyHex"]?.string == digits)
    _ = try good(["revoke-device", "--identity", "Ada", "--device", "laptop", "--out", path("dr.json")])
    _ = try good(["verify", path("dr.json")])
    let devices = try good(["directory", "list"])["identities"]?.array?.first { $0["name"]?.string == "Ada" }
    #expect(devices?["liveDevices"]?.int == 0, "the one of the spare key fell with it")

    #expect(try Sealkey.run(["delete", "--identity", "Ada"] + here).error == "nobodyToAsk")
    _ = try good(["delete", "--identity", "Ada", "--yes", "--out", path("x.json")])
    _ = try good(["verify", path("x.json"), "--identity", path("ada.json")])
    #expect(try Sealkey.run(["directory", "import", path("ada.json")] + here).error == "identityDeleted")
    #expect(try Sealkey.run(["sign-in"] + here).error == "identityDeleted")
    let checks = try good(["store", "check"])["checks"]?.array
    #expect(checks?.contains { $0["name"]?.string == "identityDeleted" } == true)
  }
}

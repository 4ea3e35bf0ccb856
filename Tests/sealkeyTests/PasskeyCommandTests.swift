// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import TestSupport
import Testing
import WebAuthnCore

/// A browser with a passkey in it: it takes the options that the built program writes, and answers as a browser does.
private final class Browser {
  let key: P256.Signing.PrivateKey
  let id = Random.bytes(32)
  /// BE and BS, as a synchronised passkey has them.
  var flags: UInt8 = 0x18

  init() throws { key = try P256.Signing.PrivateKey() }

  func answer(_ options: JSONValue) throws -> String {
    func text(_ bytes: [UInt8]) -> JSONValue { .string(Base64.encode(bytes, .url)) }
    let challenge = try #require(options["challenge"]?.string.flatMap { Base64.decode($0, .url) })
    let isRegistration = options["user"] != nil
    let client = ClientData(type: isRegistration ? .create : .get, challenge: challenge, origin: Seal.origin)
    let head = SHA256.hash(Array(Seal.relyingPartyID.utf8))
    let response: [(String, JSONValue?)]
    if isRegistration {
      let point = key.publicKey.rawRepresentation
      var cose: [UInt8] = [0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32]
      cose += point.prefix(32)
      cose += [0x22, 0x58, 32]
      cose += point.suffix(32)
      var data = head
      data.append(0x45 | flags)
      data += [UInt8](repeating: 0, count: 4 + 16 + 1)
      data.append(UInt8(id.count))
      data += id
      data += cose
      var object: [UInt8] = [0xa3, 0x63]
      object += Array("fmt".utf8)
      object.append(0x64)
      object += Array("none".utf8)
      object.append(0x67)
      object += Array("attStmt".utf8)
      object += [0xa0, 0x68]
      object += Array("authData".utf8)
      object += [0x58, UInt8(data.count)]
      object += data
      response = [("clientDataJSON", text(client.json)), ("attestationObject", text(object))]
    } else {
      var data = head
      data.append(0x05 | flags)
      data += [UInt8](repeating: 0, count: 4)
      response = [
        ("clientDataJSON", text(client.json)), ("authenticatorData", text(data)),
        ("signature", text(try key.signature(for: data + client.hash))),
      ]
    }
    let json: JSONValue = .object([
      ("id", text(id)), ("rawId", text(id)), ("type", .string("public-key")),
      ("authenticatorAttachment", .string("platform")), ("clientExtensionResults", .object([])),
      ("response", .object(response)),
    ])
    return String(decoding: JSONWriter.write(json), as: UTF8.self)
  }
}

/// `request` and `import` with the built program: every ceremony, and the answers that must not be taken.
@Suite struct PasskeyCommandTests {
  let folder: TemporaryFolder
  let data: [String]

  init() throws {
    folder = try TemporaryFolder()
    data = ["--data-dir", "\(folder.path)/data"]
  }

  private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

  /// Asks, answers with `browser`, and takes the answer in.
  private func ceremony(_ words: [String], _ browser: Browser, out: String) throws -> Sealkey.Run {
    let asked = try Sealkey.run(["request"] + words + ["--pending", path("pending"), "--replace"] + data)
    #expect(asked.code == 0, "\(words): \(asked.json)")
    let meaning = [
      "register": "makes a passkey for", "endorse": "signs that a device speaks for",
      "revoke-device": "signs that a device no longer speaks for",
      "tap": "word to release the estate E under the claim",
      "confirm": "still has the key, for the estate E", "delete": "signs the marker that deletes",
    ]
    let said = try #require(meaning[words[0]])
    #expect(asked.err.contains("The answer ") && asked.err.contains(said), "\(asked.err)")
    try Sealkey.put(try browser.answer(#require(asked.json["publicKey"])), path("answer"))
    return try Sealkey.run(
      ["import", path("answer"), "--pending", path("pending"), "--out", path(out), "--replace"] + data)
  }

  @Test func everyCeremony() throws {
    let browser = try Browser()
    let made = try ceremony(["register", "--name", "Ada"], browser, out: "ada.json")
    #expect(made.code == 0, "\(made.json)")
    #expect(made.json["tier"]?.string == "passkey")
    #expect(made.json["telemetry"]?.string?.contains("flags=UP|UV|BE|BS|AT") == true, "\(made.json)")
    let estate = ["--estate", "E", "--epoch", "1", "--head", ""]
    for (words, kind) in [
      (["endorse", "--device", "laptop"], "endorsement"), (["tap", "--claim", "C"] + estate, "assertion"),
      (["confirm"] + estate, "assertion"), (["revoke-device", "--device", "laptop"], "revocation"),
      (["delete"], "deleteMarker"),
    ] as [([String], String)] {
      let run = try ceremony(words + ["--identity", "Ada"], browser, out: "\(words[0]).json")
      #expect(run.code == 0, "\(words): \(run.json)")
      #expect(run.json["kind"]?.string == kind)
      #expect(
        try Sealkey.run(["verify", path("\(words[0]).json"), "--identity", path("ada.json")]).code == 0, "\(words)")
      let known = try Sealkey.run(["directory", "list"] + data).json["identities"]?.array?.first
      switch words[0] {
      case "endorse": #expect(known?["liveDevices"]?.int == 1)
      case "revoke-device": #expect(known?["liveDevices"]?.int == 0)
      case "delete": #expect(known?["tier"]?.string == "deleted")
      default: break
      }
    }
  }

  /// WebAuthn level 3: backup state without backup eligibility is a contradiction, and eligibility never changes.
  @Test func backupFlagsFollowTheirRules() throws {
    let browser = try Browser()
    browser.flags = 0x10
    #expect(try ceremony(["register", "--name", "Ada"], browser, out: "x").error == "verificationFailed")
    #expect(try !Sealkey.exists(path("x")))
    for flags: UInt8 in [0x00, 0x08, 0x18] {
      let other = try Browser()
      other.flags = flags
      let name = "P\(flags)"
      #expect(try ceremony(["register", "--name", name], other, out: "\(name).json").code == 0)
      // Backed up only now: allowed where it could be from the beginning.
      let tap = ["confirm", "--identity", path("\(name).json"), "--estate", "E", "--epoch", "1", "--head", ""]
      for later: UInt8 in [0x00, 0x08, 0x10, 0x18] {
        other.flags = later
        let run = try ceremony(tap, other, out: "tap.json")
        let isGood = later != 0x10 && (later & 0x08) == (flags & 0x08)
        #expect(run.error == (isGood ? nil : "verificationFailed"), "\(flags) then \(later): \(run.json)")
      }
    }
  }

  /// Known by name alone, there is no registration to look at: what the root signed before says the same.
  @Test func eligibilityIsKnownFromAnEndorsementToo() throws {
    let browser = try Browser()
    #expect(try ceremony(["register", "--name", "Ada"], browser, out: "ada.json").code == 0)
    #expect(try ceremony(["endorse", "--identity", "Ada", "--device", "laptop"], browser, out: "e.json").code == 0)
    let confirm = ["confirm", "--identity", "Ada", "--estate", "E", "--epoch", "1", "--head", ""]
    browser.flags = 0
    #expect(try ceremony(confirm, browser, out: "x.json").error == "verificationFailed")
    browser.flags = 0x08
    #expect(try ceremony(confirm, browser, out: "x.json").code == 0)
  }

  @Test func nobodyIsAskedToEndorseWhatWasRevoked() throws {
    let browser = try Browser()
    #expect(try ceremony(["register", "--name", "Ada"], browser, out: "ada.json").code == 0)
    for word in ["endorse", "revoke-device"] {
      let words = [word, "--identity", "Ada", "--device", "laptop"]
      #expect(try ceremony(words, browser, out: "\(word).json").code == 0)
    }
    let again = ["request", "endorse", "--identity", "Ada", "--device", "laptop", "--pending", path("again")]
    #expect(try Sealkey.run(again + data).error == "deviceRevoked")
    #expect(try !Sealkey.exists(path("again")))
  }

  @Test func wrongAnswersAreRefused() throws {
    let (browser, other) = (try Browser(), try Browser())
    #expect(try ceremony(["register", "--name", "Ada"], browser, out: "ada.json").code == 0)
    let tap = ["confirm", "--identity", path("ada.json"), "--estate", "E", "--epoch", "1", "--head", ""]
    #expect(try ceremony(tap, other, out: "x").error == "unexpectedCredential")
    #expect(try Sealkey.run(["import", path("answer"), "--pending", path("nothing")] + data).error == "fileNotFound")
    #expect(try Sealkey.run(["import", "/dev/null", "--pending", path("pending")] + data).error == "notARegularFile")
    #expect(
      try Sealkey.run(["request", "dance", "--identity", path("ada.json"), "--pending", path("p")] + data).error
        == "badValue")
    #expect(try Sealkey.run(["request", "register", "--name", "A"] + data).error == "missingOption")
    // The answer to one question is none to another.
    _ = try ceremony(tap, browser, out: "good.json")
    _ = try Sealkey.run(
      ["request"] + tap.map { $0 == "E" ? "F" : $0 } + ["--pending", path("pending"), "--replace"] + data)
    #expect(
      try Sealkey.run(["import", path("answer"), "--pending", path("pending")] + data).error == "verificationFailed")
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// A key for somebody else, as a person makes and tries one.
@Suite(.programs) struct SponsorCommandTests {
  @Test func sponsorAndUnlock() throws {
    let folder = try TemporaryFolder()
    let key = ["--key", "virtual", "--data-dir", "\(folder.path)/key"]
    let record = "\(folder.path)/emma.json"
    let sponsor = ["sponsor", "--name", "Emma", "--out", record] + key
    // Without a PIN nothing is touched and nothing is written.
    let early = try Sealkey.run(sponsor, pin: "tulip")
    #expect(early.error == "uvNotConfigured")
    #expect(early.code == 4)
    #expect(!early.err.contains("Touch the key"))
    #expect(!early.err.contains("The first touch"))
    #expect(try !Sealkey.exists(record))

    #expect(try Sealkey.run(["pin", "set"] + key, pin: "tulip").code == 0)
    let made = try Sealkey.run(sponsor, pin: "tulip")
    #expect(made.code == 0, "\(made.err)")
    #expect(made.json["proven"]?.bool == true)
    #expect(made.json["simulated"]?.bool == true)
    let lock = try #require(made.json["lockFile"]?.string)
    let sheet = try #require(made.json["sheetFile"]?.string)
    for file in [record, lock, sheet] { #expect(try Sealkey.mode(file) == "600") }
    for touch in 1...3 { #expect(made.err.components("Touch the key now (touch \(touch) of 3, ") == 1) }

    for file in [record, lock] {
      let opened = try Sealkey.run(["unlock", file] + key, pin: "tulip")
      #expect(opened.code == 0, "\(file): \(opened.err)")
      #expect(opened.json["saltForm"]?.string == "hashed")
      #expect(opened.json["rootHash"]?.string == made.json["rootHash"]?.string)
      #expect(try Sealkey.run(["verify", file]).code == 0)
    }
    // Another computer that has only the lock's own JSON needs the identity too.
    let seal = try #require(try JSONReader.parse(Array(Sealkey.text(lock).utf8))["seal"])
    try Sealkey.put(String(decoding: JSONWriter.write(seal), as: UTF8.self), "\(folder.path)/raw.json")
    #expect(try Sealkey.run(["unlock", "\(folder.path)/raw.json"] + key, pin: "tulip").error == "missingOption")
    let raw = try Sealkey.run(["unlock", "\(folder.path)/raw.json", "--identity", record] + key, pin: "tulip")
    #expect(raw.code == 0)

    // Nothing is overwritten, and that is known before the touch.
    let again = try Sealkey.run(sponsor, pin: "tulip")
    #expect(again.error == "fileExists")
    #expect(again.code == 7)
    #expect(!again.err.contains("Touch the key"))

    let wrong = try Sealkey.run(["unlock", record] + key, pin: "1357")
    #expect(wrong.error == "pinInvalid")
    #expect(wrong.code == 4)
    let stranger = try Sealkey.run(["unlock", record, "--key", "virtual", "--data-dir", "\(folder.path)/other"])
    #expect(stranger.error == "wrongKey")
    #expect(!stranger.err.contains("Touch the key"))
    // A changed lock is not the key's fault.
    let text = try Sealkey.text(lock)
    let blob = try #require(try JSONReader.parse(Array(text.utf8))["seal"]?["lockedPrivate"]?.string)
    // The nonce's first byte; a slash may be escaped in the file.
    let (plain, escaped) = (String(blob.prefix(4)), String(blob.prefix(4)).replacing("/", with: "\\/"))
    let start = text.contains(escaped) ? escaped : plain
    let other = (start.hasPrefix("A") ? "B" : "A") + start.drop { $0 == "\\" }.dropFirst()
    #expect(text.components(start) == 1)
    try Sealkey.put(text.replacing(start, with: other), "\(folder.path)/changed.json")
    let changed = try Sealkey.run(["unlock", "\(folder.path)/changed.json"] + key, pin: "tulip")
    #expect(changed.error == "lockChanged", "\(changed.json)")
    // What only the key can tell is said, and what the file says twice must agree.
    func names(_ file: String) throws -> [String] {
      try Sealkey.run(["verify", file]).json["checks"]?.array?.compactMap { $0["name"]?.string } ?? []
    }
    for file in [record, lock] { #expect(try names(file).filter { $0 == "lockNotTried" }.count == 1) }
    let evidence = try #require(try JSONReader.parse(Array(text.utf8))["evidence"])
    let id = try #require(evidence["credentialIDHex"]?.string)
    let device = try #require(made.json["devicePublicKeyHex"]?.string)
    for (digits, name) in [(id, "evidenceCredentialDiffers"), (device, "evidenceStatementDiffers")] {
      #expect(text.contains(digits))
      let wrong = String(digits.dropLast()) + (digits.hasSuffix("0") ? "1" : "0")
      try Sealkey.put(text.replacing(digits, with: wrong), "\(folder.path)/odd.json")
      #expect(try names("\(folder.path)/odd.json").contains(name))
      #expect(try Sealkey.run(["verify", "\(folder.path)/odd.json"]).code == 1)
    }
    let wrongID = String(id.dropLast()) + (id.hasSuffix("0") ? "1" : "0")
    try Sealkey.put(text.replacing(id, with: wrongID), "\(folder.path)/odd.json")
    let blamed = try Sealkey.run(["unlock", "\(folder.path)/odd.json"] + key, pin: "tulip")
    #expect(blamed.error == "lockChanged", "\(blamed.json)")
    #expect(!blamed.err.contains("touch"))
  }

  /// Keys that cannot keep a secret: they are to blame, and no file is left.
  @Test(arguments: [("forgetful-secret", "keyForgets"), ("no-secret", "prfMissing")])
  func anUnfitKey(_ model: String, _ name: String) throws {
    let folder = try TemporaryFolder()
    let key = ["--key", "virtual:\(model)", "--data-dir", "\(folder.path)/key"]
    #expect(try Sealkey.run(["pin", "set"] + key, pin: "tulip").code == 0)
    let made = try Sealkey.run(["sponsor", "--name", "Emma", "--out", "\(folder.path)/e.json"] + key, pin: "tulip")
    #expect(made.error == name, "\(made.json)")
    #expect(made.json["error"]?["next"]?.string?.contains("Use another key") == true)
    for file in ["e.json", "e-lock.json", "e-handover.txt"] {
      #expect(try !Sealkey.exists("\(folder.path)/\(file)"))
    }
  }

  @Test func theSheetSaysWhatMustBeKnown() throws {
    let folder = try TemporaryFolder()
    let key = ["--key", "virtual", "--data-dir", "\(folder.path)/key"]
    _ = try Sealkey.run(["pin", "set"] + key, pin: "tulip")
    let made = try Sealkey.run(
      ["sponsor", "--name", "Emma", "--out", "\(folder.path)/e.json", "--no-prove"] + key, pin: "tulip")
    #expect(made.json["proven"]?.bool == false)
    let sheet = try Sealkey.text("\(folder.path)/e-handover.txt")
    for words in [
      "FOR Emma", "SIMULATED", "knows its PIN is you", "knows the PIN until you change it",
      "does not change the secret",
      "held them for a moment", "Never reset the key", "sealkey unlock e-lock.json", "NOT asked a second time",
      "sealkey pin change", "A wrong PIN is counted", "Compare the",
    ] {
      #expect(sheet.contains(words), "\(words)")
    }
    let hash = try #require(made.json["rootHash"]?.string)
    #expect(sheet.contains("  \(hash.prefix(8)) \(hash.dropFirst(8).prefix(8)) "))
    #expect(!sheet.contains("tulip"))
    #expect(sheet.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }

  @Test func oneFileForTwoIsSaidAsThat() throws {
    let run = try Sealkey.run(["sponsor", "--name", "E", "--out", "/tmp/x-y.json", "--lock", "/tmp/x-y.json"])
    #expect(run.json["error"]?["message"]?.string?.contains("name the same file") == true, "\(run.json)")
  }

  @Test(
    arguments: [
      (["sponsor", "--out", "/tmp/x.json"], "missingOption"), (["sponsor", "--name", "E"], "missingOption"),
      (["sponsor", "--name", "E", "--out", "/nonexistent/x.json"], "fileUnwritable"),
      (["sponsor", "--name", "E", "--out", "/tmp/x-y.json", "--lock", "/tmp/x-y.json"], "conflictingOptions"),
      (["unlock"], "missingOperand"), (["unlock", "/nonexistent"], "fileNotFound"),
      (["unlock", "/dev/null"], "notARegularFile"),
    ] as [([String], String)])
  func wrongUse(_ arguments: [String], _ name: String) throws {
    #expect(try Sealkey.run(arguments + ["--key", "virtual", "--data-dir", "/nonexistent"]).error == name)
  }
}

extension String {
  /// How often a text occurs.
  func components(_ text: String) -> Int {
    var count = 0
    var rest = self[...]
    while let range = rest.firstRange(of: text) {
      count += 1
      rest = rest[range.upperBound...]
    }
    return count
  }
}

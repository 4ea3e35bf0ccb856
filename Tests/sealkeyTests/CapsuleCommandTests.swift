// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import WebAuthnCore

/// A whole made-up estate, and what the program says of it.
@Suite(.programs) struct CapsuleCommandTests {
  @Test(
    arguments: [
      ("sealed", "active"), ("overdue", "overdue"), ("claimed", "warning"), ("open", "claimOpen"),
      ("authorized", "authorized"), ("released", "released"),
    ])
  func everyStageIsWhatItSays(_ stage: String, _ state: String) throws {
    let folder = try TemporaryFolder()
    let file = "\(folder.path)/e.capsule"
    let data = ["--data-dir", "\(folder.path)/data"]
    let made = try Sealkey.run(["demo", "--capsule", file, "--stage", stage] + data)
    #expect(made.code == 0, "\(made.err)")
    #expect(made.json["simulated"]?.bool == true)
    #expect(made.json["identities"]?.array?.allSatisfy { $0["name"]?.string?.contains("(simulated)") == true } == true)
    // Whose estate it is nobody here knows: under --strict that is not good.
    let hash = try #require(made.json["ownerHash"]?.string)
    let record = try JSONReader.parse(Array(Sealkey.text(file).utf8))
    let key = ["--owner-key", try #require(record["identities"]?[hash]?["publicKeyHex"]?.string)]
    for (options, failures) in [
      ([], []), (["--strict"], ["ownerNotPinned"]), (["--strict"] + key, []),
    ] as [([String], [String])] {
      let checked = try Sealkey.run(["capsule", "verify", file] + options + data)
      #expect(checked.code == (failures.isEmpty ? 0 : 1), "\(checked.json)")
      #expect(checked.json["ok"]?.bool == failures.isEmpty)
      #expect(try Sealkey.failures(checked) == failures)
    }
    let shown = try Sealkey.run(["capsule", "show", file] + data)
    #expect(shown.code == 0)
    #expect(shown.json["byStatedTimes"]?["state"]?.string == state)
    #expect(try Sealkey.run(["verify", file] + data).code == 0)
    let text = try Program.run(Program.sealkey, ["capsule", "show", file] + data).out
    for words in ["The rule", "Where it stands", state, "^ now", "key holder  Karin (simulated)"] {
      #expect(text.contains(words), "\(words)")
    }
  }

  /// An estate that comes by mail: the first look and the next say the same of the same claim, and tell the record's time
  /// from this computer's.
  @Test func theFirstLookIsTheFirstSight() throws {
    let folder = try TemporaryFolder()
    let file = "\(folder.path)/e.capsule"
    let data = ["--data-dir", "\(folder.path)/data"]
    #expect(try Sealkey.run(["demo", "--capsule", file, "--stage", "open", "--people", "\(folder.path)/p"]).code == 0)
    let looks = try (0..<2).map { _ in try Sealkey.run(["capsule", "show", file] + data).json }
    #expect(looks.map { $0["firstMeeting"]?.bool } == [true, false])
    for look in looks {
      #expect(look["byStatedTimes"]?["state"]?.string == "claimOpen")
      #expect(look["byFirstSight"]?["state"]?.string == "warning")
      #expect(look["holders"]?.array?.allSatisfy { $0["thisComputer"]?.bool == false } == true)
      #expect(look["holders"]?.array?.allSatisfy { $0["tap"]?.string == "notNow" } == true)
    }
    for member in ["openedAtEpoch", "warningEndsAtEpoch", "opensAtEpoch"] {
      let times = looks.map { $0["byFirstSight"]?["claim"]?[member]?.int }
      #expect(times[0] != nil && times[0] == times[1], "\(member)")
    }
    let text = try Program.run(Program.sealkey, ["capsule", "show", file] + data).out
    for words in [
      "David (simulated) opened the claim (by the record)", "this computer first saw the claim, which counts from here",
      "Claims and taps count here from when this computer first saw them",
    ] { #expect(text.contains(words), "\(words)") }
    let mistyped = try Program.run(
      Program.sealkey,
      ["capsule", "show", file, "--owner-key", String(repeating: "0b", count: 64), "--no-store"] + data)
    #expect(mistyped.out.hasPrefix("The key of --owner-key is NOT the owner's key in this file."), "\(mistyped.out)")
    // Whoever keeps nothing begins anew each time, and is told so.
    let blank = ["--data-dir", "\(folder.path)/none", "--no-store"]
    let unkept = try Program.run(Program.sealkey, ["capsule", "show", file] + blank).out
    #expect(unkept.contains("Nothing of this look is kept"), "\(unkept)")
    // A tap is refused with the day from which it is possible, and whoever may be able to is named.
    let refused = try Sealkey.run(
      [
        "tap", "--capsule", file, "--identity", "\(folder.path)/p/karin/identity.json", "--device",
        "\(folder.path)/p/karin/devices/laptop.device", "--key", "virtual", "--owner-key",
        try #require(try Self.key(of: "ada", folder.path)),
      ] + data)
    #expect(refused.error == "notOpen", "\(refused.json)")
    #expect(refused.json["error"]?["message"]?.string?.contains("It is open from 20") == true)
    #expect(refused.json["error"]?["next"]?.string?.contains("ask the other key holders") == true)
  }

  private static func key(of who: String, _ folder: String) throws -> String? {
    try JSONReader.parse(Array(Sealkey.text("\(folder)/p/\(who)/identity.json").utf8))["evidence"]?["rootPublicKeyHex"]?
      .string
  }

  static let here = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")

  @Test(.enabled(if: Program.python != nil || Program.isCI, "set SEALKEY_PYTHON, or run make test"))
  func pythonAcceptsTheWholeEstate() throws {
    let python = try #require(Program.python, "CI needs SEALKEY_PYTHON: Tools/python-env.sh prints one")
    let folder = try TemporaryFolder()
    let file = "\(folder.path)/e.capsule"
    #expect(try Sealkey.run(["demo", "--capsule", file]).code == 0)
    let script = "/\(Self.here)/Integration/python/verify_capsule.py"
    let result = try Program.run(python, [script, file])
    #expect(result.code == 0, "\(result.out)\(result.err)")
    try spoil(file)
    #expect(try Program.run(python, [script, file]).code != 0)
  }

  /// One bit of the last event's signature.
  private func spoil(_ file: String) throws {
    let text = try Sealkey.text(file)
    let signature = try #require(
      try JSONReader.parse(Array(text.utf8))["events"]?.array?.last?["signatureHex"]?.string)
    let changed = signature.dropLast() + (signature.last == "0" ? "1" : "0")
    try Sealkey.put(text.replacing(signature, with: changed), file)
  }

  @Test func aChangedBitIsSeen() throws {
    let folder = try TemporaryFolder()
    let file = "\(folder.path)/e.capsule"
    let data = ["--data-dir", "\(folder.path)/data"]
    #expect(try Sealkey.run(["demo", "--capsule", file, "--stage", "sealed"]).code == 0)
    try spoil(file)
    for verb in [["capsule", "verify"], ["capsule", "show"], ["verify"]] {
      let checked = try Sealkey.run(verb + [file] + data)
      #expect(checked.code == 1)
      #expect(checked.json["ok"]?.bool == false)
    }
    let names = try Sealkey.run(["capsule", "verify", file] + data).json["checks"]?.array?.compactMap {
      $0["outcome"]?.string == "bad" ? $0["name"]?.string : nil
    }
    #expect(names == ["signatureDoesNotMatch"])
  }

  /// Whoever names people asks about their estate: one of somebody else's is bad, unless its owner is pinned.
  @Test func anEstateOfSomebodyElse() throws {
    let folder = try TemporaryFolder()
    let (file, people) = ("\(folder.path)/e.capsule", "\(folder.path)/p")
    let data = ["--data-dir", "\(folder.path)/data"]
    let made = try Sealkey.run(["demo", "--capsule", file, "--stage", "sealed", "--people", people])
    #expect(made.code == 0, "\(made.err)")
    func named(_ who: String) -> [String] { ["--identity", "\(people)/\(who)/identity.json"] }
    for verb in [["capsule", "verify"], ["capsule", "show"], ["verify"]] {
      #expect(try Sealkey.run(verb + [file] + data).code == 0, "\(verb)")
      #expect(try Sealkey.run(verb + [file] + named("karin") + data).code == 1, "\(verb)")
      #expect(try Sealkey.run(verb + [file] + named("ada") + data).code == 0, "\(verb)")
      #expect(try Sealkey.run(verb + [file] + named("karin") + named("ada") + data).code == 0, "\(verb)")
      // Her backups and revocations may count, where the owner is pinned.
      #expect(
        try Sealkey.run(verb + [file] + named("karin") + ["--data-dir", "\(people)/david"]).code == 0, "\(verb)")
    }
    let checked = try Sealkey.run(["capsule", "verify", file] + named("karin") + data)
    #expect(try Sealkey.failures(checked) == ["ownerIsSomebodyElse"])
    let merge = ["capsule", "merge", file, file, "--out", "\(folder.path)/both"]
    #expect(try Sealkey.failures(Sealkey.run(merge + named("karin") + data)) == ["ownerIsSomebodyElse"])
    let key = try #require(
      try JSONReader.parse(Array(Sealkey.text("\(people)/ada/identity.json").utf8))["evidence"]?["rootPublicKeyHex"]?
        .string)
    let given = ["--owner-key", key] + named("karin") + data
    #expect(try Sealkey.run(["capsule", "verify", file] + given).code == 0)
  }

  @Test func mergingUnites() throws {
    let folder = try TemporaryFolder()
    let (file, other, out) = ("\(folder.path)/e", "\(folder.path)/o", "\(folder.path)/both")
    let data = ["--data-dir", "\(folder.path)/data"]
    #expect(try Sealkey.run(["demo", "--capsule", file]).code == 0)
    #expect(try Sealkey.run(["demo", "--capsule", other, "--stage", "sealed"]).code == 0)
    let merged = try Sealkey.run(["capsule", "merge", file, file, "--out", out] + data)
    #expect(merged.code == 0, "\(merged.json)")
    #expect(merged.json["added"]?.array?.last?.int == 0)
    #expect(try Sealkey.text(out) == Sealkey.text(file))
    let foreign = try Sealkey.run(["capsule", "merge", file, other, "--out", "\(folder.path)/x"] + data)
    #expect(foreign.error == "otherEstate")
    #expect(foreign.code == 6)
    #expect(try !Sealkey.exists("\(folder.path)/x"))
  }

  @Test(
    arguments: [
      (["capsule"], "missingOperand"), (["capsule", "verify"], "missingOperand"),
      (["capsule", "burn", "x"], "badValue"), (["capsule", "verify", "/dev/null", "y"], "extraOperand"),
      (["capsule", "verify", "/dev/null"], "notARegularFile"), (["capsule", "show", "/nonexistent"], "fileNotFound"),
      (["capsule", "merge", "/dev/null"], "missingOption"),
      (["capsule", "verify", "/dev/null", "--owner-key", "00"], "notARegularFile"),
      (["demo", "--stage", "open"], "missingOption"),
      (["demo", "--capsule", "/tmp/no-such.capsule", "--stage", "soon"], "badValue"),
      (["demo", "--capsule", "/nonexistent/x"], "fileUnwritable"),
    ] as [([String], String)])
  func wrongUse(_ arguments: [String], _ name: String) throws {
    #expect(try Sealkey.run(arguments).error == name)
  }
}

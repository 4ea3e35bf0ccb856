// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

/// The command line as a person uses it, on the built-in virtual key.
@Suite(.programs) struct MainJobTests {
  private func json(_ result: Program.Result) throws -> JSONValue { try JSONReader.parse(Array(result.out.utf8)) }

  @Test func demoDoesTheWholeJob() throws {
    let folder = try TemporaryFolder()
    for _ in 0..<2 {
      let result = try Program.run(Program.sealkey, ["demo", "--dir", folder.path, "--json"])
      #expect(result.code == 0, "\(result.err)")
      let files = try #require(try json(result)["files"]?.array)
      #expect(files.count == 3)
      #expect(files.allSatisfy { $0["simulated"]?.bool == true && $0["ok"]?.bool == true })
    }
    for name in ["identity", "endorsement", "tap"] {
      let checked = try Program.run(
        Program.sealkey,
        ["verify", "\(folder.path)/\(name).json", "--identity", "\(folder.path)/identity.json", "--json"])
      #expect(checked.code == 0, "\(checked.out)")
    }
  }

  /// What somebody else made is not good for the one who was named.
  @Test func filesOfSomebodyElseAreBad() throws {
    let (mine, other) = (try TemporaryFolder(), try TemporaryFolder())
    for folder in [mine, other] {
      #expect(try Program.run(Program.sealkey, ["demo", "--dir", folder.path]).code == 0)
    }
    let data = ["--data-dir", "\(mine.path)/data"]
    let named = ["--identity", "\(mine.path)/identity.json"]
    for name in ["identity", "endorsement", "tap"] {
      let file = ["verify", "\(other.path)/\(name).json"]
      #expect(try Sealkey.run(file + data).code == 0)
      let checked = try Sealkey.run(file + named + data)
      #expect(checked.code == 1 && checked.json["ok"]?.bool == false, "\(checked.json)")
      #expect(try Sealkey.failures(checked) == ["signerNotNamed"], "\(name)")
      #expect(try Sealkey.run(file + named + ["--identity", "\(other.path)/identity.json"] + data).code == 0)
    }
    // It is no better when the other is known on this computer.
    #expect(try Sealkey.run(["directory", "import", "\(other.path)/identity.json"] + data).code == 0)
    let known = try Sealkey.run(["verify", "\(other.path)/tap.json"] + named + data)
    #expect(known.code == 1)
    #expect(try Sealkey.failures(known) == ["signerNotNamed"])
  }

  /// Register, endorse and tap as separate runs, so that the key's state file carries from one to the next.
  @Test func stepsByHand() throws {
    let folder = try TemporaryFolder()
    let common = ["--key", "virtual", "--data-dir", "\(folder.path)/data", "--json"]
    let identity = "\(folder.path)/ada.json"
    let steps: [[String]] = [
      ["info"],
      ["register", "--name", "Ada", "--endorse", "--device", "\(folder.path)/one.device", "--out", identity],
      [
        "endorse", "--identity", identity, "--device", "\(folder.path)/two.device", "--out", "\(folder.path)/e.json",
      ],
      [
        "tap", "--identity", identity, "--estate", "E", "--epoch", "1", "--claim", "C", "--head", "", "--out",
        "\(folder.path)/t.json",
      ],
    ]
    for step in steps {
      let result = try Program.run(Program.sealkey, step + common)
      #expect(result.code == 0, "\(step[0]): \(result.out) \(result.err)")
      #expect(try json(result)["simulated"]?.bool == true)
    }
    for file in ["ada.json", "e.json", "t.json"] {
      let checked = try Program.run(Program.sealkey, ["verify", "\(folder.path)/\(file)", "--identity", identity])
      #expect(checked.code == 0, "\(checked.out)")
    }
    // Another key does not have the credential.
    let stranger = try Program.run(
      Program.sealkey,
      ["tap", "--identity", identity, "--estate", "E", "--epoch", "1", "--claim", "C", "--head", ""]
        + ["--key", "virtual", "--data-dir", "\(folder.path)/other", "--json"])
    #expect(try json(stranger)["error"]?["name"]?.string == "notOnThisKey")
    #expect(stranger.code == 6)
  }

  @Test func aPINIsReadFromADescriptorAndAWrongOneCostsOneTry() throws {
    let folder = try TemporaryFolder()
    let data = "\(folder.path)/data"
    _ = try Program.run("mkdir", ["-m", "700", data])
    let common = ["--key", "virtual", "--data-dir", data, "--json", "--pin-fd", "7"]
    func register(_ pin: String) throws -> Program.Result {
      try Program.run(
        Program.sealkey, ["register", "--name", "Ada", "--out", "\(folder.path)/a.json"] + common,
        input: Array(pin.utf8), inputDescriptor: 7)
    }
    // No PIN of digits: a hash in the result may have them by chance.
    try setPIN("tulip", in: data)
    let wrong = try register("1357\n")
    #expect(wrong.code == 4)
    #expect(try json(wrong)["error"]?["name"]?.string == "pinInvalid")
    #expect(wrong.out.contains("7 tries are left"))
    let short = try register("135\n")
    #expect(try json(short)["error"]?["name"]?.string == "pinTooShort")
    let right = try register("tulip\n")
    #expect(right.code == 0, "\(right.out)")
    #expect(!(right.out + right.err).contains("tulip"))
    let info = try Program.run(Program.sealkey, ["info", "--key", "virtual", "--data-dir", data, "--json"])
    #expect(try json(info)["pinTriesLeft"]?.int == 8)
  }

  /// Sets the PIN of the key in a data directory, through the same protocol as any host.
  private func setPIN(_ pin: String, in data: String) throws {
    let result = try Program.run(
      Program.sealkey,
      ["pin", "set", "--key", "virtual", "--data-dir", data, "--json", "--pin-fd", "7"], input: Array("\(pin)\n".utf8),
      inputDescriptor: 7)
    #expect(result.code == 0, "\(result.out)")
  }

  @Test(
    arguments: [
      ([], 2, "noVerb"), (["nonsense"], 2, "unknownVerb"), (["list", "--nonsense"], 2, "unknownOption"),
      (["register"], 2, "missingOption"), (["register", "--name"], 2, "missingValue"),
      (["list", "x"], 2, "extraOperand"), (["verify"], 2, "missingOperand"),
      (["info", "--key", "what?"], 2, "badValue"), (["info", "--timeout", "-1"], 2, "badValue"),
      (["list", "--json=1"], 2, "needlessValue"),
      (["verify", "/nonexistent"], 7, "fileNotFound"), (["verify", "/"], 7, "isDirectory"),
      (["verify", "/dev/null"], 7, "notARegularFile"), (["inspect", "/dev/null"], 7, "notARegularFile"),
      (["verify", "(empty)"], 1, "jsonTruncated"), (["inspect", "(empty)"], 1, "unknownBytes"),
      (["commitment", "nonsense"], 2, "unknownCommitment"),
      (["info", "--key", "/dev/null"], 3, "notASecurityKey"), (["info", "--key", "abcdef"], 3, "noSuchKey"),
      (["register", "--name", "", "--key", "virtual"], 2, "badName"),
    ] as [([String], Int32, String)])
  func wrongUseHasAName(_ arguments: [String], _ code: Int32, _ name: String) throws {
    let folder = try TemporaryFolder()
    try Sealkey.put("", "\(folder.path)/empty")
    let arguments = arguments.map { $0 == "(empty)" ? "\(folder.path)/empty" : $0 }
    let result = try Program.run(Program.sealkey, ["--json", "--data-dir", folder.path] + arguments)
    #expect(try json(result)["error"]?["name"]?.string == name, "\(result.out)")
    #expect(result.code == code)
    let person = try Program.run(Program.sealkey, ["--data-dir", folder.path] + arguments)
    #expect(person.code == code)
    #expect(person.out.isEmpty)
    #expect(person.err.contains("[\(name)"))
  }

  /// Every truncation of every file, and a byte changed anywhere in its head, is named and never taken for good.
  @Test func damagedFilesAreNamed() throws {
    let folder = try TemporaryFolder()
    _ = try Program.run(Program.sealkey, ["demo", "--dir", folder.path])
    for name in ["identity", "endorsement", "tap"] {
      let good = Array(try Program.run("cat", ["\(folder.path)/\(name).json"]).out.utf8)
      // The last byte is a line end.
      for count in stride(from: 0, to: good.count - 2, by: 97) {
        let result = try Program.run(
          Program.sealkey, ["verify", "/dev/stdin", "--json"], input: Array(good.prefix(count)))
        #expect((1...7).contains(result.code), "\(name) cut at \(count): \(result.code)")
        #expect(try json(result)["error"]?["name"]?.string != nil)
      }
    }
  }

  @Test func everyCommandExplainsItself() throws {
    let overview = try Program.run(Program.sealkey, ["help"])
    #expect(overview.code == 0)
    for verb in ["list", "info", "register", "endorse", "tap", "verify", "inspect", "commitment", "demo", "virtual"] {
      #expect(overview.out.contains("  \(verb) "))
      let help = try Program.run(Program.sealkey, [verb, "--help"])
      #expect(help.code == 0)
      #expect(help.out.contains("Example"))
    }
  }
}

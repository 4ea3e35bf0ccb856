// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import TestSupport
import Testing
import WebAuthnCore

/// The table of commands against what the program does and says.
@Suite(.programs) struct InterfaceTests {
  let table: JSONValue

  init() throws { table = try Sealkey.run(["help"]).json }

  private var commands: [JSONValue] { table["commands"]?.array ?? [] }

  private static func texts(_ value: JSONValue?) -> [String] { (value?.array ?? []).compactMap(\.string) }

  /// The words that may follow the verb.
  private static func words(_ command: JSONValue) -> [String] {
    texts(command["operands"]).compactMap { $0.split(separator: " ").first.map(String.init) }
      .filter { $0.first?.isLowercase == true }
  }

  @Test func everyCommandSaysHowItIsUsed() throws {
    #expect(commands.count > 30)
    for command in commands {
      let name = try #require(command["name"]?.string)
      for arguments in [[name, "--help"], ["help", name], [name, "-h"]] {
        let help = try Program.run(Program.sealkey, arguments)
        #expect(help.code == 0 && help.err.isEmpty, "\(arguments)")
        for form in Self.texts(command["operands"]) { #expect(help.out.contains("sealkey \(name) \(form) [options]")) }
        for option in command["options"]?.array ?? [] {
          #expect(help.out.contains("  --\(option["name"]?.string ?? "?")"), "\(name)")
        }
        #expect(help.out.contains("\nExample"), "\(name)")
        // A terminal of 80 columns is enough for all but the explanations.
        for line in help.out.split(separator: "\n") where line.hasPrefix("Usage") {
          #expect(line.count <= 80, "\(line)")
        }
      }
    }
    let overview = try Program.run(Program.sealkey, ["help"])
    for command in commands { #expect(overview.out.contains("\n  \(command["name"]?.string ?? "?") ")) }
    #expect(try Program.run(Program.sealkey, ["--help"]).out == overview.out)
  }

  /// An example that is refused as wrong usage teaches nothing. Placeholders stay in capitals.
  @Test func examplesAreCommandsWithTheirOwnOptions() throws {
    let globals = (table["options"]?.array ?? []).compactMap { $0["name"]?.string }
    for command in commands {
      let name = command["name"]?.string ?? "?"
      let examples = Self.texts(command["examples"])
      #expect(!examples.isEmpty, "\(name)")
      let options = (command["options"]?.array ?? []).compactMap { $0["name"]?.string } + globals
      for example in examples {
        #expect(example.hasPrefix("sealkey \(name)"), "\(example)")
        for word in example.split(separator: " ") where word.hasPrefix("--") {
          #expect(options.contains(String(word.dropFirst(2))), "\(example)")
        }
        let words = Self.words(command)
        let second = example.split(separator: " ").dropFirst(2).first.map(String.init)
        #expect(words.isEmpty || words.contains(second ?? ""), "\(example)")
      }
    }
  }

  @Test func wordsAndTheirOptionsAreRefusedByTheTable() throws {
    for command in commands {
      let name = command["name"]?.string ?? "?"
      let words = Self.words(command)
      if words.isEmpty { continue }
      #expect(try Sealkey.run([name]).error == "missingOperand", "\(name)")
      let wrong = try Sealkey.run([name, "no-such-word"])
      #expect(wrong.error == "badValue" && wrong.code == 2, "\(name)")
      for option in command["options"]?.array ?? [] {
        let allowed = Self.texts(option["words"])
        #expect(allowed.allSatisfy { words.contains($0) }, "\(name) --\(option["name"]?.string ?? "?")")
        guard let word = words.first(where: { !allowed.contains($0) }), !allowed.isEmpty else { continue }
        let arguments = [name, word, "--\(option["name"]?.string ?? "?")"] + (option["value"] == nil ? [] : ["1"])
        #expect(try Sealkey.run(arguments).error == "unknownOption", "\(arguments)")
      }
    }
  }

  /// The table of exit codes says what the errors do.
  @Test func exitCodesAreThoseOfTheErrors() throws {
    let codes = (table["exitCodes"]?.array ?? []).compactMap { $0["code"]?.int }
    #expect(codes == [0] + FaultKind.allCases.map { Int64($0.rawValue) } + [130])
    #expect(try Sealkey.run(["verify", "/no/such/file"]).code == FaultKind.file.rawValue)
    #expect(try Sealkey.run(["no-such-verb"]).code == FaultKind.usage.rawValue)
    #expect(try Program.run(Program.sealkey, ["--version"]).out == "sealkey \(table["version"]?.string ?? "?")\n")
  }

  @Test func aShellIsToldWhatThereIs() throws {
    let models = try Sealkey.run(["virtual", "models"]).json
    let names = models["models"]?.array?.compactMap(\.string) ?? []
    let purposes = models["purposes"]?.array ?? []
    #expect(names.count > 30 && purposes.map { $0["name"]?.string } == names)
    for purpose in purposes {
      #expect(purpose["shows"]?.string?.contains("without a description") == false, "\(purpose)")
    }
    #expect(purposes.first { $0["name"]?.string == "always-uv" }?["needs"]?.string?.contains("PIN") == true)
    for (kind, stem) in [("models", ""), ("keys", "virtual:")] {
      let offered = try Program.run(Program.sealkey, ["__complete", kind]).out
      for name in names { #expect(offered.contains("\(stem)\(name)\t"), "\(name)") }
    }
    let keys = try Program.run(Program.sealkey, ["__complete", "keys"])
    #expect(keys.code == 0 && keys.out.contains("virtual\t"))
    let folder = try TemporaryFolder()
    let data = ["--data-dir", "\(folder.path)/data"]
    #expect(try Sealkey.run(["register", "--name", "Ada", "--key", "virtual"] + data).code == 0)
    #expect(try Sealkey.run(["device", "make", "laptop"] + data).code == 0)
    #expect(try Program.run(Program.sealkey, ["__complete", "people"] + data).out == "Ada\tidentity\n")
    #expect(try Program.run(Program.sealkey, ["__complete", "devices"] + data).out.hasPrefix("laptop\t"))
    #expect(try Program.run(Program.sealkey, ["__complete", "commitments"]).out.contains("release.authorize.v1\t"))
    for nonsense in [[], ["no-such-thing"], ["keys", "--no-such-option"]] {
      let said = try Program.run(Program.sealkey, ["__complete"] + nonsense)
      #expect(said.code == 0 && said.out.isEmpty && said.err.isEmpty)
    }
  }

  /// The example of the library's documentation does what it says.
  @Test func theLibrarysExampleRuns() throws {
    let folder = Program.sealkey.dropLast("sealkey".count)
    let example = try Program.run("\(folder)FirstTenMinutes", [])
    #expect(example.code == 0, "\(example.err)")
    #expect(example.out.contains("identityRecord good") && example.out.contains("good The"), "\(example.out)")
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// The table of commands as something to check against and to print: help, man pages and completions come from it.
extension Command {
  /// The words that may follow the verb.
  var words: [String] {
    var found: [String] = []
    for form in operands {
      guard let word = form.split(separator: " ").first.map(String.init), word.first?.isLowercase == true else {
        continue
      }
      if !found.contains(word) { found.append(word) }
    }
    return found
  }

  /// The words as a sentence has them.
  private var choice: String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " or " + last
  }

  /// Whether the word after the verb is one of its words, and the options go with it.
  func check(_ options: ParsedOptions) throws(UsageError) {
    // All keys that are there are shown.
    if options.has("key"), ["list", "watch"].contains(name) { throw .optionOfAnotherWord("key", command: name) }
    if options.has("virtual-touch"), !usesVirtualKey(options) { throw .noVirtualKey }
    guard !words.isEmpty else { return }
    guard let word = options.operands.first else { throw .missingOperand("One of the words \(choice)") }
    guard words.contains(word) else { throw .badValue(option: name, value: word, wanted: choice) }
    for spec in self.options where options.has(spec.name) && !spec.words.isEmpty && !spec.words.contains(word) {
      throw .optionOfAnotherWord(spec.name, command: "\(name) \(word)")
    }
  }

  /// Whether there is a virtual key in the run that somebody could touch.
  private func usesVirtualKey(_ options: ParsedOptions) -> Bool {
    if name == "demo" || (name == "virtual" && options.operands.first != "models") { return true }
    return ["key", "new-key"].contains { option in
      options[option].map { $0 == "virtual" || $0.hasPrefix("virtual:") } == true
    }
  }

  /// One line for each command of the table, and all of it for programs.
  static let helping = Command(
    "help", "Say how a command is used, or explain a topic.", operands: ["[COMMAND|TOPIC]"],
    examples: ["sealkey help", "sealkey help tap", "sealkey help reset"]
  ) { invocation in
    try invocation.noOperands(after: 1)
    guard let word = invocation.options.operands.first else { return Outcome(text: overview, json: table) }
    if let topic = HelpTopic.all[word] {
      return Outcome(text: topic, json: .object([("topic", .string(word)), ("text", .string(topic))]))
    }
    guard let command = all.first(where: { $0.name == word }) else { throw UsageError.unknownVerb(word) }
    return Outcome(text: command.help, json: command.json)
  }

  /// All of it.
  static var table: JSONValue {
    .object([
      ("program", .string("sealkey")), ("version", .string(CommandLineTool.version)),
      ("commands", .array(all.map(\.json))), ("options", .array(globals.map(\.json))),
      ("topics", .array(HelpTopic.all.keys.sorted().map { .string($0) })),
      (
        "exitCodes",
        .array(ExitCode.all.map { .object([("code", .int(Int($0.code))), ("meaning", .string($0.meaning))]) })
      ),
    ])
  }

  /// One command of it.
  var json: JSONValue {
    .object([
      ("name", .string(name)), ("summary", .string(summary)), ("operands", .array(operands.map { .string($0) })),
      ("options", .array(options.map(\.json))), ("examples", .array(examples.map { .string($0) })),
    ])
  }
}

extension OptionSpec {
  fileprivate var json: JSONValue {
    .object([
      ("name", .string(name)), ("value", value.map { .string($0) }), ("help", .string(help)),
      ("repeatable", .bool(isRepeatable)), ("words", .array(words.map { .string($0) })),
      ("choices", .array(choices.map { .string($0) })),
    ])
  }
}

/// What the program's exit codes mean.
enum ExitCode {
  static let interrupted: Int32 = 130

  static let all: [(code: Int32, meaning: String)] =
    [(0, "done, or checked and good")] + FaultKind.allCases.map { ($0.rawValue, meaning(of: $0)) } + [
      (interrupted, "interrupted with Ctrl-C")
    ]

  private static func meaning(of kind: FaultKind) -> String {
    switch kind {
    case .bad: "checked and bad"
    case .usage: "wrong usage"
    case .noKey: "no suitable key"
    case .userVerification: "PIN or user verification failed, is blocked or is missing"
    case .cancelled: "cancelled, or out of time"
    case .refused: "refused by a rule of Seal or of this program"
    case .file: "a file or the store could not be read or written"
    case .key: "the key reported an error, or could not be spoken to"
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// One verb: what the help, the man page and the completions say of it, and what it does.
struct Command: Sendable {
  let name: String
  /// One line for the list.
  let summary: String
  /// What may follow the verb, one way of using it each. A word in small letters is typed as it is; capitals stand for
  /// something; square brackets hold what may be left out.
  let operands: [String]
  let options: [OptionSpec]
  /// At least one, for the help.
  let examples: [String]
  let run: @Sendable (Invocation) async throws -> Outcome

  init(
    _ name: String, _ summary: String, operands: [String] = [], options: [OptionSpec] = [], examples: [String],
    run: @escaping @Sendable (Invocation) async throws -> Outcome
  ) {
    self.name = name
    self.summary = summary
    self.operands = operands
    self.options = options
    self.examples = examples
    self.run = run
  }

  /// Options that every verb takes.
  static let globals: [OptionSpec] = [
    OptionSpec(
      "key", "KEY", "the key to use: /dev/hidrawN, nfc[:READER], a short id, virtual[:MODEL], udp:PORT[:REPLYPORT]"),
    OptionSpec("json", nil, "print one JSON object"),
    OptionSpec("quiet", nil, "say nothing but results and errors"),
    OptionSpec("timeout", "SECONDS", "how long to wait for a touch (30)"),
    OptionSpec("pin-fd", "N", "read the PIN from file descriptor N, up to a line end"),
    OptionSpec("passphrase-fd", "N", "read a device's passphrase from file descriptor N, up to a line end"),
    OptionSpec(
      "pinentry", "PROGRAM", "ask for the PIN with this pinentry program (without a terminal: the system's own)"),
    OptionSpec("replace", nil, "replace a file that is there already (without it: fileExists)"),
    OptionSpec("last-tries", nil, "try a PIN even when three tries or fewer are left"),
    OptionSpec(
      "virtual-touch", "HOW", "who touches the virtual key: auto, prompt or milliseconds (auto)",
      choices: ["auto", "prompt"]),
    OptionSpec("data-dir", "DIR", "where this computer's files are kept"),
    OptionSpec("yes", nil, "answer yes to questions that say that --yes answers them"),
    OptionSpec("help", nil, "say how the command is used"),
  ]

  /// All verbs, in the order of the help.
  static let all: [Command] = [
    .list, .watch, .info,
    .register, .endorse, .signIn, .sponsor, .unlock, .tap, .confirm,
    .meet, .receipt, .backup, .revokeDevice, .delete, .request, .importAnswer,
    .capsule, .verify, .inspect, .commitment,
    .directory, .store, .device,
    .pin, .passkeys, .fingerprints, .settings,
    .matrix, .doctor, .demo, .virtual, .helping,
  ]

  /// How it is used.
  var help: String {
    var lines = [summary, ""]
    for (number, form) in (operands.isEmpty ? [""] : operands).enumerated() {
      lines.append((number == 0 ? "Usage: " : "       ") + "sealkey \(name)\(form.isEmpty ? "" : " \(form)") [options]")
    }
    func table(_ title: String, _ specs: [OptionSpec]) {
      guard !specs.isEmpty else { return }
      lines += ["", "\(title):"]
      for spec in specs {
        let left = "  --\(spec.name)" + (spec.value.map { " \($0)" } ?? "")
        let words = spec.words.isEmpty ? "" : " (\(spec.words.joined(separator: ", ")))"
        lines.append(left + String(repeating: " ", count: max(2, 30 - left.count)) + spec.help + words)
      }
    }
    table("Options", options)
    table("For every command", Self.globals)
    lines += ["", examples.count == 1 ? "Example:" : "Examples:"] + examples.map { "  \($0)" }
    return lines.joined(separator: "\n")
  }

  /// The list of verbs.
  static var overview: String {
    var lines = [
      "sealkey registers security keys for Seal, endorses devices, taps and verifies.", "",
      "Usage: sealkey COMMAND [options]", "", "Commands:",
    ]
    for command in all {
      lines.append(
        "  \(command.name)" + String(repeating: " ", count: max(2, 14 - command.name.count)) + command.summary)
    }
    lines += ["", "Topics:"]
    for (topic, text) in HelpTopic.all.sorted(by: { $0.key < $1.key }) {
      let first = String(text.prefix { $0 != "\n" })
      lines.append("  \(topic)" + String(repeating: " ", count: max(2, 14 - topic.count)) + first)
    }
    lines += [
      "", "sealkey COMMAND --help says how one is used; sealkey help TOPIC explains a topic.",
      "With no key at hand, try it all on the built-in virtual key: sealkey demo",
    ]
    return lines.joined(separator: "\n")
  }
}

/// What a verb gives back.
struct Outcome: Sendable {
  /// For a person; or, when ``isDocument``, a file's own text.
  var text: String
  /// For a program.
  var json: JSONValue
  var code: Int32 = 0
  /// Whether the text is a file's own, JSON that another program may read: it is not wrapped, and means what it meant.
  var isDocument = false
}

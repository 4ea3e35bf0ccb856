// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SecurityKeys
import WebAuthnCore

extension Command {
  static let settings = Command(
    "settings", "A key's own settings: show them, or change one. Each is explained before it is changed.",
    operands: ["show", "always-uv on|off", "min-pin-length N", "require-pin-change"],
    examples: ["sealkey settings show", "sealkey settings always-uv on", "sealkey settings min-pin-length 6"]
  ) { invocation in
    let words = invocation.options.operands
    switch (words.first, words.count) {
    case ("show", 1):
      return try await invocation.withKey { key, _ in Settings.show(try await key.open()) }
    case ("always-uv", 2) where words[1] == "on" || words[1] == "off":
      let on = words[1] == "on"
      return try await Settings.change(
        invocation, "alwaysUv",
        on
          ? "The key will ask for the PIN or a finger every time, for everything, also for programs that do not ask for it."
          : "The key will only ask for the PIN or a finger when a program wants it: a touch alone then signs for whoever holds it."
      ) { key, session in try await key.setAlwaysUv(on, pin: session.pin) }
    case ("min-pin-length", 2):
      guard let length = Int(words[1]), (4...63).contains(length) else {
        throw UsageError.badValue(option: "min-pin-length", value: words[1], wanted: "4 to 63 characters")
      }
      return try await Settings.change(
        invocation, "minPINLength",
        "PINs of this key will need at least \(length) characters. It can never be made shorter again. If the present PIN is "
          + "shorter, the key wants a new one before it does anything else."
      ) { key, session in try await key.setMinimumPINLength(length, pin: session.pin) }
    case ("require-pin-change", 1):
      return try await Settings.change(
        invocation, "forcePINChange",
        "Before anything else can be done with this key, its PIN must be changed. For a key you hand over: whoever gets it "
          + "must choose a PIN that you do not know."
      ) { key, session in try await key.requirePINChange(pin: session.pin) }
    case (nil, _): throw UsageError.missingOperand("show, always-uv, min-pin-length or require-pin-change")
    default:
      throw UsageError.badValue(
        option: "settings", value: words.joined(separator: " "),
        wanted: "show, always-uv on|off, min-pin-length N or require-pin-change")
    }
  }
}

private enum Settings {
  static func show(_ facts: KeyFacts) -> Outcome {
    let info = facts.info
    func word(_ value: Bool?) -> String { value.map { $0 ? "on" : "off" } ?? "this key has no such setting" }
    let minimum = info?.minPINLength ?? 4
    return Outcome(
      text: [
        "\(facts.name)\(facts.isSimulated ? " (simulated)" : "")",
        "  always-uv            \(word(info?.option("alwaysUv")))",
        "  min-pin-length       \(minimum)" + (info?.option("setMinPINLength") == true ? "" : ", fixed"),
        "  require-pin-change   \(info?.forcePINChange == true ? "yes, before anything else" : "no")",
      ].joined(separator: "\n"),
      json: .object([
        ("name", .string(facts.name)), ("simulated", .bool(facts.isSimulated)),
        ("alwaysUv", info?.option("alwaysUv").map { .bool($0) }), ("minPINLength", .int(minimum)),
        ("canSetMinPINLength", .bool(info?.option("setMinPINLength") == true)),
        ("forcePINChange", .bool(info?.forcePINChange == true)),
      ]))
  }

  static func change(
    _ invocation: Invocation, _ name: String, _ explanation: String,
    _ body: @escaping @Sendable (SecurityKey, KeySession) async throws -> Void
  ) async throws -> Outcome {
    try Confirmation.ask(
      [explanation, "Type yes to go on."], word: "yes", invocation, isAnsweredByYes: true)
    return try await invocation.withKey { key, session in
      try await body(key, session)
      let facts = try await key.open()
      let shown = show(facts)
      let next =
        facts.info?.forcePINChange == true ? "\nThe key wants a new PIN before anything else: sealkey pin change" : ""
      return Outcome(
        text: "Done.\n\(shown.text)\(next)", json: .object([("changed", .string(name)), ("settings", shown.json)]))
    }
  }
}

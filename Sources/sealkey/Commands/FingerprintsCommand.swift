// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SecurityKeys
import WebAuthnCore

extension Command {
  static let fingerprints = Command(
    "fingerprints", "The fingerprints that a key knows: list, add, rename or remove them.",
    operands: ["list", "add [NAME]", "rename ID NAME", "remove ID"],
    examples: ["sealkey fingerprints list", "sealkey fingerprints add 'right thumb'", "sealkey fingerprints remove 01"]
  ) { invocation in
    let words = invocation.options.operands
    @Sendable func fingers(_ key: SecurityKey, _ session: KeySession) async throws -> [(
      id: [UInt8], thing: Fingerprint
    )] {
      try await key.fingerprints(pin: session.pin).map { ($0.id, $0) }
    }
    let list = "sealkey fingerprints list"
    switch words.first {
    case "list":
      try invocation.noOperands(after: 1)
      return try await invocation.withKey { key, session in
        let all = try await key.fingerprints(pin: session.pin)
        let lines = all.map { "\(Hex.encode($0.id))  \(($0.name ?? "(no name)").printable)" }
        return Outcome(
          text: lines.isEmpty ? "No fingerprints are enrolled." : lines.joined(separator: "\n"),
          json: .object([
            (
              "fingerprints",
              .array(all.map { .object([("idHex", .hex($0.id)), ("name", $0.name.map { .string($0) })]) })
            )
          ]))
      }
    case "add":
      try invocation.noOperands(after: 2)
      return try await invocation.withKey { key, session in
        let made = try await key.enrolFingerprint(named: words.dropFirst().first, pin: session.pin)
        return Outcome(
          text: "The finger is enrolled" + (made.name.map { " as \($0.printable)." } ?? "."),
          json: .object([("idHex", .hex(made.id)), ("name", made.name.map { .string($0) }), ("added", .bool(true))]))
      }
    case "rename":
      guard words.count > 2 else { throw UsageError.missingOperand("An ID and the new name") }
      try invocation.noOperands(after: 3)
      return try await invocation.withKey { key, session in
        let finger = try CareChoice.one(words[1], try await fingers(key, session), list: list)
        try await key.renameFingerprint(finger.id, to: words[2], pin: session.pin)
        return Outcome(
          text: "The fingerprint is called \(words[2].printable) now.",
          json: .object([("idHex", .hex(finger.id)), ("name", .string(words[2])), ("renamed", .bool(true))]))
      }
    case "remove":
      guard words.count > 1 else { throw UsageError.missingOperand("The fingerprint's ID") }
      try invocation.noOperands(after: 2)
      return try await invocation.withKey { key, session in
        let finger = try CareChoice.one(words[1], try await fingers(key, session), list: list)
        try Confirmation.ask(
          ["The key will no longer know \(finger.name ?? "this finger").", "Type remove to go on."], word: "remove",
          invocation, isAnsweredByYes: true)
        try await key.removeFingerprint(finger.id, pin: session.pin)
        return Outcome(
          text: "The fingerprint is removed.", json: .object([("idHex", .hex(finger.id)), ("removed", .bool(true))]))
      }
    case nil: throw UsageError.missingOperand("list, add, rename or remove")
    case let word?:
      throw UsageError.badValue(option: "fingerprints", value: word, wanted: "list, add, rename or remove")
    }
  }
}

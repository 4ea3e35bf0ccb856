// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SecurityKeys
import WebAuthnCore

extension Command {
  static let passkeys = Command(
    "passkeys", "The passkeys that a key stores: list, rename or delete them.",
    operands: ["list", "rename ID NAME", "delete ID"],
    options: [
      OptionSpec(
        "display-name", "NAME", "the person's name as sites show it; NAME when not given",
        only: ["rename"])
    ],
    examples: ["sealkey passkeys list", "sealkey passkeys rename 3fa4 ada@example.org", "sealkey passkeys delete 3fa4"]
  ) { invocation in
    let words = invocation.options.operands
    switch words.first {
    case "list":
      try invocation.noOperands(after: 1)
      return try await invocation.withKey { key, session in
        let found = try await key.passkeys(pin: session.pin)
        return Passkeys.list(found, try await key.open())
      }
    case "rename":
      guard words.count > 2 else { throw UsageError.missingOperand("An ID and the new name") }
      try invocation.noOperands(after: 3)
      return try await invocation.withKey { key, session in
        let passkey = try Passkeys.one(words[1], try await key.passkeys(pin: session.pin).passkeys)
        try await key.renamePasskey(
          passkey, userName: words[2], userDisplayName: invocation.options["display-name"] ?? words[2],
          pin: session.pin)
        return Outcome(
          text: "The passkey for \(passkey.rpID.printable) is called \(words[2].printable) now.",
          json: .object([("idHex", .hex(passkey.id)), ("userName", .string(words[2])), ("renamed", .bool(true))]))
      }
    case "delete":
      guard words.count > 1 else { throw UsageError.missingOperand("The passkey's ID") }
      try invocation.noOperands(after: 2)
      return try await invocation.withKey { key, session in
        let passkey = try Passkeys.one(words[1], try await key.passkeys(pin: session.pin).passkeys)
        try Confirmation.ask(
          [
            "This passkey signs \(Passkeys.person(passkey)) in at \(passkey.rpID).",
            "Once deleted it cannot be brought back, and this key no longer signs in there.",
            "Type delete to go on.",
          ], word: "delete", invocation, isAnsweredByYes: true)
        try await key.deletePasskey(passkey.id, pin: session.pin)
        return Outcome(
          text: "The passkey for \(passkey.rpID.printable) is deleted.",
          json: .object([("idHex", .hex(passkey.id)), ("rpId", .string(passkey.rpID)), ("deleted", .bool(true))]))
      }
    case nil: throw UsageError.missingOperand("list, rename or delete")
    case let word?: throw UsageError.badValue(option: "passkeys", value: word, wanted: "list, rename or delete")
    }
  }
}

private enum Passkeys {
  static func person(_ passkey: Passkey) -> String {
    let name = [passkey.userDisplayName, passkey.userName].compactMap { $0 }.first { !$0.isEmpty }
    return name ?? "user \(Hex.encode(passkey.userID))"
  }

  static func list(_ inventory: PasskeyInventory, _ facts: KeyFacts) -> Outcome {
    let width = inventory.passkeys.map(\.rpID.printable.count).max() ?? 0
    var lines = inventory.passkeys.map { passkey in
      let site = passkey.rpID.printable
      return "\(Hex.encode(passkey.id.prefix(8)))  \(site)"
        + String(repeating: " ", count: max(2, width + 2 - site.count))
        + person(passkey).printable
    }
    if lines.isEmpty { lines.append("No passkeys are stored on \(facts.name).") }
    lines.append("Room for \(inventory.remaining) more.")
    return Outcome(
      text: lines.joined(separator: "\n"),
      json: .object([
        ("name", .string(facts.name)), ("simulated", .bool(facts.isSimulated)),
        ("remaining", .int(inventory.remaining)),
        (
          "passkeys",
          .array(
            inventory.passkeys.map { passkey in
              .object([
                ("idHex", .hex(passkey.id)), ("rpId", .string(passkey.rpID)),
                ("rpName", passkey.rpName.map { .string($0) }),
                ("userIdHex", .hex(passkey.userID)), ("userName", passkey.userName.map { .string($0) }),
                ("userDisplayName", passkey.userDisplayName.map { .string($0) }),
              ])
            })
        ),
      ]))
  }

  /// The one passkey whose ID begins like that.
  static func one(_ start: String, _ all: [Passkey]) throws -> Passkey {
    try CareChoice.one(start, all.map { ($0.id, $0) }, list: "sealkey passkeys list")
  }
}

/// One of several things on a key, named by the beginning of its ID.
enum CareChoice {
  static func one<Thing>(_ start: String, _ all: [(id: [UInt8], thing: Thing)], list: String) throws -> Thing {
    let wanted = start.lowercased()
    let found = all.filter { Hex.encode($0.id).hasPrefix(wanted) }
    guard !wanted.isEmpty, let first = found.first else { throw CareError.noSuchID(start, list: list) }
    guard found.count == 1 else { throw CareError.severalSuchIDs(start, count: found.count) }
    return first.thing
  }
}

/// Why something on a key could not be told.
enum CareError: NamedError, Hashable {
  case noSuchID(String, list: String)
  case severalSuchIDs(String, count: Int)

  var name: String {
    switch self {
    case .noSuchID: "noSuchID"
    case .severalSuchIDs: "severalSuchIDs"
    }
  }
  var message: String {
    switch self {
    case .noSuchID(let start, _):
      "Nothing on this key has an ID that begins with \(start.printable). Nothing was changed."
    case .severalSuchIDs(let start, let count):
      "\(count) things on this key have an ID that begins with \(start.printable). Nothing was changed."
    }
  }
  var next: String {
    switch self {
    case .noSuchID(_, let list): "See the IDs with: \(list)"
    case .severalSuchIDs: "Give more of the ID."
    }
  }
  var kind: FaultKind { .usage }
}

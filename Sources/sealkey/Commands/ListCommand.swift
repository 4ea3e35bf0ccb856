// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SecurityKeys
import WebAuthnCore

extension Command {
  static let list = Command(
    "list", "Show the security keys that are plugged in, and the card readers.",
    examples: ["sealkey list", "sealkey list --json"]
  ) { invocation in
    try invocation.noOperands()
    let inventory = Inventory.now()
    let keys = inventory.entries
    var lines = keys.map { KeyText.line($0.key, $0.access) }
    if keys.isEmpty { lines.append("No security key is plugged in. Try the built-in one: sealkey info --key virtual") }
    for entry in keys where entry.access == .notPermitted {
      lines.append("You may not use \(entry.key.placeName). \(NodePermission.remedy(entry.key.placeName))")
    }
    if let problem = inventory.readerProblem {
      lines.append("No card readers: \(problem.message) \(problem.next)")
    }
    let json: JSONValue = .object([
      ("keys", .array(keys.map { .object(KeyText.members($0.key, $0.access)) })),
      ("readersUnavailable", inventory.readerProblem.map(KeyText.members).map { .object($0) }),
    ])
    return Outcome(text: lines.joined(separator: "\n"), json: json)
  }
}

/// How keys and readers are written down.
enum KeyText {
  /// Id, place, name, and what else there is to say.
  static func line(_ key: FoundKey, _ access: FoundKey.Access?) -> String {
    var notes = [[number(key.vendorID), number(key.productID)].compactMap { $0 }.joined(separator: ":")]
    if key.isSimulated { notes.append("simulated") }
    if let access { notes.append(note(access)) }
    notes.removeAll(where: \.isEmpty)
    // A reader's place is its name.
    let name = key.name == key.placeName ? "" : "  \(key.name)"
    return "\(key.id)  \(key.placeName)\(name)" + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))")
  }

  /// The members of its JSON object.
  static func members(_ key: FoundKey, _ access: FoundKey.Access?) -> [(String, JSONValue?)] {
    var members: [(String, JSONValue?)] = [
      ("id", .string(key.id)), ("transport", .string(key.kindName)), ("path", .string(key.placeName)),
      ("name", .string(key.name)), ("vendorHex", number(key.vendorID).map { .string($0) }),
      ("productHex", number(key.productID).map { .string($0) }), ("simulated", .bool(key.isSimulated)),
    ]
    guard let access else { return members }
    members.append(("access", .string(name(access))))
    if case .inUse(let program?) = access { members.append(("inUseBy", .string(program))) }
    if access == .notPermitted { members.append(("remedy", .string(NodePermission.remedy(key.placeName)))) }
    return members
  }

  /// The members of an error's JSON object.
  static func members(_ problem: CardError) -> [(String, JSONValue?)] {
    [("name", .string(problem.name)), ("message", .string(problem.message)), ("next", .string(problem.next))]
  }

  private static func number(_ n: UInt16?) -> String? { n.map { Hex.encode([UInt8($0 >> 8), UInt8($0 & 255)]) } }

  private static func note(_ access: FoundKey.Access) -> String {
    switch access {
    case .ready: ""
    case .notPermitted: "NO PERMISSION"
    case .inUse(let program): "in use by \(program ?? "another program")"
    case .gone: "just gone"
    case .noCard: "no card on it"
    case .mute: "the card on it does not answer"
    case .useUSB: "the card face of a USB key: use USB"
    }
  }

  private static func name(_ access: FoundKey.Access) -> String {
    switch access {
    case .ready: "ready"
    case .notPermitted: "notPermitted"
    case .inUse: "inUse"
    case .gone: "gone"
    case .noCard: "noCard"
    case .mute: "cardUnresponsive"
    case .useUSB: "useUSB"
    }
  }
}

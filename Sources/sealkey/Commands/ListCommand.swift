// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SecurityKeys
import WebAuthnCore

extension Command {
  static let list = Command(
    "list", "Show the security keys that are plugged in.", examples: ["sealkey list", "sealkey list --json"]
  ) { invocation in
    try invocation.noOperands()
    let keys = KeyDiscovery.list().map { (key: $0, access: $0.access()) }
    func number(_ n: UInt16?) -> String? { n.map { Hex.encode([UInt8($0 >> 8), UInt8($0 & 255)]) } }
    var lines: [String] = []
    for (key, access) in keys {
      var notes = [number(key.vendorID), number(key.productID)].compactMap { $0 }.joined(separator: ":")
      if key.isSimulated { notes += ", simulated" }
      switch access {
      case .ready: break
      case .notPermitted: notes += ", NO PERMISSION"
      case .inUse(let program): notes += ", in use by \(program ?? "another program")"
      case .gone: notes += ", just gone"
      case .noCard: notes += ", no card on it"
      }
      lines.append("\(key.id)  \(key.placeName)  \(key.name) (\(notes))")
    }
    if keys.isEmpty { lines.append("No security key is plugged in. Try the built-in one: --key virtual") }
    if keys.contains(where: { $0.access == .notPermitted }) {
      lines.append("A key without permission needs the udev rule for security keys; see the package libfido2-1.")
    }
    func name(_ access: FoundKey.Access) -> String {
      switch access {
      case .ready: "ready"
      case .notPermitted: "notPermitted"
      case .inUse: "inUse"
      case .gone: "gone"
      case .noCard: "noCard"
      }
    }
    let json: JSONValue = .object([
      (
        "keys",
        .array(
          keys.map { key, access in
            .object([
              ("id", .string(key.id)), ("transport", .string(key.kindName)), ("path", .string(key.placeName)),
              ("name", .string(key.name)), ("vendorHex", number(key.vendorID).map { .string($0) }),
              ("productHex", number(key.productID).map { .string($0) }), ("simulated", .bool(key.isSimulated)),
              ("access", .string(name(access))),
            ])
          })
      )
    ])
    return Outcome(text: lines.joined(separator: "\n"), json: json)
  }
}

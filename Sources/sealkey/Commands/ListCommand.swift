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
    let keys = HIDKey.all()
    func number(_ n: UInt16) -> String { Hex.encode([UInt8(n >> 8), UInt8(n & 255)]) }
    var lines: [String] = []
    for key in keys {
      let notes = (key.isSimulated ? ", simulated" : "") + (key.isPermitted ? "" : ", NO PERMISSION")
      lines.append("\(key.id)  \(key.path)  \(key.name) (\(number(key.vendor)):\(number(key.product))\(notes))")
    }
    if keys.isEmpty { lines.append("No security key is plugged in. Try the built-in one: --key virtual") }
    if keys.contains(where: { !$0.isPermitted }) {
      lines.append("A key without permission needs the udev rule for security keys; see the package libfido2-1.")
    }
    let json: JSONValue = .object([
      (
        "keys",
        .array(
          keys.map {
            .object([
              ("id", .string($0.id)), ("path", .string($0.path)), ("name", .string($0.name)),
              ("vendorHex", .string(number($0.vendor))), ("productHex", .string(number($0.product))),
              ("simulated", .bool($0.isSimulated)), ("permitted", .bool($0.isPermitted)),
            ])
          })
      )
    ])
    return Outcome(text: lines.joined(separator: "\n"), json: json)
  }
}

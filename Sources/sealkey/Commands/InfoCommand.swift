// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import SecurityKeys
import WebAuthnCore

extension Command {
  static let info = Command(
    "info", "Show what a key is and what Seal can do with it.",
    examples: ["sealkey info", "sealkey info --key virtual --json"]
  ) { invocation in
    try invocation.noOperands()
    return try await invocation.withKey { key, _ in
      let facts = try await key.open()
      let tries = try await key.pinTriesLeft()
      return outcome(facts, tries, lastTries: invocation.options.has("last-tries"))
    }
  }

  private static func outcome(_ facts: KeyFacts, _ tries: Int?, lastTries: Bool) -> Outcome {
    let can = facts.capabilities
    var lines = ["\(facts.name)\(facts.isSimulated ? " (simulated)" : "")"]
    if let info = facts.info {
      lines.append("  model           \(Hex.encode(info.aaguid))")
      if let firmware = info.firmwareVersion { lines.append("  firmware        \(firmware)") }
      lines.append("  speaks          \(info.versions.joined(separator: ", "))")
      lines.append("  extensions      \(info.extensions.joined(separator: ", "))")
      let options = info.options.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value ? "yes" : "no")" }
      lines.append("  options         \(options.joined(separator: ", "))")
      lines.append("  largest request \(info.effectiveMaxMsgSize) bytes")
      switch info.option("clientPin") {
      case true: lines.append("  PIN             set" + (tries.map { ", \($0) tries left" } ?? ""))
      case false: lines.append("  PIN             not set")
      default: lines.append("  PIN             this key has none")
      }
    } else {
      lines.append("  speaks          U2F only, an older kind of key")
    }
    lines.append("With Seal it can:")
    let obstacle = Readiness.obstacle(facts.info, triesLeft: tries, lastTries: lastTries)
    let key = Readiness.Key(
      name: facts.name, obstacle: obstacle, es256: can.supportsES256, prf: can.supportsPRF,
      verifiesPerson: can.canVerifyUser)
    // An obstacle that leaves an act leaves it to a touch alone.
    func reason(_ act: Readiness.Act) -> String? {
      guard !Readiness.answer(act, keys: [key]).can else { return nil }
      return obstacle?.reason ?? "it does not make ES256 credentials"
    }
    func line(_ act: Readiness.Act) -> String {
      if let reason = reason(act) { return "no, because \(reason)" }
      return obstacle.map { "yes, with a touch alone (--no-uv), though \($0.reason)" } ?? "yes"
    }
    let because = reason(.register)
    if line(.register) == line(.tap) {
      lines.append("  register and tap               \(line(.tap))")
    } else {
      lines.append("  register                       \(line(.register))")
      lines.append("  tap                            \(line(.tap))")
    }
    let sponsor =
      !can.supportsPRF
      ? "no, because it has no hmac-secret"
      : (obstacle?.reason ?? because).map { "no, because \($0)" }
        ?? (can.canVerifyUser ? "yes" : "after you set a PIN (sealkey pin set)")
    lines.append("  be a key for somebody else     \(sponsor)")
    let json: JSONValue = .object([
      ("name", .string(facts.name)), ("simulated", .bool(facts.isSimulated)), ("transport", .string(facts.transport)),
      ("aaguidHex", facts.info.map { .hex($0.aaguid) }),
      ("firmwareVersion", facts.info?.firmwareVersion.map { .int($0) }),
      ("versions", facts.info.map { .array($0.versions.map { .string($0) }) }),
      ("extensions", facts.info.map { .array($0.extensions.map { .string($0) }) }),
      ("options", facts.info.map { .object($0.options.sorted { $0.key < $1.key }.map { ($0.key, .bool($0.value)) }) }),
      ("pinTriesLeft", tries.map { .int($0) }), ("getInfoHex", facts.info.map { .hex($0.rawBytes) }),
      (
        "seal",
        .object([
          ("canRegister", .bool(because == nil)), ("because", because.map { .string($0) }),
          ("canTap", .bool(reason(.tap) == nil)), ("obstacle", obstacle.map { .string($0.reason) }),
          ("supportsPRF", .bool(can.supportsPRF)),
          ("canVerifyUser", .bool(can.canVerifyUser)),
        ])
      ),
    ])
    return Outcome(text: lines.joined(separator: "\n"), json: json)
  }
}

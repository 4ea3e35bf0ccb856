// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SecurityKeys
import WebAuthnCore

extension Command {
  static let pin = Command(
    "pin", "Set a key's first PIN, change it, or see how many tries are left.", operands: ["status", "set", "change"],
    options: [
      OptionSpec("new-pin-fd", "N", "read the new PIN from file descriptor N, up to a line end", only: ["change"])
    ],
    examples: ["sealkey pin status", "sealkey pin set", "sealkey pin change"]
  ) { invocation in
    switch try invocation.operand("status, set or change") {
    case "status":
      return try await invocation.withKey { key, _ in
        let facts = try await key.open()
        let tries = try await key.pinTriesLeft()
        let isSet = facts.info?.option("clientPin")
        let mustChange = isSet == true && facts.info?.forcePINChange == true
        let state =
          switch isSet {
          case true: "\(facts.name): a PIN is set" + (tries.map { ", \($0) tries left." } ?? ".")
          case false: "\(facts.name): no PIN is set."
          default: "\(facts.name): this key has no PIN at all."
          }
        var lines = [state]
        if mustChange {
          lines.append("The key wants another PIN before it does anything else: sealkey pin change")
        }
        if isSet != nil { lines += PINRules(facts.info).lines }
        return Outcome(
          text: lines.joined(separator: "\n"),
          json: .object([
            ("name", .string(facts.name)), ("simulated", .bool(facts.isSimulated)), ("set", .bool(isSet == true)),
            ("triesLeft", tries.map { .int($0) }), ("minimumLength", .int(facts.info?.minPINLength ?? 4)),
            ("mustChange", .bool(mustChange)), ("refusesSimplePINs", .bool(facts.info?.pinComplexityPolicy == true)),
          ]))
      }
    case "set":
      return try await invocation.withKey { key, _ in
        let facts = try await key.open()
        guard let info = facts.info else { throw SecurityKeyError.fido2Needed }
        guard info.option("clientPin") == false else { throw PINCommandError.alreadySet(key: facts.name) }
        let rules = PINRules(info)
        let ask = PINEntry.newPIN(invocation.pinWay(invocation.pinDescriptor), rules)
        try await key.setPIN(
          try await ask(
            PINRequest(keyName: facts.name, triesLeft: nil, minimumLength: rules.minimumLength)))
        return Outcome(
          text:
            "\(facts.name) has a PIN now. It guards what is locked with the key and every program that asks. A touch alone "
            + "still signs for whoever holds the key and does not ask: sealkey settings always-uv on closes that.",
          json: .object([("name", .string(facts.name)), ("simulated", .bool(facts.isSimulated)), ("set", .bool(true))]))
      }
    case "change":
      let newDescriptor = try invocation.descriptor("new-pin-fd")
      return try await invocation.withKey { key, _ in
        let facts = try await key.open()
        guard let info = facts.info else { throw SecurityKeyError.fido2Needed }
        guard info.option("clientPin") == true else { throw SecurityKeyError.pinNotSet }
        let old = RememberedPIN(PINEntry.provider(invocation.pinWay(invocation.pinDescriptor)))
        let tries = try await key.pinTriesLeft()
        let rules = PINRules(info)
        // The old one is asked for first, and used when the new one is known.
        let present = rules.presentMinimumLength
        _ = try await old.ask(PINRequest(keyName: facts.name, triesLeft: tries, minimumLength: present))
        let ask = PINEntry.newPIN(invocation.pinWay(newDescriptor ?? invocation.pinDescriptor), rules)
        let new = try await ask(PINRequest(keyName: facts.name, triesLeft: nil, minimumLength: rules.minimumLength))
        try await key.changePIN(to: new) { try await old.ask($0) }
        return Outcome(
          text: "\(facts.name) has the new PIN.",
          json: .object([
            ("name", .string(facts.name)), ("simulated", .bool(facts.isSimulated)), ("changed", .bool(true)),
          ]))
      }
    case let word: throw UsageError.badValue(option: "pin", value: word, wanted: "status, set or change")
    }
  }
}

/// Why no PIN was set.
enum PINCommandError: NamedError, Hashable {
  case alreadySet(key: String)
  case differs

  var name: String {
    switch self {
    case .alreadySet: "pinAlreadySet"
    case .differs: "pinsDiffer"
    }
  }
  var message: String {
    switch self {
    case .alreadySet(let key): "\(key) has a PIN already."
    case .differs: "The two PINs are not the same, so none was set."
    }
  }
  var next: String {
    switch self {
    case .alreadySet: "Change it: sealkey pin change"
    case .differs: "Run the command again."
    }
  }
  var kind: FaultKind { .userVerification }
}

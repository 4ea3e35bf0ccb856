// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import WebAuthnCore

extension Command {
  static let device = Command(
    "device", "This computer's devices: make one, list them, show the public side for endorsing it elsewhere.",
    operands: ["list", "make NAME", "export NAME", "passphrase set|change|remove NAME"],
    options: [
      OptionSpec("protect", nil, "ask for a passphrase for the private halves", only: ["make"]),
      OptionSpec(
        "new-passphrase-fd", "N", "read the new passphrase of a change from file descriptor N", only: ["passphrase"]),
    ],
    examples: [
      "sealkey device make laptop", "sealkey device list", "sealkey device export laptop --json",
      "sealkey device passphrase set laptop",
    ]
  ) { invocation in
    let words = invocation.options.operands
    guard let word = words.first else { throw UsageError.missingOperand("list, make, export or passphrase") }
    let wantsProtection = invocation.options.has("protect") || invocation.options.has("passphrase-fd")
    switch word {
    case "list":
      try invocation.noOperands(after: 1)
      return DeviceVerb.list(invocation)
    case "make":
      let name = try DeviceVerb.name(1, invocation)
      if wantsProtection {
        let ask = PassphraseEntry.new(try invocation.descriptor("passphrase-fd"))
        try await invocation.store.keep(PrivateHalves(), as: name, passphrase: try ask(name))
      } else {
        try await invocation.store.keep(PrivateHalves(), as: name)
      }
      return try DeviceVerb.show(name, invocation)
    case "export": return try DeviceVerb.show(try DeviceVerb.name(1, invocation), invocation)
    case "passphrase": return try await DeviceVerb.passphrase(invocation)
    default:
      throw UsageError.badValue(option: "device", value: word, wanted: "list, make, export or passphrase")
    }
  }
}

private enum DeviceVerb {
  static func name(_ place: Int, _ invocation: Invocation) throws(UsageError) -> String {
    try invocation.noOperands(after: place + 1)
    guard invocation.options.operands.count > place else { throw .missingOperand("The device's name") }
    return invocation.options.operands[place]
  }

  /// One line for each device, with the people it speaks for as far as they are known here, and those who revoked it.
  static func list(_ invocation: Invocation) -> Outcome {
    let names = invocation.store.deviceNames
    let people = (try? invocation.store.people())?.live.compactMap { try? VerifiedIdentity(record: $0) } ?? []
    let lines = names.map { name in
      let isProtected = (try? invocation.store.isProtected(name)) ?? false
      let key = try? invocation.store.publicHalves(name).devicePublicKey
      return Line(
        name: name, isProtected: isProtected,
        speaksFor: people.filter { person in person.devices.contains { $0.publicKey == key } },
        revokedBy: people.filter { person in person.revokedDevices.contains { $0.publicKey == key } })
    }
    if names.isEmpty { invocation.say("No device is kept here yet. To make one: sealkey device make NAME") }
    return Outcome(
      text: lines.map(\.text).joined(separator: "\n"),
      json: .object([
        ("devices", .array(names.map { .string($0) })),
        ("protected", .array(lines.filter(\.isProtected).map { .string($0.name) })),
        ("speaksFor", .array(lines.flatMap { line in line.speaksFor.map { line.pair($0) } })),
        ("revokedBy", .array(lines.flatMap { line in line.revokedBy.map { line.pair($0) } })),
      ]))
  }

  /// One device of this computer.
  private struct Line {
    let name: String
    let isProtected: Bool
    let speaksFor: [VerifiedIdentity]
    let revokedBy: [VerifiedIdentity]

    var text: String {
      func joined(_ people: [VerifiedIdentity]) -> String { people.map(\.displayName).sorted().joined(separator: ", ") }
      var parts = [name]
      if !speaksFor.isEmpty { parts.append("speaks for \(joined(speaksFor))") }
      if !revokedBy.isEmpty { parts.append("revoked by \(joined(revokedBy))") }
      if speaksFor.isEmpty, revokedBy.isEmpty { parts.append("speaks for nobody known here") }
      if isProtected { parts.append("(under a passphrase)") }
      return parts.joined(separator: "  ").printable
    }

    func pair(_ person: VerifiedIdentity) -> JSONValue {
      .object([
        ("device", .string(name)), ("rootHash", .string(person.rootHash)), ("name", .string(person.displayName)),
      ])
    }
  }

  static func show(_ name: String, _ invocation: Invocation) throws -> Outcome {
    let halves = try invocation.store.publicHalves(name)
    let fingerprint = try Confirmation.fingerprint(halves.devicePublicKey)
    return Outcome(
      text: [
        "device-public-key \(Hex.encode(halves.devicePublicKey))", "kem-bundle        \(Hex.encode(halves.kemBundle))",
        "fingerprint       \(fingerprint)",
      ].joined(separator: "\n"),
      json: .object([
        ("name", .string(name)), ("devicePublicKeyHex", .hex(halves.devicePublicKey)),
        ("kemBundleHex", .hex(halves.kemBundle)), ("fingerprint", .string(fingerprint)),
        ("protected", .bool(try invocation.store.isProtected(name))),
      ]))
  }

  static func passphrase(_ invocation: Invocation) async throws -> Outcome {
    let words = invocation.options.operands
    guard words.count > 1 else { throw UsageError.missingOperand("set, change or remove") }
    guard ["set", "change", "remove"].contains(words[1]) else {
      throw UsageError.badValue(option: "device passphrase", value: words[1], wanted: "set, change or remove")
    }
    let name = try name(2, invocation)
    let old = try invocation.descriptor("passphrase-fd")
    let new = try invocation.descriptor("new-passphrase-fd")
    let isProtected = try invocation.store.isProtected(name)
    if words[1] == "set", isProtected { throw DeviceError.hasPassphrase(name: name) }
    if words[1] != "set", !isProtected { throw DeviceError.hasNoPassphrase(name: name) }
    let (ask, tries) = PassphraseEntry.existing(old)
    try await invocation.store.setPassphrase(
      of: name, from: ask, tries: tries,
      // Without a descriptor of its own the new one is the next line of the same.
      to: words[1] == "remove" ? nil : PassphraseEntry.new(new ?? old))
    let isNow = words[1] != "remove"
    return Outcome(
      text: isNow
        ? "The private halves of \(name) are under the new passphrase. Nobody can bring a forgotten one back."
        : "The private halves of \(name) are no longer under a passphrase. Whoever reads your files has them.",
      json: .object([("name", .string(name)), ("protected", .bool(isNow))]))
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import WebAuthnCore

extension Command {
  static let endorse = Command(
    "endorse", "Let a device speak for an identity.",
    options: [
      OptionSpec("identity", "FILE", "the identity record that registration wrote"),
      OptionSpec("device", "FILE", "a device of this computer; made when the file is absent"),
      OptionSpec("device-public-key", "HEX", "the public key of a device made elsewhere, 65 bytes"),
      OptionSpec("kem-bundle", "HEX", "its key bundle, 32 or 1220 bytes"), noUV,
    ] + outOptions,
    examples: ["sealkey endorse --identity ada.json --device laptop.device --out endorsement.json"]
  ) { invocation in
    try invocation.noOperands()
    let (record, simulated) = try invocation.record(try invocation.required("identity"))
    let halves: PublicHalves
    if let key = try invocation.hex("device-public-key", count: 65) {
      if invocation.options.has("device") { throw UsageError.conflict("device", "device-public-key") }
      guard let bundle = try invocation.hex("kem-bundle") else { throw UsageError.missingOption("kem-bundle") }
      halves = PublicHalves(devicePublicKey: key, kemBundle: bundle)
      // Refused before anybody is asked: both must be keys.
      _ = try P256.Signing.PublicKey(x963Representation: key)
      _ = try KEMBundle(parsing: bundle)
      try confirmForeignDevice(invocation, key, record)
    } else {
      let path = try invocation.required("device")
      let device = try DeviceFile.readOrMake(path)
      if device.isNew {
        invocation.say("Wrote \(path): this computer's device. It holds secrets; keep it to yourself.")
      }
      halves = device.halves
    }
    return try await invocation.withKey(touches: 1) { _, session in
      invocation.say("Touching the key lets this device speak for \(record.displayName).")
      let (endorsement, signed) = try await Ceremony(
        key: session, userVerification: invocation.options.has("no-uv") ? .discouraged : .preferred
      ).endorse(
        devicePublicKey: halves.devicePublicKey, kemBundle: halves.kemBundle, as: record,
        at: SealDate(epoch: Int64(time(nil))))
      return try invocation.deliver(
        signed.artefact(endorsement, for: record, isSimulated: simulated),
        [
          "Endorsed a device for \(record.displayName).",
          "A phone with Seal must publish it; the owner must seal again before this device holds a share.",
        ],
        [("rootHash", .string(record.rootHash)), ("devicePublicKeyHex", .hex(halves.devicePublicKey))])
    }
  }

  /// A pasted device key is how an account is taken over: a person must have compared it.
  private static func confirmForeignDevice(_ invocation: Invocation, _ key: [UInt8], _ record: DirectoryRecord) throws {
    if invocation.options.has("yes") { return }
    let digest = try Statement.fingerprint(publicKey: key).commitment().digest
    let hex = Hex.encode(digest.prefix(16))
    let groups = stride(from: 0, to: hex.count, by: 4).map { String(hex.dropFirst($0).prefix(4)) }
    let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else { throw ConfirmationError.nobodyToAsk }
    defer { close(terminal) }
    Console.write(
      terminal,
      Array(
        """
        The device you endorse will be able to speak for \(record.displayName).
        Its fingerprint: \(groups.joined(separator: " "))
        Compare it with the one that device shows. If they are the same, type: same
        > 
        """.utf8))
    var answer: [UInt8] = []
    var byte: UInt8 = 0
    while answer.count < 64, read(terminal, &byte, 1) == 1, byte != 0x0a { answer.append(byte) }
    guard String(decoding: answer, as: UTF8.self) == "same" else { throw ConfirmationError.notConfirmed }
  }
}

/// A question that was not answered with yes.
enum ConfirmationError: NamedError, Hashable {
  case nobodyToAsk
  case notConfirmed

  var name: String { self == .nobodyToAsk ? "nobodyToAsk" : "notConfirmed" }
  var message: String {
    self == .nobodyToAsk
      ? "This needs a person's confirmation, and there is no terminal to ask on."
      : "Not confirmed, so nothing was done."
  }
  var next: String {
    self == .nobodyToAsk
      ? "Run it in a terminal; or add --yes when you have compared the fingerprint." : "Begin again when you are sure."
  }
  var kind: FaultKind { .refused }
}

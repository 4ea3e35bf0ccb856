// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import WebAuthnCore

extension Command {
  static let endorse = Command(
    "endorse", "Let a device speak for an identity.",
    options: [
      OptionSpec("identity", "NAME|FILE", "the identity: as it is known here, or the record that registration wrote"),
      OptionSpec(
        "device", "NAME|FILE", "a device of this computer, kept here or in a file; made when the file is absent"),
      OptionSpec("device-public-key", "HEX", "the public key of a device made elsewhere, 65 bytes"),
      OptionSpec("kem-bundle", "HEX", "its key bundle, 32 or 1220 bytes"), noUV, Invocation.noStore,
    ] + outOptions,
    examples: ["sealkey endorse --identity ada.json --device laptop.device --out endorsement.json"]
  ) { invocation in
    try invocation.noOperands()
    let (record, simulated) = try invocation.person("identity")
    let time = SealDate(epoch: invocation.now)
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
      // A bundle given beside a device that has its own would be passed over.
      if invocation.options.has("kem-bundle") { throw UsageError.missingOption("device-public-key") }
      halves = try invocation.deviceOrNewFile(try invocation.required("device"))
    }
    return try await invocation.withKey(touches: 1) { _, session in
      invocation.say("Touching the key lets this device speak for \(record.displayName).")
      let (endorsement, signed) = try await Ceremony(
        key: session, userVerification: invocation.options.has("no-uv") ? .discouraged : .preferred
      ).endorse(
        devicePublicKey: halves.devicePublicKey, kemBundle: halves.kemBundle, as: record,
        at: time)
      var known = record
      known.deviceEndorsements.append(endorsement)
      known.isSimulated = known.isSimulated || simulated || signed.evidence.isSimulated
      let endorsed = known
      await invocation.keep { _ = try $0.take(endorsed) }
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
    try Confirmation.ask(
      [
        "The device you endorse will be able to speak for \(record.displayName).",
        "Its fingerprint: \(try Confirmation.fingerprint(key))",
        "Compare it with the one that device shows. If they are the same, type: same",
      ], word: "same", invocation, isAnsweredByYes: true)
  }
}

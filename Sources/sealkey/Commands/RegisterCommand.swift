// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import SecurityKeys
import WebAuthnCore

extension Command {
  static let outOptions = [
    OptionSpec("out", "FILE", "write the result there instead of to stdout"),
    OptionSpec("seal", nil, "write only Seal's own JSON"),
  ]
  static let noUV = OptionSpec("no-uv", nil, "do not ask for the PIN where the key does not insist")

  static let register = Command(
    "register", "Register a key: make the credential that is a person's identity.",
    options: [
      OptionSpec("name", "NAME", "the person's name as others will see it"),
      OptionSpec("endorse", nil, "endorse a device in the same go (a second touch)"),
      OptionSpec("device", "NAME|FILE", "the device to endorse, kept here or in a file; made when the file is absent"),
      noUV, Invocation.noStore,
    ] + outOptions,
    examples: [
      "sealkey register --name Ada --out ada.json",
      "sealkey register --name Ada --endorse --device laptop.device --out ada.json --key virtual",
    ]
  ) { invocation in
    try invocation.noOperands()
    let name = try invocation.required("name")
    let endorses = invocation.options.has("endorse")
    if invocation.options.has("device"), !endorses { throw UsageError.missingOption("endorse") }
    let path = endorses ? try invocation.required("device") : nil
    // A device that does not read is said before the key is touched.
    if let path {
      if access(path, F_OK) == 0 || invocation.store.deviceNames.contains(path) {
        _ = try invocation.publicHalves(path)
      } else {
        try AtomicFile.checkCanMake(path)
      }
    }
    return try await invocation.withKey(touches: endorses ? 2 : 1) { key, session in
      await invocation.warnOfNoPIN(key)
      let ceremony = Ceremony(
        key: session, userVerification: invocation.options.has("no-uv") ? .discouraged : .preferred)
      invocation.say("Touching the key makes a new identity for \(name) on it.")
      let exclude = invocation.knownPeople().credentialIDs.map { CredentialDescriptor(id: $0) }
      var registered: Ceremony.Registered
      do { registered = try await ceremony.register(name: name, excludeList: exclude) } catch SecurityKeyError
        .alreadyRegistered
      {
        throw AlreadyRegistered(known: invocation.knownPeople().records.values.map(\.displayName).sorted())
      }
      // The key holds the identity now. Whatever happens to the second touch, its record is not lost.
      var notEndorsed: (any NamedError)?
      func remember() async {
        let (record, isSimulated) = (registered.record, registered.artefact.isSimulated)
        await invocation.keep { try $0.takeRegistered(record, isSimulated: isSimulated, at: invocation.now) }
      }
      if let path {
        // Somebody may pull the plug while the key waits for the second touch.
        await remember()
        do {
          try await endorse(path, with: ceremony, &registered, invocation)
        } catch { notEndorsed = CommandLineTool.named(error) }
      }
      await remember()
      var outcome = try invocation.deliver(
        registered.artefact,
        [
          "Registered \(name) as \(registered.record.rootHash.prefix(16))...",
          "Nobody knows of it yet: a phone with Seal must publish this identity.",
        ],
        [
          ("rootHash", .string(registered.record.rootHash)), ("publicKeyHex", .hex(registered.record.publicKey)),
          ("credentialIDHex", registered.record.credentialID.map { .hex($0) }),
          ("telemetry", .string(registered.telemetry.line)), ("notEndorsed", notEndorsed?.json),
        ])
      if let notEndorsed {
        Console.note(
          "The identity is made, but NO device speaks for it: \(notEndorsed.message) [\(notEndorsed.name)]\n"
            + "  Endorse one later: sealkey endorse --identity \(invocation.options["out"] ?? name) --device FILE")
        outcome.code = notEndorsed.kind.rawValue
      }
      return outcome
    }
  }

  /// The second touch: a device that speaks for the new identity.
  private static func endorse(
    _ path: String, with ceremony: Ceremony, _ registered: inout Ceremony.Registered, _ invocation: Invocation
  ) async throws {
    let device = try invocation.deviceOrNewFile(path)
    invocation.say("Touching it again lets this computer's device speak for \(registered.record.displayName).")
    let (endorsement, _) = try await ceremony.endorse(
      devicePublicKey: device.devicePublicKey, kemBundle: device.kemBundle, as: registered.record,
      at: SealDate(epoch: invocation.now))
    registered.record.deviceEndorsements.append(endorsement)
  }
}

/// The key holds an identity that is known here. Its record may have been lost on the way to a file; it is kept here.
struct AlreadyRegistered: NamedError {
  /// Everybody who is known here.
  let known: [String]

  let name = "alreadyRegistered"
  let status: Int? = 0x19
  let kind = FaultKind.refused
  var message: String {
    known.count == 1
      ? "This key is registered already, as \(known[0]) whom this computer knows."
      : "This key is registered already, for somebody whom this computer knows (\(known.joined(separator: ", ")))."
  }
  var next: String {
    "For somebody else, use another key. If the file was lost, write it again: sealkey directory export --out people.json "
      + "(another computer takes it once a device is endorsed). To use the key on this computer: sealkey sign-in."
  }
}

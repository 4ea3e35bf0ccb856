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
  static let backup = Command(
    "backup", "Give an identity a second key, or say that one is dead.", operands: ["add", "revoke"],
    options: [
      OptionSpec("identity", "NAME|FILE", "the identity"),
      OptionSpec("label", "TEXT", "what the backup is called (add); which one (revoke)"),
      OptionSpec(
        "new-key", "KEY", "the new key, while --key is the root's; asked to be swapped when not given",
        only: ["add"]),
      noUV, Invocation.noStore,
    ] + outOptions,
    examples: [
      "sealkey backup add --identity Ada --label spare --key /dev/hidraw0 --new-key /dev/hidraw1 --out spare.json",
      "sealkey backup revoke --identity Ada --label spare --out revocation.json",
    ]
  ) { invocation in
    let word = try invocation.operand("add or revoke")
    switch word {
    case "add": return try await CareVerb.addBackup(invocation)
    case "revoke":
      let (record, simulated) = try invocation.person("identity")
      let label = try invocation.required("label")
      let named = record.backups.filter { $0.label == label || Hex.encode($0.publicKey) == label }
      // A spare that is revoked already does not stand in the way of a later one of the same name.
      let gone = (try? AuthoritySet(record: record))?.revoked ?? []
      let live = named.filter { !gone.contains($0.publicKey) }
      let found = live.isEmpty ? named : live
      guard let backup = found.first else { throw CeremonyError.nothingToRevoke }
      guard found.count == 1 || live.isEmpty else { throw AmbiguousSpare(label: label) }
      return try await CareVerb.revoke(
        backup.publicKey, "the backup '\(backup.label)'", record, simulated, invocation)
    default: throw UsageError.badValue(option: "backup", value: word, wanted: "add or revoke")
    }
  }

  static let revokeDevice = Command(
    "revoke-device", "Say that a device does not speak for an identity any more.",
    options: [
      OptionSpec("identity", "NAME|FILE", "the identity"),
      OptionSpec("device", "NAME|FILE", "a device of this computer"),
      OptionSpec(
        "device-public-key", "HEX", "the public key of any device of the identity, or its first 8 digits or more"),
      noUV,
      Invocation.noStore,
    ] + outOptions,
    examples: ["sealkey revoke-device --identity Ada --device-public-key HEX --out revocation.json"]
  ) { invocation in
    try invocation.noOperands()
    let (record, simulated) = try invocation.person("identity")
    let key: [UInt8]
    if let given = invocation.options["device-public-key"] {
      if invocation.options.has("device") { throw UsageError.conflict("device", "device-public-key") }
      key = try CareVerb.device(given, of: record)
    } else {
      key = try invocation.publicHalves(try invocation.required("device")).devicePublicKey
    }
    return try await CareVerb.revoke(
      key, "the device \(Hex.encode(key.prefix(9)))...", record, simulated, invocation)
  }

  static let delete = Command(
    "delete", "Delete an identity for good: its root signs a marker that nothing takes back.",
    options: [OptionSpec("identity", "NAME|FILE", "the identity"), noUV, Invocation.noStore] + outOptions,
    examples: ["sealkey delete --identity Ada --out marker.json"]
  ) { invocation in
    try invocation.noOperands()
    let (record, simulated) = try invocation.person("identity")
    try Confirmation.ask(
      [
        "This deletes the identity of \(record.displayName) (\(record.rootHash.prefix(16))) for good.",
        "Once the marker is published, the key opens nothing any more, and nobody can bring it back.",
        "If you are sure, type: delete",
      ], word: "delete", invocation, isAnsweredByYes: true)
    let (marker, signed) = try await invocation.withKey(touches: 1) { _, session in
      invocation.say("Touching the key signs the marker that deletes \(record.displayName).".printable)
      return try await invocation.ceremony(session).delete(record)
    }
    var dead = record
    dead.tier = Tier.deleted.rawValue
    dead.tombstone = marker
    dead.isSimulated = dead.isSimulated || simulated || signed.evidence.isSimulated
    let known = dead
    let outcome = try invocation.deliver(
      Artefact(
        .deleteMarker, marker, isSimulated: simulated || signed.evidence.isSimulated,
        evidence: signed.evidence(for: record)),
      [
        "Signed.",
        invocation.options.has("no-store")
          ? "A phone with Seal must publish the marker; until then the identity lives."
          : "On this computer the identity is deleted from now on. Everywhere else it lives until a phone with Seal has "
            + "published the marker.",
      ],
      [("rootHash", .string(record.rootHash))])
    // Whoever has no marker in hand to publish would else be told here that the identity is gone.
    if invocation.losses.isEmpty { await invocation.keep { _ = try $0.take(known) } }
    return outcome
  }
}

/// Several spares that are not revoked go by one name.
struct AmbiguousSpare: NamedError {
  let label: String
  var name: String { "ambiguousName" }
  var message: String { "More than one spare key is called '\(label)'." }
  var next: String {
    "Give the whole public key of the right one in place of the name: sealkey directory list --json has it (spares, publicKeyHex)."
  }
  var kind: FaultKind { .refused }
}

/// The care of an identity.
private enum CareVerb {
  /// A device of the record by its public key or by the beginning of it, which every list shows.
  static func device(_ text: String, of record: DirectoryRecord) throws -> [UInt8] {
    // As a list shows it, with dots; and as a check calls it, without the 04 that begins every key.
    var digits = String(text.lowercased().reversed().drop { $0 == "." }.reversed())
    if !digits.hasPrefix("04") { digits = "04" + digits }
    guard (8...130).contains(digits.utf8.count), digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
      throw UsageError.badValue(
        option: "--device-public-key", value: text, wanted: "65 bytes in hexadecimal, or their first 8 digits or more")
    }
    let found = Set(record.deviceEndorsements.map(\.devicePublicKey)).filter { Hex.encode($0).hasPrefix(digits) }
    guard let key = found.first else { throw CeremonyError.nothingToRevoke }
    guard found.count == 1 else { throw StoreError.ambiguousName(text) }
    return key
  }

  static func addBackup(_ invocation: Invocation) async throws -> Outcome {
    let (record, simulated) = try invocation.person("identity")
    let label = try invocation.required("label")
    try Ceremony.checkLabel(label, of: record)
    let people = invocation.knownPeople()
    let exclude = people.credentialIDs.map { CredentialDescriptor(id: $0) }
    var forNewKey = invocation
    // It may be plugged in where the root's key was, and be of the same model: what one refused, the other may take.
    forNewKey.refusedPINs = RefusedPINs()
    defer { forNewKey.refusedPINs.forgetAll() }
    if let text = invocation.options["new-key"] {
      do { forNewKey.key = try KeyAddress(parsing: text) } catch {
        throw UsageError.badValue(option: "--new-key", value: text, wanted: "a key, as --key takes it")
      }
    } else {
      try Confirmation.ask(
        ["Plug in the NEW key. When it is there, type: new"], word: "new", invocation, isAnsweredByYes: false,
        or: "--new-key KEY")
    }
    if record.deviceEndorsements.contains(where: \.isSponsored) {
      invocation.say("What is locked with \(record.displayName)'s own key, a spare does not open.".printable)
    }
    let accepted = try await forNewKey.withKey(touches: 3) { key, session in
      await invocation.warnOfNoPIN(key)
      invocation.say(
        "The first touch registers the new key; the second says that it belongs to \(record.displayName).".printable)
      return try await invocation.ceremony(session).acceptBackup(for: record, excludeList: exclude)
    }
    if !invocation.options.has("new-key") {
      try Confirmation.ask(
        ["Now plug in the key of \(record.displayName) itself. When it is there, type: root"], word: "root",
        invocation, isAnsweredByYes: false, or: "--new-key KEY")
    }
    let (backup, signed) = try await invocation.withKey(touches: 3, before: 2) { _, session in
      invocation.say("Touching the root key lets the new key act for \(record.displayName).".printable)
      return try await invocation.ceremony(session).add(
        accepted, to: record, label: label, at: SealDate(epoch: invocation.now))
    }
    var known = record
    known.backups.removeAll { $0.credentialID == backup.credentialID }
    known.backups.append(backup)
    let isSimulated = simulated || signed.evidence.isSimulated || accepted.registered.response.evidence.isSimulated
    known.isSimulated = known.isSimulated || isSimulated
    let changed = known
    await invocation.keep { _ = try $0.take(changed) }
    return try invocation.deliver(
      Artefact(.backup, backup, isSimulated: isSimulated, evidence: signed.evidence(for: record)),
      [
        "The new key is a backup of \(record.displayName)'s. It can sign in and endorse devices; it cannot tap."
          .printable,
        "A phone with Seal must publish it.",
      ],
      [
        ("rootHash", .string(record.rootHash)), ("label", .string(label)),
        ("credentialIDHex", .hex(backup.credentialID)), ("publicKeyHex", .hex(backup.publicKey)),
      ])
  }

  static func revoke(
    _ publicKey: [UInt8], _ what: String, _ record: DirectoryRecord, _ simulated: Bool, _ invocation: Invocation
  ) async throws -> Outcome {
    if (try? AuthoritySet(record: record))?.revoked.contains(publicKey) == true {
      invocation.say("It is revoked already, as is known here. This signs it once more.")
    }
    let (revocation, signed) = try await invocation.withKey(touches: 1) { _, session in
      invocation.say("Touching the key says that \(what) does not act for \(record.displayName) any more.".printable)
      return try await invocation.ceremony(session).revoke(
        publicKey: publicKey, of: record, at: SealDate(epoch: invocation.now))
    }
    var known = record
    known.revocations.append(revocation)
    known.isSimulated = known.isSimulated || simulated || signed.evidence.isSimulated
    let changed = known
    await invocation.keep { _ = try $0.take(changed) }
    return try invocation.deliver(
      Artefact(
        .revocation, revocation, isSimulated: simulated || signed.evidence.isSimulated,
        evidence: signed.evidence(for: record)),
      ["Revoked.", "A phone with Seal must publish it before anybody else knows."],
      [("rootHash", .string(record.rootHash)), ("publicKeyHex", .hex(publicKey))])
  }
}

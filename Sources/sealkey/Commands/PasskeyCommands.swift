// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import WebAuthnCore

extension Command {
  static let request = Command(
    "request", "Write the standard WebAuthn options for a browser or a phone, and what checks the answer later.",
    operands: ["register", "endorse", "tap", "confirm", "revoke-device", "delete"],
    options: [
      OptionSpec("pending", "FILE", "where to keep what 'sealkey import' needs"),
      OptionSpec("out", "FILE", "write the options there instead of to stdout"),
      OptionSpec("name", "NAME", "the person's name", only: ["register"]),
      OptionSpec(
        "identity", "NAME|FILE", "whose passkey signs",
        only: ["endorse", "tap", "confirm", "revoke-device", "delete"]),
      OptionSpec("device", "NAME|FILE", "a device of this computer", only: ["endorse", "revoke-device"]),
      OptionSpec("estate", "ID", "the estate's id", only: ["tap", "confirm"]),
      OptionSpec("epoch", "N", "the epoch's number", only: ["tap", "confirm"]),
      OptionSpec("claim", "ID", "the claim's id", only: ["tap"]),
      OptionSpec(
        "head", "HEX", "digest of the record's newest event, 32 bytes; '' when it has none", only: ["tap", "confirm"]),
    ],
    examples: [
      "sealkey request register --name Ada --pending ada.pending --out options.json",
      "sealkey request endorse --identity ada.json --device laptop --pending e.pending",
    ]
  ) { invocation in
    let word = try invocation.operand("What to request")
    let path = try invocation.required("pending")
    let request: PasskeyRequest
    let meaning: String
    if word == "register" {
      let name = try invocation.required("name")
      request = try PasskeyRequest(registering: name)
      meaning = "The answer makes a passkey for \(name). Nothing of Seal's is signed with it yet."
    } else {
      let (record, simulated) = try invocation.person("identity")
      let statement = try await PasskeyVerb.statement(word, invocation)
      if case .endorse(let device, _) = statement { try Ceremony.checkNotRevoked(device, of: record) }
      meaning = try PasskeyVerb.meaning(statement, record.displayName)
      request = try PasskeyRequest(
        signing: statement, as: record, isSimulated: simulated,
        backupEligible: PasskeyVerb.backupEligible(record, invocation))
    }
    let exclude = word == "register" ? invocation.knownPeople().credentialIDs : []
    let options = try request.options(excludeList: exclude)
    try invocation.write(request.encoded(), to: path, mode: 0o600)
    invocation.say(meaning.printable)
    invocation.say(
      "Wrote \(path): keep it until the answer is here, then: sealkey import ANSWER --pending \(path)".printable)
    let text = JSONWriter.write(options, .readable)
    if let out = invocation.options["out"] {
      try invocation.write(text + [0x0a], to: out)
      invocation.say("Wrote \(out).".printable)
    }
    return Outcome(
      text: invocation.options.has("out") ? "" : String(decoding: text, as: UTF8.self),
      json: .object([("ceremony", .string(word)), ("pending", .string(path)), ("publicKey", options)]),
      isDocument: true)
  }

  static let importAnswer = Command(
    "import", "Take the answer of a browser or a phone to a request, check it, and make Seal's artefact of it.",
    operands: ["FILE"],
    options: [OptionSpec("pending", "FILE", "what 'sealkey request' kept"), Invocation.noStore] + outOptions,
    examples: ["sealkey import answer.json --pending ada.pending --out ada.json"]
  ) { invocation in
    let file = try invocation.operand("The answer's file")
    let pending = try invocation.required("pending")
    let kept = try AtomicFile.read(pending)
    let request = try FileKind.reading(pending, as: [.pending], "what 'sealkey request' kept") {
      try PasskeyRequest(parsing: kept)
    }
    let answer = try AtomicFile.read(file)
    switch try FileKind.reading(file, as: [], "the answer of a browser or a phone", { try request.answer(answer) }) {
    case .registered(let registered):
      let (record, isSimulated) = (registered.record, registered.artefact.isSimulated)
      await invocation.keep { try $0.takeRegistered(record, isSimulated: isSimulated, at: invocation.now) }
      return try invocation.deliver(
        registered.artefact,
        ["Took in the passkey of \(record.displayName).".printable, "A phone with Seal must publish this identity."],
        [
          ("rootHash", .string(record.rootHash)), ("tier", .string(record.tier)),
          ("telemetry", .string(registered.telemetry.line)),
        ])
    case .signed(let signed, let record): return try await PasskeyVerb.deliver(signed, record, invocation)
    }
  }
}

private enum PasskeyVerb {
  /// What whoever answers will have signed.
  static func meaning(_ statement: Statement, _ name: String) throws -> String {
    switch statement {
    case .endorse(let key, _):
      return "The answer signs that a device speaks for \(name); its fingerprint: \(try Confirmation.fingerprint(key))"
    case .revokeDevice(let key):
      return
        "The answer signs that a device no longer speaks for \(name); its fingerprint: \(try Confirmation.fingerprint(key))"
    case .releaseAuthorize(let estate, _, let claim, _):
      return
        "The answer is \(name)'s word to release the estate \(estate) under the claim \(claim). It cannot be taken back."
    case .custodyConfirm(let estate, _, _):
      return "The answer says that \(name) still has the key, for the estate \(estate). It releases nothing."
    case .identityDelete: return "The answer signs the marker that deletes \(name) for good."
    default: return "The answer signs a statement of Seal's for \(name)."
    }
  }

  /// Whether the passkey may be backed up, which never changes: as the registration says where it stands beside the
  /// identity, else as the root said when it endorsed a device. Nil where neither is there.
  static func backupEligible(_ record: DirectoryRecord, _ invocation: Invocation) -> Bool? {
    if let file = invocation.options["identity"], let bytes = try? AtomicFile.read(file),
      let object = (try? Artefact(parsing: bytes))?.evidence?.attestationObject,
      let made = try? AttestationObject(parsing: object)
    {
      return made.authenticatorData.flags.contains(.backupEligible)
    }
    guard let authorities = try? AuthoritySet(record: record) else { return nil }
    for endorsement in record.deviceEndorsements {
      guard let endorsed = try? authorities.check(endorsement), endorsed.authority.role == .root,
        let data = try? AuthenticatorData(parsing: endorsement.assertion().authenticatorData)
      else { continue }
      return data.flags.contains(.backupEligible)
    }
    return nil
  }

  static func statement(_ word: String, _ invocation: Invocation) async throws -> Statement {
    switch word {
    case "endorse":
      let (halves, _) = try await invocation.deviceOrNew(try invocation.required("device"))
      return .endorse(devicePublicKey: halves.devicePublicKey, kemBundle: halves.kemBundle)
    case "revoke-device":
      let key = try invocation.publicHalves(try invocation.required("device")).devicePublicKey
      return .revokeDevice(devicePublicKey: key)
    case "tap":
      return .releaseAuthorize(
        estateID: try invocation.identifier("estate"), epoch: try invocation.epoch(),
        claimID: try invocation.identifier("claim"), recordHeadDigest: try invocation.head())
    case "confirm":
      return .custodyConfirm(
        estateID: try invocation.identifier("estate"), epoch: try invocation.epoch(),
        recordHeadDigest: try invocation.head())
    case "delete": return .identityDelete(nonce: Random.bytes(32))
    default:
      throw UsageError.badValue(
        option: "request", value: word, wanted: "register, endorse, tap, confirm, revoke-device or delete")
    }
  }

  /// Seal's artefact for whatever was signed.
  static func deliver(
    _ signed: Ceremony.Signed, _ record: DirectoryRecord, _ invocation: Invocation
  ) async throws -> Outcome {
    let time = SealDate(epoch: invocation.now)
    let evidence = signed.evidence(for: record)
    let artefact: Artefact
    var known = record
    switch signed.statement {
    case .endorse(let device, let bundle):
      let endorsement = DeviceEndorsement(
        devicePublicKey: device, kemBundlePublicKeys: bundle, assertion: signed.assertion, createdAt: time)
      artefact = Artefact(.endorsement, endorsement, isSimulated: signed.evidence.isSimulated, evidence: evidence)
      known.deviceEndorsements.append(endorsement)
    case .revokeDevice(let device):
      let revocation = DeviceRevocation(devicePublicKey: device, assertion: signed.assertion, revokedAt: time)
      artefact = Artefact(.revocation, revocation, isSimulated: signed.evidence.isSimulated, evidence: evidence)
      known.revocations.append(revocation)
    case .identityDelete(let nonce):
      let marker = TombstoneProof(nonce: nonce, assertion: signed.assertion)
      artefact = Artefact(.deleteMarker, marker, isSimulated: signed.evidence.isSimulated, evidence: evidence)
      known.tier = Tier.deleted.rawValue
      known.tombstone = marker
    default: artefact = signed.artefact(for: record, isSimulated: false)
    }
    let changed = known
    let outcome = try invocation.deliver(
      artefact, ["The answer is good.", "A phone with Seal must publish it before it counts."],
      [("rootHash", .string(record.rootHash)), ("statement", signed.statement.json)])
    if changed != record, invocation.losses.isEmpty { await invocation.keep { _ = try $0.take(changed) } }
    return outcome
  }
}

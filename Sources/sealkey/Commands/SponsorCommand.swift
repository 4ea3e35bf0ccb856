// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import SealFormats
import SecurityKeys
import WebAuthnCore

extension Command {
  static let sponsor = Command(
    "sponsor", "Register a key for somebody else: it will be their identity, and opens what is left for them.",
    options: [
      OptionSpec("name", "NAME", "their name as others will see it"),
      OptionSpec("out", "FILE", "where the identity record goes, with the locked halves in it"),
      OptionSpec("lock", "FILE", "where the lock goes by itself, to hand over (beside --out)"),
      OptionSpec("sheet", "FILE", "where the sheet to print and hand over goes (beside --out)"),
      OptionSpec("no-prove", nil, "do not ask the key a second time; the lock may then not open when it matters"),
      Invocation.noStore,
    ],
    examples: ["sealkey sponsor --name Emma --out emma.json"]
  ) { invocation in
    try invocation.noOperands()
    let name = try invocation.required("name")
    let files = try SponsoredFiles(invocation)
    let proves = !invocation.options.has("no-prove")
    let first: @Sendable (KeySession) async throws -> Ceremony.Sponsored = { session in
      let exclude = invocation.knownPeople().credentialIDs.map { CredentialDescriptor(id: $0) }
      return try await Ceremony(key: session).sponsor(
        name: name, excludeList: exclude, at: SealDate(epoch: invocation.now)
      ) {
        invocation.say("The first touch makes an identity for \(name) on this key.".printable)
        invocation.say("The second lets the key lock fresh private halves, which only this key will open.")
        if proves {
          invocation.say("For the third the key is closed and opened again: it shows that it opens the lock.")
        }
      }
    }
    let sponsored: Ceremony.Sponsored
    if proves {
      sponsored = try await invocation.withKeyTwice(touches: 3, first) { made, session in
        invocation.say("The key was closed and opened again. The last touch shows that it opens the lock.")
        try await Ceremony(key: session).prove(made)
        return made
      }
    } else {
      sponsored = try await invocation.withKey(touches: 2) { _, session in try await first(session) }
    }
    let (record, isSimulated) = (sponsored.record, sponsored.registered.artefact.isSimulated)
    await invocation.keep { try $0.takeRegistered(record, isSimulated: isSimulated, at: invocation.now) }
    return files.write(sponsored, isProven: proves, invocation)
  }
}

/// The three files of a sponsored identity. None holds a secret; all are for their owner alone all the same.
private struct SponsoredFiles {
  let record: String
  let lock: String
  let sheet: String

  /// Refuses before any touch what could not be written afterwards.
  init(_ invocation: Invocation) throws {
    record = try invocation.required("out")
    let stem = record.hasSuffix(".json") ? String(record.dropLast(5)) : record
    lock = invocation.options["lock"] ?? "\(stem)-lock.json"
    sheet = invocation.options["sheet"] ?? "\(stem)-handover.txt"
    if record == lock { throw UsageError.sameFile("out", "lock") }
    if record == sheet { throw UsageError.sameFile("out", "sheet") }
    if lock == sheet { throw UsageError.sameFile("lock", "sheet") }
    for path in [record, lock, sheet] { try AtomicFile.checkCanMake(path) }
  }

  func write(_ sponsored: Ceremony.Sponsored, isProven: Bool, _ invocation: Invocation) -> Outcome {
    let made = sponsored.record
    let evidence = sponsored.registered.response.evidence
    let artefact = sponsored.registered.artefact
    let locked = sponsored.signed.artefact(sponsored.endorsement, for: made, isSimulated: artefact.isSimulated)
    let text = HandOverSheet.text(
      for: made, keyName: evidence.name, lockFile: lock, isProven: isProven, isSimulated: artefact.isSimulated,
      at: invocation.now)
    // The record comes last: when it is there, everything is.
    // The key has been touched: one file that cannot be written does not take the others with it.
    func put(_ bytes: [UInt8], _ path: String) -> Bool {
      do throws(FileError) {
        try AtomicFile.write(bytes, to: path, mode: 0o600, replacing: false)
        return true
      } catch {
        invocation.losses.add("of the key that was registered", error)
        return false
      }
    }
    let isLockWritten = put(locked.encoded(pretty: true), lock)
    let isSheetWritten = put(Array(text.utf8), sheet)
    let bytes = artefact.encoded(pretty: true)
    let isWritten = put(bytes, record)
    var lines = ["Registered this key for \(made.displayName) as \(made.rootHash.prefix(16))..."]
    // Only what is there is listed; what is not was said when it failed.
    for (isThere, path, what) in [
      (isWritten, record, "the identity, with the locked halves. A phone with Seal must publish it."),
      (
        isLockWritten, lock,
        "the lock by itself. Hand it over too: without it and without the directory nothing opens."
      ),
      (isSheetWritten, sheet, "print it and hand it over with the key."),
    ] {
      lines.append(isThere ? "  \(path): \(what)" : "  NOT written: \(path)")
    }
    if !isLockWritten, isWritten {
      lines.append("The lock is in the record too: \(record) can be handed over in its place.")
    }
    lines.append("You know this key's PIN. Tell \(made.displayName) to change it; the secret survives the change.")
    if !isProven {
      lines.append(
        "The lock was NOT proven with the key: run sealkey unlock \(isWritten ? record : lock) before relying on it.")
    }
    if artefact.isSimulated { lines.append("Simulated: a virtual key made this. It is no real key's word.") }
    if !isWritten {
      lines += ["The identity record, which could not be written:", String(decoding: bytes, as: UTF8.self)]
    }
    return Outcome(
      text: lines.joined(separator: "\n"),
      json: .object([
        ("kind", .string("identityRecord")), ("simulated", .bool(artefact.isSimulated)),
        ("rootHash", .string(made.rootHash)), ("publicKeyHex", .hex(made.publicKey)),
        ("devicePublicKeyHex", .hex(sponsored.endorsement.devicePublicKey)), ("proven", .bool(isProven)),
        ("file", isWritten ? .string(record) : nil), ("lockFile", isLockWritten ? .string(lock) : nil),
        ("sheetFile", isSheetWritten ? .string(sheet) : nil),
        ("telemetry", .string(sponsored.registered.telemetry.line)),
        ("artefact", isWritten ? nil : try? JSONReader.parse(bytes)),
      ]))
  }
}

extension Command {
  static let unlock = Command(
    "unlock", "Show that a key opens the identity that was registered on it. Nothing is kept unless you say so.",
    operands: ["FILE"],
    options: [
      OptionSpec("store", "NAME", "keep the private halves on this computer, as a device of that name"),
      OptionSpec("protect", nil, "ask for a passphrase for what is kept (--store)"),
      OptionSpec("identity", "FILE", "the identity record, when FILE is the lock alone and does not say whose it is"),
    ],
    examples: ["sealkey unlock emma.json", "sealkey unlock emma-lock.json"]
  ) { invocation in
    let path = try invocation.operand("The identity record or the lock file")
    let (given, simulated) = try invocation.sponsoredRecord(path)
    let record = try invocation.living(given)
    let passphraseDescriptor = try invocation.descriptor("passphrase-fd")
    let isProtected = invocation.options.has("protect") || passphraseDescriptor != nil
    if isProtected, !invocation.options.has("store") { throw UsageError.missingOption("store") }
    if let name = invocation.options["store"] { try invocation.checkFreeDevice(name) }
    return try await invocation.withKey(touches: 1) { _, session in
      let opened = try await Ceremony(key: session).unlock(record) {
        invocation.say(
          "If this is the right key, one touch opens the private halves of \(record.displayName) for a moment."
            .printable)
      }
      let isSimulated = simulated || opened.evidence.isSimulated
      let name = invocation.options["store"]
      if let name, isProtected {
        let ask = PassphraseEntry.new(passphraseDescriptor)
        try await invocation.store.keep(opened.halves, as: name, passphrase: try ask(name))
      } else if let name {
        try await invocation.store.keep(opened.halves, as: name)
      }
      let whole = opened.match == .whole
      let form = opened.saltForm
      var lines = [
        "This key opens the identity of \(record.displayName). "
          + (whole
            ? "Both public halves are those that its root endorsed."
            : "The public halves that could be compared are those that its root endorsed.")
      ]
      lines += ["The identity on it, as the sheet shows it:"] + HandOverSheet.grouped(record.rootHash)
      if !whole {
        lines.append("The ML-KEM half could not be compared: this computer's OpenSSL does not offer ML-KEM-768.")
      }
      lines.append(
        form == .hashed
          ? "The salt was used as WebAuthn says (hashed)." : "The salt was used as it is (raw), not as WebAuthn says.")
      lines.append(
        name.map { "The private halves are kept on this computer, as the device \($0)." } ?? "Nothing private was kept."
      )
      if isSimulated { lines.append("Simulated: a virtual key had a part in this.") }
      return Outcome(
        text: lines.joined(separator: "\n"),
        json: .object([
          ("opened", .bool(true)), ("simulated", .bool(isSimulated)), ("rootHash", .string(record.rootHash)),
          ("displayName", .string(record.displayName)), ("saltForm", .string(form.rawValue)),
          ("wholeBundleCompared", .bool(whole)), ("stored", .bool(name != nil)),
        ]))
    }
  }
}

extension Invocation {
  /// A record with locked halves: from the record itself, or from the lock and what stands beside it.
  func sponsoredRecord(_ path: String) throws -> (record: DirectoryRecord, isSimulated: Bool) {
    let bytes = try AtomicFile.read(path)
    let wanted: Set<FileKind> = [.artefact(.identityRecord), .artefact(.endorsement)]
    let artefact = try FileKind.reading(path, as: wanted, "an identity record or a lock") {
      let artefact = try Artefact(parsing: bytes)
      if artefact.kind != .endorsement { let _: DirectoryRecord = try artefact.shape(.identityRecord) }
      return artefact
    }
    guard artefact.kind == .endorsement else {
      return (try artefact.shape(.identityRecord), artefact.isSimulated)
    }
    let endorsement: DeviceEndorsement = try artefact.shape(.endorsement)
    if let file = options["identity"] {
      var (record, simulated) = try record(file)
      record.deviceEndorsements = [endorsement]
      return (record, simulated || artefact.isSimulated)
    }
    guard let key = artefact.evidence?.rootPublicKey, let id = artefact.evidence?.credentialID, key.count == 64 else {
      throw UsageError.missingOption("identity")
    }
    let identity = RootIdentity(
      credentialID: id, publicKey: key, tier: .verified,
      displayName: String(RootIdentity.rootHash(of: id).prefix(16)))
    return (DirectoryRecord(identity: identity, deviceEndorsements: [endorsement]), artefact.isSimulated)
  }
}

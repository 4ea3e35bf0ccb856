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
  static let signIn = Command(
    "sign-in", "Find out whose key this is, and let a device of this computer speak for them.",
    options: [
      OptionSpec("passkey", nil, "let the key choose a passkey, instead of asking for each known credential"),
      OptionSpec("device", "NAME|FILE", "the device to endorse; made when there is none of that name (this-computer)"),
      noUV, Invocation.noStore,
    ] + outOptions,
    examples: ["sealkey sign-in --out me.json", "sealkey sign-in --passkey --device laptop"]
  ) { invocation in
    try invocation.noOperands()
    let people = try invocation.store.people()
    let isDiscoverable = invocation.options.has("passkey")
    // Known before anybody touches anything.
    if people.records.isEmpty { throw StoreError.directoryEmpty }
    if people.live.isEmpty {
      throw StoreError.identityDeleted(name: people.records.values.map(\.displayName).sorted().joined(separator: ", "))
    }
    let name = invocation.options["device"] ?? "this-computer"
    try invocation.checkDeviceOrNew(name)
    return try await invocation.withKey(touches: 2) { _, session in
      let ceremony = invocation.ceremony(session)
      invocation.say("The first touch says who you are. It signs nothing but a random number.")
      let found = try await ceremony.signIn(among: people, isDiscoverable: isDiscoverable)
      var record = found.record
      invocation.say("This key is \(record.displayName)'s\(found.isBackup ? ", a backup" : "").".printable)
      let (halves, isNew) = try await invocation.deviceOrNew(name)
      if isNew { invocation.say("Made a device for this computer. It holds secrets and stays here.") }
      invocation.say("The second touch lets this computer's device speak for \(record.displayName).".printable)
      let (endorsement, signed) = try await ceremony.endorse(
        devicePublicKey: halves.devicePublicKey, kemBundle: halves.kemBundle, with: found,
        at: SealDate(epoch: invocation.now))
      record.deviceEndorsements.append(endorsement)
      record.isSimulated = record.isSimulated || signed.evidence.isSimulated
      let known = record
      let pin = KnownPeople.Pin(
        rootHash: known.rootHash, publicKey: known.publicKey, displayName: known.displayName, origin: .signedIn,
        pinnedAt: invocation.now)
      await invocation.keep {
        _ = try $0.take(known)
        // A backup proves whose it is only through the root's own word, which the record carries.
        if !found.isBackup { try $0.pin(pin) }
      }
      return try invocation.deliver(
        Artefact(
          .identityRecord, known, isSimulated: signed.evidence.isSimulated, evidence: signed.evidence(for: known)),
        [
          "Signed in as \(known.displayName).".printable,
          "A phone with Seal must publish the endorsement; the owner must seal again before this device holds a share.",
        ],
        [
          ("rootHash", .string(known.rootHash)), ("name", .string(known.displayName)),
          ("backup", .bool(found.isBackup)), ("devicePublicKeyHex", .hex(halves.devicePublicKey)),
        ])
    }
  }

  static let meet = Command(
    "meet", "Two people met: the friend taps on your computer, and your device signs the other direction.",
    options: [
      OptionSpec("me", "NAME|FILE", "your identity"),
      OptionSpec("device", "NAME|FILE", "your device, endorsed in your identity"),
      OptionSpec("friend", "NAME|FILE", "the identity of the friend who taps"),
      OptionSpec("handshake", "FILE", "where your device's word goes (beside --out)"), noUV, Invocation.noStore,
    ] + outOptions,
    examples: ["sealkey meet --me Ada --device laptop --friend karin.json --out friendship.json"]
  ) { invocation in
    try invocation.noOperands()
    let me = try invocation.person("me")
    let friend = try invocation.person("friend")
    let device = try invocation.deviceFile(try invocation.required("device"))
    let path = invocation.options["handshake"] ?? invocation.options["out"].map { Self.beside($0, "handshake") }
    if let path { try OutputFiles.checkDerived(path, invocation.options, store: invocation.store) }
    let people = try invocation.store.people()
    if let pin = people.pins[friend.record.rootHash], pin.publicKey != friend.record.publicKey {
      throw StoreError.publicKeyChanged(name: friend.record.displayName, rootHash: friend.record.rootHash)
    }
    let meeting = try await invocation.withKey(touches: 1) { _, session in
      invocation.say(
        "\(friend.record.displayName) touches their key: it says that they met \(me.record.displayName).".printable)
      return try await invocation.ceremony(session).meet(
        friend.record, on: me.record, device: device.halves, at: SealDate(epoch: invocation.now))
    }
    let isSimulated = me.isSimulated || friend.isSimulated || meeting.signed.evidence.isSimulated
    let pin = KnownPeople.Pin(
      rootHash: friend.record.rootHash, publicKey: friend.record.publicKey, displayName: friend.record.displayName,
      origin: .met, pinnedAt: invocation.now)
    var met = friend.record
    met.isSimulated = met.isSimulated || friend.isSimulated || meeting.signed.evidence.isSimulated
    let known = met
    await invocation.keep {
      // They have just touched the key that the record names, so it needs no other proof.
      _ = try $0.take(known, isProven: true)
      try $0.pin(pin)
    }
    let handshake = Artefact(.forgeHandshake, meeting.handshake, isSimulated: isSimulated)
    var isWritten = false
    if let path {
      do throws(FileError) {
        try invocation.write(handshake.encoded(pretty: true), to: path)
        invocation.say("Wrote \(path).".printable)
        isWritten = true
      } catch { invocation.losses.add("so the handshake is on the standard output", error) }
    }
    var outcome = try invocation.deliver(
      Artefact(
        .friendship, meeting.friendship, isSimulated: isSimulated, evidence: meeting.signed.evidence(for: friend.record)
      ),
      [
        "You met. \(friend.record.displayName)'s root key is pinned on this computer.".printable,
        "A phone with Seal must publish the handshake, so that the friend's phone learns of it.",
      ],
      [
        ("friendHash", .string(friend.record.rootHash)), ("pinned", .bool(!invocation.options.has("no-store"))),
        ("handshakeFile", isWritten ? path.map { .string($0) } : nil),
        ("handshake", !isWritten ? try? JSONReader.parse(handshake.encoded()) : nil),
      ])
    // Your device has signed it and it is nowhere else.
    if !isWritten {
      let text = String(decoding: handshake.encoded(pretty: true), as: UTF8.self)
      outcome.text = outcome.text.isEmpty ? text : "\(outcome.text)\n\(text)"
      outcome.isDocument = true
    }
    return outcome
  }

  static let receipt = Command(
    "receipt", "Something changes hands: the receiver taps on the giver's computer, and both have signed the same.",
    options: [
      OptionSpec("giver", "NAME|FILE", "the identity of whoever gives"),
      OptionSpec("device", "NAME|FILE", "the giver's device, endorsed in that identity"),
      OptionSpec("receiver", "NAME|FILE", "the identity of whoever receives, and taps"),
      OptionSpec("item", "TEXT", "what changes hands"), OptionSpec("photo", "FILE", "a picture of it"), noUV,
    ] + outOptions,
    examples: ["sealkey receipt --giver Ada --device laptop --receiver Karin --item 'The blue box' --out receipt.json"]
  ) { invocation in
    try invocation.noOperands()
    let giver = try invocation.person("giver")
    let receiver = try invocation.person("receiver")
    let item = try invocation.required("item")
    guard !item.allSatisfy(\.isWhitespace) else {
      throw UsageError.badValue(option: "--item", value: item, wanted: "words that say what changes hands")
    }
    let photo = try invocation.options["photo"].map { try AtomicFile.read($0, limit: 64 << 20) }
    let device = try invocation.deviceFile(try invocation.required("device"))
    let (receipt, signed) = try await invocation.withKey(touches: 1) { _, session in
      invocation.say(
        "\(receiver.record.displayName) touches their key: they received '\(item)' from \(giver.record.displayName)."
          .printable)
      return try await invocation.ceremony(session).receipt(
        from: giver.record, device: device.halves, to: receiver.record, item: item, photo: photo, at: invocation.now)
    }
    return try invocation.deliver(
      Artefact(
        .receipt, receipt, isSimulated: giver.isSimulated || receiver.isSimulated || signed.evidence.isSimulated,
        evidence: signed.evidence(for: receiver.record)),
      ["Both signed.", "Give the file to the receiver, and keep it yourself."],
      [
        ("receiptID", .string(receipt.terms.receiptID)), ("giverHash", .string(receipt.terms.giverHash)),
        ("receiverHash", .string(receipt.terms.receiverHash)),
      ])
  }

  /// `x.json` becomes `x-WHAT.json`.
  static func beside(_ path: String, _ what: String) -> String {
    "\(path.hasSuffix(".json") ? String(path.dropLast(5)) : path)-\(what).json"
  }
}

/// Private halves that a closure can hold on to.
final class HeldDevice: Sendable {
  let halves: PrivateHalves
  init(_ halves: consuming PrivateHalves) { self.halves = halves }
}

extension Invocation {
  func ceremony(_ session: KeySession) -> Ceremony {
    Ceremony(key: session, userVerification: options.has("no-uv") ? .discouraged : .preferred)
  }

  /// Somebody who acts, by name, root hash or file: refused when they have been deleted, before anybody touches anything.
  func person(_ option: String) throws -> (record: DirectoryRecord, isSimulated: Bool) {
    let found = try somebody(try required(option))
    return (try living(found.record), found.isSimulated)
  }

  /// Somebody by name, root hash or file, whatever became of them.
  func somebody(_ text: String) throws -> (record: DirectoryRecord, isSimulated: Bool) {
    if text.contains("/") { return try identity(text) }
    do { return (try store.people().record(text), false) } catch {
      // Nobody of that name is known here: a file's name.
      guard access(text, F_OK) == 0 else { throw text.hasSuffix(".json") ? FileError.notFound(path: text) : error }
      return try identity(text)
    }
  }

  func deviceFile(_ text: String) throws -> HeldDevice { HeldDevice(try device(text)) }
}

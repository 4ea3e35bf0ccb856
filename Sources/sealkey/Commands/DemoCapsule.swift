// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import SecurityKeys
import VirtualAuthenticator
import WebAuthnCore

/// A whole made-up estate: everybody has a virtual key, and everything that the app would check is really signed.
enum DemoCapsule {
  static func write(_ path: String, _ invocation: Invocation) async throws -> Outcome {
    let stage = try stage(invocation)
    let policy = ReleasePolicy(threshold: 2)
    let start = invocation.now - SyntheticEstate.duration(of: policy, upTo: stage) - 3600
    let folder = invocation.options["people"]
    let names = ["Ada", "Karin", "David", "Ruth"]
    if let folder {
      for path in (names + ["Emma"]).map({ "\(folder)/\($0.lowercased())" }) where OutputFiles.isThere(path) {
        throw FileError.exists(path: path)
      }
      try makeFolder(folder)
    }

    var people: [DemoPerson] = []
    for name in names {
      invocation.say("\(name) registers a virtual key.")
      people.append(try await DemoPerson(name, endorsedAt: start, folder: folder, invocation))
    }
    invocation.say("Ada registers a virtual key for Emma.")
    let emma = try await DemoPerson(sponsored: "Emma", endorsedAt: start, folder: folder, invocation)
    let estate = SyntheticEstate(
      owner: people[0].person, holders: people.dropFirst().map(\.person), recipients: [emma.person], start: start,
      policy: policy)
    try await estate.write(upTo: stage)
    for person in people + [emma] { await person.unplug() }

    let bytes = estate.capsule.encoded()
    try invocation.write(bytes, to: path)
    // What counts is the file: it is read again, as anybody else would.
    let read = try invocation.capsule(path)
    let context = CapsuleContext(
      now: invocation.now, pins: [people[0].person.hash: people[0].person.identity.publicKey])
    let verified = await CapsuleVerifier(context).verify(read)
    guard verified.report.isGood, read.isSimulated else { throw DemoError(file: path) }
    for person in people + [emma] {
      try await person.leaveFiles(verified, everybody: (people + [emma]).map(\.artefact), owner: people[0].person)
    }
    return outcome(path, stage, folder, people + [emma], EstateExplanation(read, verified, context), read)
  }

  private static func stage(_ invocation: Invocation) throws -> SyntheticEstate.Stage {
    guard let word = invocation.options["stage"] else { return .released }
    guard let stage = SyntheticEstate.Stage.allCases.first(where: { "\($0)" == word }) else {
      throw UsageError.badValue(
        option: "--stage", value: word,
        wanted: SyntheticEstate.Stage.allCases.map { "\($0)" }.joined(separator: ", "))
    }
    return stage
  }

  static func makeFolder(_ path: String) throws {
    if mkdir(path, 0o700) != 0, errno != EEXIST { throw FileError.unwritable(path: path, errno: errno) }
  }

  private static func outcome(
    _ path: String, _ stage: SyntheticEstate.Stage, _ folder: String?, _ people: [DemoPerson],
    _ explained: EstateExplanation, _ capsule: Capsule
  ) -> Outcome {
    var lines = [
      "Wrote \(path): a made-up estate with virtual keys (simulated), as far as '\(stage)'.".printable,
      "It passes every check: sealkey capsule verify \(path)", "It explains itself: sealkey capsule show \(path)",
    ]
    if let folder {
      lines.append("Everybody's key, identity and device are in \(folder); each of them can be played with")
      lines.append("  --key virtual --data-dir \(folder)/NAME")
    }
    return Outcome(
      text: lines.joined(separator: "\n"),
      json: .object([
        ("file", .string(path)), ("simulated", .bool(true)), ("ok", .bool(true)), ("stage", .string("\(stage)")),
        ("estateID", .string(capsule.estateID)), ("ownerHash", .string(capsule.ownerHash)),
        ("people", .string(folder ?? "")), ("estate", explained.json),
        (
          "identities",
          .array(
            people.map {
              .object([("name", .string($0.person.identity.displayName)), ("rootHash", .string($0.person.hash))])
            })
        ),
      ]))
  }
}

/// Somebody in the made-up estate, with a virtual key of their own.
private final class DemoPerson: Sendable {
  let person: SyntheticPerson
  let artefact: Artefact
  private let key: SecurityKey
  private let host: VirtualKeyHost
  private let folder: String?

  /// Somebody who registers and endorses a device.
  init(_ name: String, endorsedAt: Int64, folder: String?, _ invocation: Invocation) async throws {
    self.folder = folder.map { "\($0)/\(name.lowercased())" }
    (key, host) = try Self.plugIn(self.folder, invocation)
    let ceremony = Ceremony(key: KeySession(key))
    let registered = try await ceremony.register(name: "\(name) (simulated)")
    let record = registered.record
    person = try await SyntheticPerson(
      identity: record.identity, halves: PrivateHalves(), endorsedAt: endorsedAt
    ) { try await ceremony.sign($0, as: record).assertion }
    var whole = registered
    whole.record.deviceEndorsements = [person.endorsement]
    artefact = whole.artefact
  }

  /// Somebody for whom a key is registered: it needs a PIN, and is asked for the halves again.
  init(sponsored name: String, endorsedAt: Int64, folder: String?, _ invocation: Invocation) async throws {
    self.folder = folder.map { "\($0)/\(name.lowercased())" }
    (key, host) = try Self.plugIn(self.folder, invocation)
    try await key.setPIN(Self.pin)
    // What the key says of itself has changed, and this asks it again.
    _ = try await key.pinTriesLeft()
    let ceremony = Ceremony(key: KeySession(key) { _ in Self.pin })
    let made = try await ceremony.sponsor(name: "\(name) (simulated)", at: SealDate(epoch: endorsedAt))
    let record = made.record
    let opened = try await ceremony.unlock(record)
    let signing = opened.halves.signingKey.clone()
    person = SyntheticPerson(
      identity: record.identity,
      halves: try PrivateHalves(signingKey: signing, bundle: Self.copy(opened.halves.bundle)),
      endorsement: made.endorsement
    ) { try await ceremony.sign($0, as: record).assertion }
    artefact = made.registered.artefact
  }

  /// The virtual key's PIN is no secret: the sheet of the rehearsal says it.
  static var pin: SecretBytes { SecretBytes(Array("2468".utf8)) }

  private static func copy(_ bundle: borrowing PrivateBundle) throws -> PrivateBundle {
    switch bundle.mlkem768Seed {
    case .some(let seed): try PrivateBundle(x25519: bundle.x25519.clone(), mlkem768Seed: seed.clone())
    case .none: try PrivateBundle(x25519: bundle.x25519.clone(), mlkem768Seed: nil)
    }
  }

  private static func plugIn(_ folder: String?, _ invocation: Invocation) throws -> (SecurityKey, VirtualKeyHost) {
    if let folder { try DemoCapsule.makeFolder(folder) }
    let virtual = try invocation.makeVirtualKey(
      nil, storage: folder.map { .file(path: "\($0)/virtual-key") } ?? .memory)
    let (descriptor, host) = try VirtualKeyHost.inProcess(virtual)
    let key = SecurityKey(
      .reports(id: "demo", name: "virtual key", kindName: "virtual", isSimulated: true) { descriptor },
      timings: invocation.timings)
    return (key, host)
  }

  func unplug() async {
    await key.close()
    host.stop()
  }

  /// Leaves this person's identity, and a store as their computer would have it: everybody is known, the owner's key is
  /// pinned, and the record was seen as it came about.
  func leaveFiles(_ verified: CapsuleVerification, everybody: [Artefact], owner: SyntheticPerson) async throws {
    guard let folder else { return }
    try AtomicFile.write(artefact.encoded(pretty: true), to: "\(folder)/identity.json")
    let store = LocalStore(path: folder)
    let records: [DirectoryRecord] = try everybody.map {
      var record: DirectoryRecord = try $0.shape(.identityRecord)
      record.isSimulated = true
      return record
    }
    try await store.updatePeople { people in
      for record in records { _ = try people.take(record) }
      try people.pin(
        .init(
          rootHash: owner.hash, publicKey: owner.identity.publicKey, displayName: owner.identity.displayName,
          origin: .met, pinnedAt: owner.endorsement.createdAt.epoch))
    }
    try await store.remember(
      verified.admitted, estateID: verified.estateID, ownerHash: owner.hash, ownerKey: owner.identity.publicKey,
      seenAt: nil)
    // The device speaks for a sponsored identity too, once it was unlocked; so only those who made it here keep one.
    if !person.endorsement.isSponsored { try await store.keep(person.halves, as: "laptop") }
  }
}

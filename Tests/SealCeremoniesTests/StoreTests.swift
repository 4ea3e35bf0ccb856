// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import TestSupport
import Testing
import WebAuthnCore

/// What this computer keeps: it only grows, pins hold, and a file is whole or not there.
@Suite(.programs) struct StoreTests {
  private func empty() throws -> (TemporaryFolder, LocalStore) {
    let folder = try TemporaryFolder()
    return (folder, LocalStore(path: "\(folder.path)/a/data", patience: 200))
  }

  @Test func peopleAreTakenInAndKept() async throws {
    let (folder, store) = try empty()
    let ada = try await SoftPerson("Ada", endorsedAt: 1)
    #expect(try store.people().records.isEmpty)
    #expect(try await store.updatePeople { try $0.take(ada.record) } == .new)
    #expect(try await store.updatePeople { try $0.take(ada.record) } == .unchanged)
    #expect(try store.people().records[ada.record.rootHash] == ada.record)
    #expect(try store.people().record("Ada").rootHash == ada.record.rootHash)
    #expect(try store.people().record(String(ada.record.rootHash.prefix(8))).displayName == "Ada")
    #expect(throws: StoreError.identityNotFound("Eve")) { _ = try store.people().record("Eve") }
    for path in [store.path, "\(store.path)/directory.json", "\(store.path)/lock"] {
      var status = stat()
      #expect(stat(path, &status) == 0 && status.st_mode & 0o077 == 0, "\(path)")
    }
    #expect(store.check().failures.isEmpty)
    _ = folder
  }

  /// A root key under the same hash never changes, whether it came by a record or by a pin.
  @Test func aChangedKeyIsRefused() async throws {
    let (folder, store) = try empty()
    let (ada, eve) = (try await SoftPerson("Ada", endorsedAt: 1), try await SoftPerson("Eve", endorsedAt: 1))
    var forged = eve.record
    forged.rootHash = ada.record.rootHash
    func pin(_ person: SoftPerson) -> KnownPeople.Pin {
      .init(
        rootHash: ada.record.rootHash, publicKey: person.record.publicKey, displayName: "Ada", origin: .met, pinnedAt: 5
      )
    }
    var people = KnownPeople()
    try people.pin(pin(ada))
    try people.pin(pin(ada))
    #expect(throws: StoreError.publicKeyChanged(name: "Ada", rootHash: ada.record.rootHash)) {
      try people.pin(pin(eve))
    }
    #expect(throws: StoreError.publicKeyChanged(name: "Eve", rootHash: ada.record.rootHash)) {
      _ = try people.take(forged)
    }
    #expect(people.records.isEmpty)
    _ = try people.take(ada.record)
    // All of a change or nothing of it.
    await #expect(throws: StoreError.self) {
      try await store.updatePeople { known in
        _ = try known.take(eve.record)
        _ = try known.take(ada.record)
        try known.pin(pin(eve))
      }
    }
    #expect(try store.people().records.isEmpty)
    // A capsule whose owner is pinned under another key.
    let bench = try await EstateBench(.sealed)
    try await bench.store.updatePeople {
      try $0.pin(
        .init(
          rootHash: bench.owner.record.rootHash, publicKey: eve.record.publicKey, displayName: "Ada", origin: .met,
          pinnedAt: 1))
    }
    let reading = try await bench.read(pinned: false)
    #expect(reading.verification.report.failures.contains { $0.name == "publicKeyChanged" })
    #expect(await failure { _ = try await bench.read(pinned: true) } == "publicKeyChanged")
    _ = folder
  }

  @Test func aRecordWithoutProofIsRefused() async throws {
    let ada = try await SoftPerson("Ada", endorsedAt: 1)
    var bare = ada.record
    bare.deviceEndorsements = []
    var people = KnownPeople()
    #expect(throws: StoreError.unprovenIdentityRecord(name: "Ada")) { _ = try people.take(bare) }
    var spoilt = ada.record
    spoilt.deviceEndorsements[0].kemBundlePublicKeys[0] ^= 1
    #expect(throws: StoreError.unprovenIdentityRecord(name: "Ada")) { _ = try people.take(spoilt) }
    #expect(try people.take(bare, isProven: true) == .new)
    #expect(try people.take(ada.record) == .changed)
    #expect(try people.take(bare) == .unchanged, "what is known is not taken away")
    #expect(people.records[bare.rootHash]?.deviceEndorsements == ada.record.deviceEndorsements)
  }

  /// Revocations and locks that are known stay, whatever a later copy of the record says.
  @Test func nothingKnownIsTakenAway() async throws {
    let ada = try await SoftPerson("Ada", endorsedAt: 1)
    let device = ada.record.deviceEndorsements[0].devicePublicKey
    let signed = try await Ceremony(key: ada.key).sign(.revokeDevice(devicePublicKey: device), as: ada.record)
    var revoked = ada.record
    revoked.revocations = [
      DeviceRevocation(devicePublicKey: device, assertion: signed.assertion, revokedAt: SealDate(epoch: 1))
    ]
    revoked.deviceEndorsements[0].lockedPrivate = [UInt8](repeating: 1, count: 100)
    revoked.deviceEndorsements[0].prfSalt = [UInt8](repeating: 2, count: 32)
    var people = KnownPeople()
    _ = try people.take(revoked)
    var other = ada.record
    other.deviceEndorsements[0].lockedPrivate = [UInt8](repeating: 9, count: 100)
    other.deviceEndorsements[0].prfSalt = [UInt8](repeating: 9, count: 32)
    // Nobody signed either of them: which is the genuine one, only the key can say, so the person is told.
    var notes: [String] = []
    #expect(try people.take(other, noting: &notes) == .unchanged)
    #expect(notes.count == 1 && notes.first?.contains("The lock in it is another") == true, "\(notes)")
    notes = []
    #expect(try people.take(revoked, noting: &notes) == .unchanged && notes.isEmpty)
    #expect(people.records[revoked.rootHash] == revoked)
    let read = try KnownPeople(parsing: people.encoded(), path: "x")
    #expect(read.records[revoked.rootHash] == revoked)
    // A lock that no key could open is not worth keeping.
    revoked.deviceEndorsements[0].lockedPrivate = [1]
    var spoilt = KnownPeople()
    _ = try spoilt.take(revoked)
    #expect(try spoilt.take(other) == .changed)
    #expect(spoilt.records[other.rootHash]?.deviceEndorsements == other.deviceEndorsements)
  }

  @Test func aDeletedIdentityStaysDeleted() async throws {
    let ada = try await SoftPerson("Ada", endorsedAt: 1)
    let nonce = Random.bytes(32)
    let signed = try await Ceremony(key: ada.key).sign(.identityDelete(nonce: nonce), as: ada.record)
    var people = KnownPeople()
    _ = try people.take(ada.record)
    var dead = ada.record
    dead.tier = Tier.deleted.rawValue
    var assertion = signed.assertion
    assertion.signature[10] ^= 1
    dead.tombstone = TombstoneProof(nonce: nonce, assertion: assertion)
    #expect(throws: StoreError.badDeleteMarker(name: "Ada")) { _ = try people.take(dead) }
    dead.tombstone = TombstoneProof(nonce: nonce, assertion: signed.assertion)
    #expect(try people.take(dead) == .deleted)
    #expect(throws: StoreError.identityDeleted(name: "Ada")) { _ = try people.take(ada.record) }
    #expect(throws: StoreError.identityDeleted(name: "Ada")) { try people.checkNotDeleted(dead.rootHash) }
    #expect(people.hasDeleteMarker(dead.rootHash))
    // A record that only says so of itself is no marker.
    var unproven = KnownPeople()
    try unproven.checkNotDeleted(dead.rootHash)
    var said = dead
    said.tombstone = nil
    _ = try unproven.take(said)
    #expect(!unproven.hasDeleteMarker(dead.rootHash))
    #expect(people.live.isEmpty && people.credentialIDs.isEmpty)
    let read = try KnownPeople(parsing: people.encoded(), path: "x")
    #expect(read.records[dead.rootHash]?.tombstone == dead.tombstone)
    #expect(read.records[dead.rootHash]?.deviceEndorsements == ada.record.deviceEndorsements)
  }

  /// Every truncation and every changed byte of both files is named or means the same; nothing traps.
  @Test func damagedFilesAreNamed() async throws {
    let bench = try await EstateBench(.sealed)
    try await bench.store.updatePeople { try $0.takeRegistered(bench.owner.record, isSimulated: false, at: 7) }
    _ = try await bench.read()
    let files = try Program.run("find", [bench.store.path, "-name", "*.json*"]).out.split(separator: "\n").map(
      String.init)
    #expect(files.count == 2)
    for file in files {
      let good = try AtomicFile.read(file)
      for cut in stride(from: 0, to: good.count - 2, by: 331) {
        try AtomicFile.write(Array(good.prefix(cut)), to: file, mode: 0o600)
        #expect(!bench.store.check().failures.isEmpty, "\(file) cut at \(cut)")
        await Task.yield()
      }
      for place in stride(from: 0, to: good.count, by: 383) {
        var changed = good
        changed[place] ^= 0x10
        try AtomicFile.write(changed, to: file, mode: 0o600)
        _ = bench.store.check()
        await Task.yield()
      }
      let newer = String(decoding: good, as: UTF8.self).replacing("\"version\":1", with: "\"version\":2")
        .replacing("\"version\" : 1", with: "\"version\" : 2")
      try AtomicFile.write(Array(newer.utf8), to: file, mode: 0o600)
      #expect(bench.store.check().failures.map(\.name) == ["unsupportedVersion"])
      try AtomicFile.write(good, to: file, mode: 0o600)
    }
    #expect(bench.store.check().failures.isEmpty)
  }

  /// Entries that a file brings are kept with the time at which they came, once.
  @Test func firstSightNeverMoves() async throws {
    let bench = try await EstateBench(.claimed)
    let part = Array(bench.capsule.events.prefix(4))
    var early = bench.capsule
    early.entries = part.map { Capsule.Entry($0) }
    _ = try await bench.read(early, at: 5_000_000_000)
    let whole = try await bench.read(at: 6_000_000_000)
    _ = try await bench.read(at: 7_000_000_000)
    let kept = try #require(
      try bench.store.history(
        estateID: bench.capsule.estateID, ownerHash: bench.owner.record.rootHash, ownerKey: bench.ownerKey))
    for event in bench.capsule.events {
      let expected: Int64 = part.contains(event) ? 5_000_000_000 : 6_000_000_000
      #expect(kept.firstSeen[event.id] == expected)
      #expect(whole.firstSeen[event.id] == expected)
    }
    #expect(Set(kept.events.map(\.id)) == Set(bench.capsule.events.map(\.id)))
    // A forged record of the same names under another key has a history of its own.
    let eve = try await SoftPerson("Eve", endorsedAt: 1)
    #expect(
      try bench.store.history(
        estateID: bench.capsule.estateID, ownerHash: bench.owner.record.rootHash, ownerKey: eve.record.publicKey) == nil
    )
  }

  /// A clock that the record shows to be behind gives no first sight, and a token that nobody verified is not kept.
  @Test func aSightByAWrongClockIsNone() async throws {
    let bench = try await EstateBench(.claimed)
    let owner = bench.owner.record.rootHash
    func kept() throws -> EstateHistory {
      try #require(
        try bench.store.history(estateID: bench.capsule.estateID, ownerHash: owner, ownerKey: bench.ownerKey))
    }
    var spoiled = bench.capsule
    for index in spoiled.entries.indices { spoiled.entries[index].event.timestampToken = [1] }
    let early = try await bench.read(spoiled, at: 1_000_000)
    #expect(early.firstSeen.values.allSatisfy { $0 == 1_000_000 })
    #expect(try kept().firstSeen.isEmpty)
    #expect(try kept().events.count == bench.capsule.events.count)
    #expect(try kept().events.allSatisfy { $0.timestampToken == nil })
    _ = try await bench.read(at: 6_000_000_000)
    _ = try await bench.read(at: 7_000_000_000)
    #expect(try kept().firstSeen.count == bench.capsule.events.count)
    #expect(try kept().firstSeen.values.allSatisfy { $0 == 6_000_000_000 })
  }

  @Test func devicesAreKeptUnderNames() async throws {
    let (folder, store) = try empty()
    let made = try await store.deviceOrNew("laptop")
    let again = try await store.deviceOrNew("laptop")
    #expect(made.isNew && !again.isNew && made.halves == again.halves)
    #expect(store.deviceNames == ["laptop"])
    let other = try PrivateHalves()
    #expect(await failure { try await store.keep(other, as: "laptop") } == "fileExists")
    for name in ["", ".", "../x", "a/b", ".hidden", "a b", String(repeating: "x", count: 65), "x.tmp-1"] {
      #expect(await failure { try await store.keep(PrivateHalves(), as: name) } == "badDeviceName", "\(name)")
    }
    #expect(throws: StoreError.deviceNotFound("desk")) { _ = try store.publicHalves("desk") }
    chmod("\(store.path)/devices/laptop.device", 0o644)
    #expect(Set(store.check().failures.map(\.name)) == ["fileTooOpen"])
    _ = folder
  }

  /// One writer at a time; whoever waits too long is told; a dead writer holds nothing, and its leftovers go.
  @Test func writersTakeTurns() async throws {
    let (folder, store) = try empty()
    _ = try await store.deviceOrNew("laptop")
    let held = open("\(store.path)/lock", O_RDWR | O_CLOEXEC)
    #expect(flock(held, LOCK_EX) == 0)
    #expect(await failure { _ = try await store.deviceOrNew("desk") } == "storeBusy")
    #expect(try store.people().records.isEmpty, "readers do not wait")
    close(held)
    // No process has such a number. What a living one writes stays, and so does what somebody has locked: a writer in
    // another container, whose number means nothing here.
    let dead = ["directory.json.tmp-2000000001", "virtual-key.new.2000000001", "virtual-key-u2f.new.2000000002"]
    let alive = [
      "x.tmp-\(getpid())", "virtual-key.new.\(getppid())", "locked.tmp-2000000001", "x.tmp-", "x.tmp-a",
      ".tmp-2000000001", "x.tmp-99999999999", "x.tmp-0", "x.new.2000000001x",
    ]
    for name in dead + alive { try AtomicFile.write([1, 2, 3], to: "\(store.path)/\(name)", mode: 0o600) }
    let lock = open("\(store.path)/locked.tmp-2000000001", O_RDONLY | O_CLOEXEC)
    #expect(flock(lock, LOCK_EX) == 0)
    #expect(Set(store.check().checks.filter { $0.name == "leftover" }.map(\.subject)) == Set(dead))
    _ = try await store.deviceOrNew("desk")
    for name in dead { #expect(access("\(store.path)/\(name)", F_OK) != 0, "\(name)") }
    for name in alive {
      #expect(access("\(store.path)/\(name)", F_OK) == 0, "\(name)")
      unlink("\(store.path)/\(name)")
    }
    close(lock)

    let people = try await withThrowingTaskGroup(of: SoftPerson.self) { group in
      for number in 0..<6 { group.addTask { try await SoftPerson("P\(number)", endorsedAt: 1) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let patient = LocalStore(path: store.path, patience: 600_000)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for person in people {
        group.addTask { try await patient.updatePeople { _ = try $0.take(person.record) } }
      }
      try await group.waitForAll()
    }
    #expect(try store.people().records.count == people.count, "no change was lost")
    _ = folder
  }

  @Test func aStoreThatCannotBeWrittenIsSaid() async throws {
    let bench = try await EstateBench(.sealed)
    let nowhere = LocalStore(path: "/proc/nowhere/data")
    let context = CapsuleContext(now: bench.now, pins: [bench.owner.record.rootHash: bench.ownerKey])
    let reading = try await nowhere.read(bench.capsule, context, remembering: .whenPossible)
    #expect(reading.storeProblem?.name == "fileUnwritable")
    #expect(reading.verification.report.failures.isEmpty)
    let name = await failure { _ = try await nowhere.read(bench.capsule, context, remembering: .always) }
    #expect(name == "fileUnwritable")
  }
}

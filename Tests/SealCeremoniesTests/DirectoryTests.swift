// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import TestSupport
import Testing
import WebAuthnCore

/// What an import may change of somebody who is known, and what comes by itself.
@Suite struct DirectoryTests {
  private func pin(_ person: SoftPerson) -> KnownPeople.Pin {
    .init(
      rootHash: person.record.rootHash, publicKey: person.record.publicKey, displayName: person.record.displayName,
      origin: .met, pinnedAt: 5)
  }

  /// Whoever was met under a name keeps it; of the others it is said.
  @Test func namesOfPinnedPeopleStay() async throws {
    let ada = try await SoftPerson("Ada", endorsedAt: 1)
    var renamed = ada.record
    renamed.displayName = "Eve"
    var (people, notes) = (KnownPeople(), [String]())
    _ = try people.take(ada.record)
    #expect(try people.take(renamed, noting: &notes) == .changed)
    #expect(notes == ["'Ada' is called 'Eve' from now on."])
    people = KnownPeople()
    _ = try people.take(ada.record)
    try people.pin(pin(ada))
    notes = []
    #expect(try people.take(renamed, noting: &notes) == .unchanged)
    #expect(notes.count == 1 && people.records[ada.record.rootHash]?.displayName == "Ada")
    // Pinned before there was a record.
    people = KnownPeople()
    try people.pin(pin(ada))
    #expect(try people.take(renamed) == .new)
    #expect(people.records[ada.record.rootHash]?.displayName == "Ada")
  }

  @Test func longNamesAreRefused() async throws {
    let ada = try await SoftPerson("Ada", endorsedAt: 1)
    var record = ada.record
    for (count, isGood) in [(1024, true), (1025, false), (1 << 20, false)] {
      record.displayName = String(repeating: "n", count: count)
      let bytes = record.encoded()
      #expect(await failure { _ = try DirectoryRecord(parsing: bytes) } == (isGood ? nil : "badMember"), "\(count)")
      let capsule = CapsuleIdentity(record).encoded()
      #expect(await failure { _ = try CapsuleIdentity(parsing: capsule) } == (isGood ? nil : "badMember"), "\(count)")
    }
  }

  /// What nobody signed who may is not kept, and never displaces what somebody signed.
  @Test func unsignedPartsAreLeftOut() async throws {
    let (ada, eve) = (try await SoftPerson("Ada", endorsedAt: 1), try await SoftPerson("Eve", endorsedAt: 1))
    let ceremony = Ceremony(key: ada.key)
    let spare = try SoftKey()
    let statement = Statement.backupAccept(
      rootIDHash: ada.record.rootHash, credentialID: spare.id, publicKey: spare.publicKey)
    let bare = DirectoryRecord(
      identity: RootIdentity(credentialID: spare.id, publicKey: spare.publicKey, tier: .verified, displayName: "x"))
    let backup = BackupCredential(
      credentialID: spare.id, publicKey: spare.publicKey, tier: .verified, label: "spare",
      assertion: try await ceremony.sign(.backup(credentialID: spare.id, publicKey: spare.publicKey), as: ada.record)
        .assertion,
      acceptance: try await Ceremony(key: spare).sign(statement, as: bare).assertion, createdAt: SealDate(epoch: 1))
    var forgedBackup = backup
    forgedBackup.publicKey = eve.record.publicKey
    var spoilt = ada.record.deviceEndorsements[0]
    spoilt.kemBundlePublicKeys[0] ^= 1
    let device = ada.record.deviceEndorsements[0].devicePublicKey
    let byEve = try await Ceremony(key: eve.key).sign(.revokeDevice(devicePublicKey: device), as: eve.record)
    var good = ada.record
    good.backups = [backup]
    var bad = ada.record
    bad.backups = [forgedBackup]
    bad.deviceEndorsements += [spoilt]
    bad.revocations = [
      DeviceRevocation(devicePublicKey: device, assertion: byEve.assertion, revokedAt: SealDate(epoch: 1))
    ]
    for order in [[good, bad], [bad, good]] {
      var (people, notes) = (KnownPeople(), [String]())
      for record in order { _ = try people.take(record, noting: &notes) }
      #expect(people.records[good.rootHash] == good)
      #expect(notes.count == 3 && notes.allSatisfy { $0.hasPrefix("1 ") && $0.hasSuffix("left out.") }, "\(notes)")
    }
    // Written into the file behind this program's back, each is bad.
    let folder = try TemporaryFolder()
    let store = LocalStore(path: "\(folder.path)/data")
    try await store.updatePeople { _ = try $0.take(good) }
    let text = String(decoding: try AtomicFile.read("\(store.path)/directory.json"), as: UTF8.self)
    func list(_ values: [some SealShape]) -> String {
      Base64.encode(JSONWriter.write(.array(values.map(\.json)))).replacing("/", with: "\\/")
    }
    let path = "\(store.path)/directory.json"
    let (was, now) = (list(good.deviceEndorsements), list(good.deviceEndorsements + [spoilt]))
    let changed =
      text.contains(was)
      ? text.replacing(was, with: now)
      : text.replacing(was.replacing("\\/", with: "/"), with: now.replacing("\\/", with: "/"))
    #expect(changed != text)
    try AtomicFile.write(Array(changed.utf8), to: path, mode: 0o600)
    #expect(store.check().failures.map(\.name) == ["endorsementInvalid"])
  }

  /// Revocations, markers, endorsements and backups that come by themselves find whose they are.
  @Test func partsByThemselves() async throws {
    let (ada, eve) = (try await SoftPerson("Ada", endorsedAt: 1), try await SoftPerson("Eve", endorsedAt: 1))
    let device = ada.record.deviceEndorsements[0].devicePublicKey
    let ceremony = Ceremony(key: ada.key)
    let tap = try await ceremony.sign(.revokeDevice(devicePublicKey: device), as: ada.record)
    let revocation = DeviceRevocation(
      devicePublicKey: device, assertion: tap.assertion, revokedAt: SealDate(epoch: 1))
    let halves = try PrivateHalves()
    let endorsement = try await ceremony.endorse(
      devicePublicKey: halves.devicePublicKey, kemBundle: halves.bundle.publicKeys.bytes, as: ada.record,
      at: SealDate(epoch: 1)
    ).endorsement
    let marker = try await ceremony.delete(ada.record).marker
    var people = KnownPeople()
    let parts: [KnownPeople.Part] = [.revocation(revocation), .endorsement(endorsement), .deleteMarker(marker)]
    _ = try people.take(eve.record)
    for part in parts { #expect(await failure { _ = try people.take(part) } == "signerUnknown") }
    _ = try people.take(ada.record)
    for part in parts.dropLast() {
      let taken = try people.take(part)
      #expect(taken.rootHash == ada.record.rootHash && taken.result == .changed)
      #expect(try people.take(part).result == .unchanged)
    }
    let record = try #require(people.records[ada.record.rootHash])
    #expect(try VerifiedIdentity(record: record).devices.map(\.publicKey) == [halves.devicePublicKey])
    #expect(try people.take(parts[2]).result == .deleted)
    #expect(try people.take(parts[0]).result == .unchanged)
    #expect(people.live.map(\.displayName) == ["Eve"])
  }
}

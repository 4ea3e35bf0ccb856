// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import Testing
import WebAuthnCore

/// Signing in, meeting, receipts, backups, revocations and the end of an identity.
@Suite struct PeopleTests {
  private func known(_ people: [DirectoryRecord]) throws -> KnownPeople {
    var known = KnownPeople()
    for record in people { _ = try known.take(record) }
    return known
  }

  @Test func signingInFindsTheOwner() async throws {
    let (ada, eve) = (try await SoftPerson("Ada", endorsedAt: 1), try await SoftPerson("Eve", endorsedAt: 1))
    let people = try known([ada.record, eve.record])
    let ceremony = Ceremony(key: ada.key)
    let found = try await ceremony.signIn(among: people)
    #expect(found.record.rootHash == ada.record.rootHash && !found.isBackup)
    let device = try PrivateHalves()
    let (endorsement, _) = try await ceremony.endorse(
      devicePublicKey: device.devicePublicKey, kemBundle: device.bundle.publicKeys.bytes, with: found,
      at: SealDate(epoch: 5))
    var record = ada.record
    record.deviceEndorsements.append(endorsement)
    #expect(try VerifiedIdentity(record: record).devices.count == 2)
    #expect(try await ceremony.signIn(among: people, isDiscoverable: true).record.rootHash == ada.record.rootHash)

    #expect(await failure { _ = try await ceremony.signIn(among: KnownPeople()) } == "directoryEmpty")
    #expect(
      await failure { _ = try await ceremony.signIn(among: KnownPeople(), isDiscoverable: true) } == "identityNotFound")
    let onlyEve = try known([eve.record])
    #expect(await failure { _ = try await ceremony.signIn(among: onlyEve) } == "unexpectedCredential")
    #expect(await failure { _ = try await ceremony.signIn(among: onlyEve, isDiscoverable: true) } == "identityNotFound")
    // A record with another root key under Ada's name of a credential.
    var forged = ada.record
    forged.publicKey = eve.record.publicKey
    #expect(await failure { _ = try self.known([forged]) } == "unprovenIdentityRecord")
    let tampered = Ceremony(key: TamperedKey(real: ada.key, assertion: { $0.signature[8] ^= 1 }))
    #expect(await failure { _ = try await tampered.signIn(among: people) } == "verificationFailed")
  }

  /// A backup signs in and endorses; revoked it does neither; and two owners of one credential are told apart by nobody.
  @Test func backups() async throws {
    let ada = try await SoftPerson("Ada", endorsedAt: 1)
    let spare = try await KeyBench()
    let root = Ceremony(key: ada.key)
    let accepted = try await spare.plugged { _, session in
      try await Ceremony(key: session).acceptBackup(for: ada.record)
    }
    let (backup, _) = try await root.add(accepted, to: ada.record, label: "spare", at: SealDate(epoch: 7))
    var record = ada.record
    record.backups = [backup]
    let people = try known([record])
    let credential = try await spare.plugged { _, session in
      let ceremony = Ceremony(key: session)
      let found = try await ceremony.signIn(among: people)
      let device = try PrivateHalves()
      let (endorsement, _) = try await ceremony.endorse(
        devicePublicKey: device.devicePublicKey, kemBundle: device.bundle.publicKeys.bytes, with: found,
        at: SealDate(epoch: 8))
      record.deviceEndorsements.append(endorsement)
      return found
    }
    #expect(credential.isBackup)
    let devices = try VerifiedIdentity(record: record).devices
    #expect(devices.map(\.isBackupEndorsed) == [false, true])
    // The same key again, and the root's own key, are no backups.
    #expect(
      await failure {
        _ = try await spare.plugged { _, session in
          try await Ceremony(key: session).acceptBackup(
            for: ada.record, excludeList: [CredentialDescriptor(id: backup.credentialID)])
        }
      } == "selfBackup")

    let (revocation, _) = try await root.revoke(publicKey: backup.publicKey, of: record, at: SealDate(epoch: 9))
    #expect(revocation.statement.name == "backup.revoke.v1")
    var revoked = record
    revoked.revocations = [revocation]
    let after = try known([revoked])
    #expect(
      await failure {
        _ = try await spare.plugged { _, session in try await Ceremony(key: session).signIn(among: after) }
      } == "credentialNoLongerValid")
    #expect(
      await failure { _ = try await root.add(accepted, to: revoked, label: "spare", at: SealDate(epoch: 10)) }
        == "backupRevoked")
    #expect(
      await failure {
        _ = try await root.revoke(publicKey: [UInt8](repeating: 1, count: 64), of: record, at: SealDate(epoch: 1))
      }
        == "nothingToRevoke")

    var eve = try await SoftPerson("Eve", endorsedAt: 1).record
    // Eve cannot make Ada's spare her own, and so not stand in its way either.
    eve.backups = [backup]
    let claimed = try known([record, eve])
    let found = try await spare.plugged { _, session in try await Ceremony(key: session).signIn(among: claimed) }
    #expect(found.credentialID == backup.credentialID)
    // But she can say that it is her root key.
    let impostor = try await SoftPerson("Eve", endorsedAt: 1, credentialID: backup.credentialID).record
    let disputed = try known([record, impostor])
    #expect(
      await failure {
        _ = try await spare.plugged { _, session in try await Ceremony(key: session).signIn(among: disputed) }
      } == "credentialClaimConflict")
  }

  @Test func meetingAndReceipt() async throws {
    let (ada, karin) = (try await SoftPerson("Ada", endorsedAt: 1), try await SoftPerson("Karin", endorsedAt: 1))
    let theirs = Ceremony(key: karin.key)
    let meeting = try await theirs.meet(
      karin.record, on: ada.record, device: ada.person.halves, at: SealDate(epoch: 11))
    var context = VerificationContext(rootHash: ada.record.rootHash)
    context.directory = [ada.record.rootHash: ada.record, karin.record.rootHash: karin.record]
    #expect(try Artefact(.friendship, meeting.friendship, isSimulated: true).verify(context).isGood)
    #expect(try Artefact(.forgeHandshake, meeting.handshake, isSimulated: true).verify(context).isGood)
    // The other way round it is another meeting.
    context.rootHash = karin.record.rootHash
    #expect(try !Artefact(.friendship, meeting.friendship, isSimulated: true).verify(context).isGood)

    let photo: [UInt8] = [1, 2, 3]
    let (receipt, _) = try await theirs.receipt(
      from: ada.record, device: ada.person.halves, to: karin.record, item: "The blue box", photo: photo, at: 12)
    let (giver, receiver) = (try VerifiedIdentity(record: ada.record), try VerifiedIdentity(record: karin.record))
    #expect(receipt.verify(giver: giver, receiver: receiver, photo: photo).verdict == .valid)
    #expect(receipt.verify(giver: giver, receiver: receiver, photo: [1]).verdict == .photoAltered)
    #expect(receipt.verify(giver: receiver, receiver: giver, photo: photo).verdict == .identityMissing)

    let foreign = try PrivateHalves().encoded().exposed()
    func halves() throws -> PrivateHalves { try PrivateHalves(parsing: SecretBytes(foreign)) }
    #expect(
      await failure {
        _ = try await theirs.meet(karin.record, on: ada.record, device: halves(), at: SealDate(epoch: 1))
      } == "deviceNotEndorsed")
    #expect(
      await failure {
        _ = try await theirs.receipt(from: ada.record, device: halves(), to: karin.record, item: "x", at: 1)
      } == "deviceNotEndorsed")
    #expect(
      await failure {
        _ = try await theirs.meet(ada.record, on: ada.record, device: halves(), at: SealDate(epoch: 1))
      } == "samePerson")
    #expect(
      await failure {
        _ = try await theirs.receipt(from: ada.record, device: halves(), to: ada.record, item: "x", at: 1)
      } == "samePerson")
  }

  @Test func revokingADeviceAndTheEnd() async throws {
    let ada = try await SoftPerson("Ada", endorsedAt: 1)
    let ceremony = Ceremony(key: ada.key)
    let device = ada.record.deviceEndorsements[0].devicePublicKey
    let (revocation, _) = try await ceremony.revoke(publicKey: device, of: ada.record, at: SealDate(epoch: 2))
    var record = ada.record
    record.revocations = [revocation]
    #expect(try VerifiedIdentity(record: record).devices.isEmpty)
    // A revoked device proves the identity still.
    #expect(try await ceremony.signIn(among: try known([record])).record.rootHash == record.rootHash)

    let (marker, _) = try await ceremony.delete(ada.record)
    #expect(marker.verify(rootHash: ada.record.rootHash, publicKey: ada.record.publicKey).isGood)
    var dead = ada.record
    dead.tier = Tier.deleted.rawValue
    dead.tombstone = marker
    var people = try known([ada.record])
    _ = try people.take(dead)
    #expect(await failure { _ = try people.owner(of: ada.key.id) } == "identityDeleted")
    let gone = people
    #expect(await failure { _ = try await ceremony.signIn(among: gone) } == "identityDeleted")
    #expect(await failure { _ = try await ceremony.signIn(among: gone, isDiscoverable: true) } == "identityDeleted")
  }
}

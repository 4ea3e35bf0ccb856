// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// A root credential in memory: what a key would do, without a key.
final class TestCredential: Sendable {
  let id: [UInt8]
  let key: P256.Signing.PrivateKey

  init(id: [UInt8] = Random.bytes(32)) throws {
    self.id = id
    key = try P256.Signing.PrivateKey()
  }

  var publicKey: [UInt8] { key.publicKey.rawRepresentation }

  /// A tap on `challenge`.
  func tap(
    challenge: [UInt8], flags: UInt8 = 0x05, rpID: String = Seal.relyingPartyID, type: ClientData.CeremonyType = .get
  ) throws -> StoredAssertion {
    let authData = SHA256.hash(Array(rpID.utf8)) + [flags, 0, 0, 0, 1]
    let clientData = ClientData(type: type, challenge: challenge, origin: Seal.origin).json
    return StoredAssertion(
      credentialID: id, clientDataJSON: clientData, authenticatorData: authData,
      signature: try key.signature(for: authData + SHA256.hash(clientData)))
  }

  func tap(_ statement: Statement, flags: UInt8 = 0x05) throws -> StoredAssertion {
    try tap(challenge: statement.commitment().digest, flags: flags)
  }
}

/// A device's signing key, with a bundle of the given length.
final class TestDevice: Sendable {
  let key: P256.Signing.PrivateKey
  let bundle: [UInt8]

  init(bundle: [UInt8] = Random.bytes(32)) throws {
    key = try P256.Signing.PrivateKey()
    self.bundle = bundle
  }

  var publicKey: [UInt8] { key.publicKey.x963Representation }
}

/// A person: a root, devices, and the directory record of both.
final class TestPerson: Sendable {
  let name: String
  let root: TestCredential
  let device: TestDevice

  init(_ name: String) throws {
    self.name = name
    root = try TestCredential()
    device = try TestDevice()
  }

  var hash: String { RootIdentity.rootHash(of: root.id) }

  var identity: RootIdentity {
    RootIdentity(credentialID: root.id, publicKey: root.publicKey, tier: .verified, displayName: name)
  }

  func endorse(_ device: TestDevice, by credential: TestCredential? = nil) throws -> DeviceEndorsement {
    let statement = Statement.endorse(devicePublicKey: device.publicKey, kemBundle: device.bundle)
    return DeviceEndorsement(
      devicePublicKey: device.publicKey, kemBundlePublicKeys: device.bundle,
      assertion: try (credential ?? root).tap(statement), createdAt: SealDate(epoch: 1_800_000_000))
  }

  func record() throws -> DirectoryRecord {
    DirectoryRecord(identity: identity, deviceEndorsements: [try endorse(device)])
  }

  func backup(_ credential: TestCredential, label: String = "spare") throws -> BackupCredential {
    BackupCredential(
      credentialID: credential.id, publicKey: credential.publicKey, tier: .verified, label: label,
      assertion: try root.tap(.backup(credentialID: credential.id, publicKey: credential.publicKey)),
      acceptance: try credential.tap(
        .backupAccept(rootIDHash: hash, credentialID: credential.id, publicKey: credential.publicKey)),
      createdAt: SealDate(epoch: 1_800_000_000))
  }

  func revoke(_ key: [UInt8], by credential: TestCredential? = nil) throws -> DeviceRevocation {
    let statement: Statement = key.count == 64 ? .backupRevoke(publicKey: key) : .revokeDevice(devicePublicKey: key)
    return DeviceRevocation(
      devicePublicKey: key, assertion: try (credential ?? root).tap(statement),
      revokedAt: SealDate(epoch: 1_800_000_000))
  }
}

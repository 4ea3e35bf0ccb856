// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// The care of an identity: backups, revocations, the end of it. Each is by the root's key.
extension Ceremony {
  /// A new backup's own part: it was registered and has accepted.
  public struct AcceptedBackup: Sendable {
    /// Its raw credential ID.
    public let credentialID: [UInt8]
    /// Its key, 64 bytes.
    public let publicKey: [UInt8]
    /// Its own word that it belongs to the root.
    public let acceptance: Signed
    /// What the key said on registering.
    public let registered: Registered
  }

  /// What a new spare of `root` may be called: a name like any other, and none that a spare which is not revoked has.
  /// - Throws: ``CeremonyError/badName``, ``CeremonyError/labelTaken(_:name:)``, ``CeremonyError/badRootKey``.
  public static func checkLabel(_ label: String, of root: DirectoryRecord) throws(CeremonyError) {
    try checkName(label)
    let revoked: Set<[UInt8]>
    do { revoked = try AuthoritySet(record: root).revoked } catch { throw .badRootKey }
    guard !root.backups.contains(where: { $0.label == label && !revoked.contains($0.publicKey) }) else {
      throw .labelTaken(label, name: root.displayName)
    }
  }

  /// Registers a backup for `root` on the key in hand, which says that it belongs to that root. Two touches, by the new
  /// key; ``add(_:to:label:at:)`` is the root's part.
  ///
  /// - Throws: ``CeremonyError/selfBackup`` when the key already holds the root or another known credential.
  public func acceptBackup(
    for root: DirectoryRecord, excludeList: [CredentialDescriptor] = []
  ) async throws -> AcceptedBackup {
    guard let rootID = root.credentialID else { throw CeremonyError.missingCredentialID }
    var exclude = excludeList.filter { $0.id != rootID }
    exclude.append(CredentialDescriptor(id: rootID))
    let registered: Registered
    do {
      registered = try await register(name: root.displayName, excludeList: exclude)
    } catch let error as any NamedError where error.name == "alreadyRegistered" { throw CeremonyError.selfBackup }
    let made = registered.record
    let id = registered.response.credentialID
    let acceptance = try await sign(
      .backupAccept(rootIDHash: root.rootHash, credentialID: id, publicKey: made.publicKey), credentialID: id,
      under: try rootKey(made))
    return AcceptedBackup(
      credentialID: id, publicKey: made.publicKey, acceptance: acceptance, registered: registered)
  }

  /// The root names a backup that has accepted. One touch, by the root's key.
  public func add(
    _ backup: AcceptedBackup, to root: DirectoryRecord, label: String, at time: SealDate
  ) async throws -> (backup: BackupCredential, signed: Signed) {
    try Self.checkLabel(label, of: root)
    let signed = try await sign(
      .backup(credentialID: backup.credentialID, publicKey: backup.publicKey), as: root)
    let made = BackupCredential(
      credentialID: backup.credentialID, publicKey: backup.publicKey, tier: .verified, label: label,
      assertion: signed.assertion, acceptance: backup.acceptance.assertion, createdAt: time)
    let authorities: AuthoritySet
    do {
      authorities = try AuthoritySet(
        rootHash: root.rootHash, publicKey: root.publicKey, backups: [made], revocations: root.revocations)
    } catch { throw CeremonyError.badRootKey }
    guard authorities.members.contains(where: { $0.credentialID == backup.credentialID }) else {
      let problem = authorities.report.failures.first
      throw CeremonyError.ownResultBad(
        name: problem?.name ?? "backupRevoked", problem?.explanation ?? "The root has revoked this key before.")
    }
    return (made, signed)
  }

  /// The root says that a backup (64 bytes) or a device (65 bytes) is dead. One touch.
  public func revoke(
    publicKey: [UInt8], of root: DirectoryRecord, at time: SealDate
  ) async throws -> (revocation: DeviceRevocation, signed: Signed) {
    let isBackup = root.backups.contains { $0.publicKey == publicKey }
    let isDevice = root.deviceEndorsements.contains { $0.devicePublicKey == publicKey }
    guard isBackup || isDevice else { throw CeremonyError.nothingToRevoke }
    let statement: Statement =
      publicKey.count == 64 ? .backupRevoke(publicKey: publicKey) : .revokeDevice(devicePublicKey: publicKey)
    let signed = try await sign(statement, as: root)
    let revocation = DeviceRevocation(devicePublicKey: publicKey, assertion: signed.assertion, revokedAt: time)
    return (revocation, signed)
  }

  /// The root says that the identity is deleted for good. One touch.
  public func delete(_ root: DirectoryRecord) async throws -> (marker: TombstoneProof, signed: Signed) {
    let nonce = Random.bytes(32)
    let signed = try await sign(.identityDelete(nonce: nonce), as: root)
    let marker = TombstoneProof(nonce: nonce, assertion: signed.assertion)
    let report = marker.verify(rootHash: root.rootHash, publicKey: root.publicKey)
    if let problem = report.failures.first {
      throw CeremonyError.ownResultBad(name: problem.name, problem.explanation)
    }
    return (marker, signed)
  }
}

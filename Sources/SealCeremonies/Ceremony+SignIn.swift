// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

extension KnownPeople {
  /// Whose credential a key answered with.
  public struct Credential: Sendable {
    /// The identity.
    public let record: DirectoryRecord
    /// The raw credential ID: the root's, or a backup's.
    public let credentialID: [UInt8]
    /// Its key.
    public let publicKey: P256.Signing.PublicKey
    /// It is a backup: it may sign in and endorse devices, and nothing else.
    public let isBackup: Bool
  }

  /// Finds out whose credential this is (FORMATS.md 5e).
  ///
  /// - Throws: ``StoreError``: `identityNotFound`, `identityDeleted`, `credentialClaimConflict`,
  ///   `unprovenIdentityRecord`, `credentialNoLongerValid`.
  public func owner(of credentialID: [UInt8]) throws(StoreError) -> Credential {
    let hash = RootIdentity.rootHash(of: credentialID)
    let claimants = records.values.filter { record in
      record.rootHash == hash || record.backups.contains { $0.credentialID == credentialID }
    }.sorted { $0.rootHash < $1.rootHash }
    guard let record = claimants.first else { throw .identityNotFound(String(hash.prefix(16))) }
    guard claimants.count == 1 else {
      throw .credentialClaimConflict(record.displayName, claimants[1].displayName)
    }
    guard record.tier != Tier.deleted.rawValue else { throw .identityDeleted(name: record.displayName) }
    let verified: VerifiedIdentity
    let authorities: AuthoritySet
    do throws(CryptoError) {
      verified = try VerifiedIdentity(record: record)
      authorities = try AuthoritySet(record: record)
    } catch { throw .unprovenIdentityRecord(name: record.displayName) }
    guard record.rootHash != hash else {
      // Revoked devices count here: they too were endorsed by this key.
      let isProven = !verified.devices.isEmpty || !verified.revokedDevices.isEmpty
      guard isProven || pins[hash]?.publicKey == record.publicKey else {
        throw .unprovenIdentityRecord(name: record.displayName)
      }
      return Credential(
        record: record, credentialID: credentialID, publicKey: authorities.rootKey, isBackup: false)
    }
    guard let backup = authorities.members.first(where: { $0.role != .root && $0.credentialID == credentialID }) else {
      throw .credentialNoLongerValid(name: record.displayName)
    }
    return Credential(record: record, credentialID: credentialID, publicKey: backup.key, isBackup: true)
  }
}

extension Ceremony {
  /// Finds out who this key is. One touch.
  ///
  /// - Parameter isDiscoverable: ask the key for a passkey of its own choice, instead of for each credential known.
  /// - Throws: ``StoreError``: `directoryEmpty` and what ``KnownPeople/owner(of:)`` throws; ``CeremonyError``; what the
  ///   key throws.
  public func signIn(
    among people: KnownPeople, isDiscoverable: Bool = false
  ) async throws -> KnownPeople.Credential {
    var list = isDiscoverable ? [] : people.credentialIDs.map { CredentialDescriptor(id: $0) }
    // A key whose identity was deleted is told so, instead of being called a stranger's.
    let deleted = people.deletedCredentialIDs.map { CredentialDescriptor(id: $0) }
    if !isDiscoverable, list.isEmpty { list = deleted }
    guard isDiscoverable || !list.isEmpty else { throw StoreError.directoryEmpty }
    let challenge = Random.bytes(32)
    var request = AssertionRequest(
      rpID: Seal.relyingPartyID, origin: Seal.origin, challenge: challenge, allowList: list,
      userVerification: userVerification)
    let response: AssertionResponse
    do { response = try await key.getAssertion(request) } catch let error as any NamedError
      where error.name == "notOnThisKey" && !isDiscoverable && !deleted.isEmpty && list != deleted
    {
      list = deleted
      request.allowList = deleted
      response = try await key.getAssertion(request)
    }
    guard isDiscoverable || list.contains(CredentialDescriptor(id: response.credentialID)) else {
      throw CeremonyError.unexpectedCredential
    }
    let found = try people.owner(of: response.credentialID)
    try Self.check(response, challenge: challenge, under: found.publicKey)
    return found
  }

  /// Endorses a device with the credential that signed in, be it the root or a backup. One touch.
  public func endorse(
    devicePublicKey: [UInt8], kemBundle: [UInt8], with credential: KnownPeople.Credential, at time: SealDate
  ) async throws -> (endorsement: DeviceEndorsement, signed: Signed) {
    try Self.checkNotRevoked(devicePublicKey, of: credential.record)
    let signed = try await sign(
      .endorse(devicePublicKey: devicePublicKey, kemBundle: kemBundle), credentialID: credential.credentialID,
      under: credential.publicKey)
    let endorsement = DeviceEndorsement(
      devicePublicKey: devicePublicKey, kemBundlePublicKeys: kemBundle, assertion: signed.assertion, createdAt: time)
    return (endorsement, signed)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// An identity and the parts of one: devices, backups, revocations, the end of it.
extension ArtefactCheck {
  mutating func identity() throws(FormatError) {
    let identity: RootIdentity = try artefact.shape(.identity)
    let subject = identity.displayName
    if let raw = identity.rawCredentialID, RootIdentity.rootHash(of: raw) != identity.credentialIDHash {
      report.add(.bad, "unprovenIdentityRecord", subject, "The root hash is not the hash of the credential ID.")
    }
    do {
      let authorities = try AuthoritySet(
        rootHash: identity.credentialIDHash, publicKey: identity.publicKey,
        credentialID: identity.rawCredentialID, backups: identity.backupCredentials ?? [],
        relyingPartyID: context.relyingPartyID)
      report.add(.good, "rootKey", subject, "The root key is a valid point of the curve.")
      report.append(authorities.report.demandingSigners)
    } catch { report.add(error, subject, "The root key:") }
    demandIdentity(identity.publicKey, of: identity.credentialIDHash, subject)
    compare(
      Signed(
        rootPublicKey: identity.publicKey, rootHash: identity.credentialIDHash,
        credentialID: identity.rawCredentialID,
        statements: Signed.statements(backups: identity.backupCredentials ?? [], of: identity.credentialIDHash)),
      subject)
  }

  mutating func identityRecord() throws(FormatError) {
    let record: DirectoryRecord = try artefact.shape(.identityRecord)
    check(record)
    demandIdentity(record.publicKey, of: record.rootHash, record.displayName)
    var statements = Signed.statements(endorsements: record.deviceEndorsements)
    statements += Signed.statements(backups: record.backups, of: record.rootHash)
    statements += record.revocations.map(\.statement)
    if let proof = record.tombstone { statements.append(.identityDelete(nonce: proof.nonce)) }
    compare(
      Signed(
        rootPublicKey: record.publicKey, rootHash: record.rootHash, credentialID: record.credentialID,
        statements: statements), record.displayName)
  }

  mutating func capsuleIdentity() throws(FormatError) {
    let identity: CapsuleIdentity = try artefact.shape(.capsuleIdentity)
    let record = context.directory[identity.rootHash]
    do {
      report.append(
        try VerifiedIdentity(
          capsule: identity, backups: record?.backups ?? [], revocations: record?.revocations ?? [],
          relyingPartyID: context.relyingPartyID
        ).report)
    } catch { report.add(error, identity.displayName, "The root key:") }
    demandIdentity(identity.publicKey, of: identity.rootHash, identity.displayName)
    compare(
      Signed(
        rootPublicKey: identity.publicKey, rootHash: identity.rootHash, credentialID: nil,
        statements: Signed.statements(endorsements: identity.deviceEndorsements)), identity.displayName)
  }

  /// Under what is known here to have ended since: the file may be an older copy.
  private mutating func check(_ record: DirectoryRecord) {
    var record = record
    if record.tier == Tier.deleted.rawValue {
      if let proof = record.tombstone {
        report.append(proof.verify(rootHash: record.rootHash, publicKey: record.publicKey))
      }
      report.add(.warning, "identityDeleted", record.displayName, "The identity was deleted for good.")
      return
    }
    record.revocations = record.knowing(context.directory[record.rootHash]).revocations
    do {
      let verified = try VerifiedIdentity(record: record, relyingPartyID: context.relyingPartyID)
      report.append(verified.report.demandingSigners)
      for endorsement in record.deviceEndorsements {
        lock(of: endorsement, "device \(Hex.encode(endorsement.devicePublicKey.dropFirst().prefix(4)))")
      }
      if record.deviceEndorsements.isEmpty {
        report.add(.warning, "noDevices", record.displayName, "No device has been endorsed yet.")
      } else if !verified.report.checks.contains(where: { $0.name == "endorsement" || $0.name == "deviceRevoked" }) {
        report.add(
          .bad, "unprovenIdentityRecord", record.displayName,
          "The record holds no endorsement signed by its own key, so anybody could have written it.")
      }
    } catch { report.add(error, record.displayName, "The root key:") }
  }

  mutating func endorsement() throws(FormatError) {
    let endorsement: DeviceEndorsement = try artefact.shape(.endorsement)
    let assertion = try endorsement.assertion()
    guard let key = rootKey(credentialID: assertion.credentialID) else { return }
    let hash = context.rootHash ?? RootIdentity.rootHash(of: assertion.credentialID)
    let known = context.directory[hash]
    let subject = "device \(Hex.encode(endorsement.devicePublicKey.dropFirst().prefix(4)))"
    do {
      let authorities = try AuthoritySet(
        rootHash: hash, publicKey: key, backups: known?.backups ?? [], revocations: known?.revocations ?? [],
        relyingPartyID: context.relyingPartyID)
      let endorsed = try authorities.check(endorsement, relyingPartyID: context.relyingPartyID)
      let isByRoot = endorsed.authority.role == .root
      report.add(
        .good, "endorsement", subject, isByRoot ? "The root endorsed it." : "A live backup endorsed it.")
      if !endorsed.namesItsSigner { report.add(NamedCredential(signer: isByRoot ? "the root" : "the backup"), subject) }
      compare(
        Signed(
          rootPublicKey: key, rootHash: hash, credentialID: isByRoot ? assertion.credentialID : known?.credentialID,
          statements: [endorsement.statement(isV2: endorsed.isV2)]), subject)
      if authorities.revoked.contains(endorsement.devicePublicKey) {
        report.add(.bad, "deviceRevoked", subject, "The root has revoked this device.")
      }
    } catch let error as EndorsementFailure {
      report.add(error, subject)
    } catch let error as CryptoError {
      report.add(error, subject, "The root key:")
    } catch {
      report.add(.bad, "unexpected", subject, "\(error)")
    }
    if (try? KEMBundle(parsing: endorsement.kemBundlePublicKeys)) == nil {
      report.add(.warning, "notWrappable", subject, "Nothing can be wrapped to it: its key bundle does not parse.")
    }
    lock(of: endorsement, subject)
  }

  /// The lock is unsigned, and nothing but the key can try it.
  private mutating func lock(of endorsement: DeviceEndorsement, _ subject: String) {
    do throws(WrapError) {
      guard try endorsement.lock() != nil else { return }
      report.add(
        .note, "lockNotTried", subject, "Whether its lock opens, only the key itself can show: sealkey unlock FILE")
    } catch { report.add(error, subject) }
  }

  mutating func backup() throws(FormatError) {
    let backup: BackupCredential = try artefact.shape(.backup)
    guard let root = context.rootHash ?? evidence?.credentialID.map({ RootIdentity.rootHash(of: $0) }),
      let key = rootKey(hash: root)
    else {
      report.add(.bad, "identityMissing", backup.label, "It is not known here whose backup this is.")
      return
    }
    do {
      report.append(
        try AuthoritySet(
          rootHash: root, publicKey: key, backups: [backup],
          revocations: context.directory[root]?.revocations ?? [], relyingPartyID: context.relyingPartyID
        ).report.demandingSigners)
    } catch { report.add(error, backup.label, "The root key:") }
    compare(
      Signed(
        rootPublicKey: key, rootHash: root, credentialID: (try? backup.assertion())?.credentialID,
        statements: Signed.statements(backups: [backup], of: root)), backup.label)
  }

  mutating func revocation() throws(FormatError) {
    let revocation: DeviceRevocation = try artefact.shape(.revocation)
    tap(try revocation.assertion(), revocation.statement)
  }

  mutating func deleteMarker() throws(FormatError) {
    let proof: TombstoneProof = try artefact.shape(.deleteMarker)
    guard let key = rootKey(credentialID: proof.assertion.credentialID) else { return }
    let hash = context.rootHash ?? RootIdentity.rootHash(of: proof.assertion.credentialID)
    report.append(proof.verify(rootHash: hash, publicKey: key, relyingPartyID: context.relyingPartyID))
    compare(
      Signed(
        rootPublicKey: key, rootHash: hash, credentialID: proof.assertion.credentialID,
        statements: [.identityDelete(nonce: proof.nonce)]), "delete marker")
  }
}

extension VerificationReport {
  /// The same, where a credential ID that is not the signer's makes the whole bad: the file under check is the one that
  /// says so.
  fileprivate var demandingSigners: VerificationReport {
    var out = VerificationReport()
    for check in checks {
      let isOfAnother = check.name == "credentialIDMismatch" && check.outcome == .warning
      out.add(isOfAnother ? .bad : check.outcome, check.name, check.subject, check.explanation)
    }
    return out
  }
}

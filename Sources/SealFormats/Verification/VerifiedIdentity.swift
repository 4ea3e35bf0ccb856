// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// An identity whose devices have been checked.
public struct VerifiedIdentity: Sendable {
  /// A device that a root or live backup endorsed.
  public struct Device: Sendable, Hashable {
    /// 65 bytes.
    public let publicKey: [UInt8]
    /// The parsed key.
    public let key: P256.Signing.PublicKey
    /// What can be wrapped to; nil for a bundle that is empty or odd.
    public let bundle: KEMBundle?
    /// Endorsed by a backup, not by the root.
    public let isBackupEndorsed: Bool
    /// The virtual device of a key that was registered for somebody else.
    public let isSponsored: Bool
  }

  /// The root hash.
  public let rootHash: String
  /// What the person calls themself. Unsigned.
  public let displayName: String
  /// The root key.
  public let rootKey: P256.Signing.PublicKey
  /// The devices that verified and were not revoked, in the record's order.
  public let devices: [Device]
  /// Devices that verified and were revoked: what they signed before stays signed, and nothing is wrapped to them.
  public let revokedDevices: [Device]
  /// One line for each check.
  public let report: VerificationReport

  /// The device of that 65-byte key, if it verified and was not revoked.
  public func device(_ publicKey: [UInt8]) -> Device? { devices.first { $0.publicKey == publicKey } }

  /// Checks every endorsement of a directory record.
  ///
  /// - Throws: ``CryptoError/badPublicKey`` when the root's own key is not a point.
  public init(record: DirectoryRecord, relyingPartyID: String = Seal.relyingPartyID) throws(CryptoError) {
    self.init(
      rootHash: record.rootHash, displayName: record.displayName,
      authorities: try AuthoritySet(record: record, relyingPartyID: relyingPartyID),
      endorsements: record.deviceEndorsements, relyingPartyID: relyingPartyID)
  }

  /// Checks every endorsement of a capsule's identity, which has no backups and no revocations of its own. They can
  /// be given, from a directory record of the same root.
  public init(
    capsule identity: CapsuleIdentity, backups: [BackupCredential] = [], revocations: [DeviceRevocation] = [],
    relyingPartyID: String = Seal.relyingPartyID
  ) throws(CryptoError) {
    let authorities = try AuthoritySet(
      rootHash: identity.rootHash, publicKey: identity.publicKey, backups: backups, revocations: revocations,
      relyingPartyID: relyingPartyID)
    self.init(
      rootHash: identity.rootHash, displayName: identity.displayName, authorities: authorities,
      endorsements: identity.deviceEndorsements, relyingPartyID: relyingPartyID)
  }

  private init(
    rootHash: String, displayName: String, authorities: AuthoritySet, endorsements: [DeviceEndorsement],
    relyingPartyID: String
  ) {
    self.rootHash = rootHash
    self.displayName = displayName
    rootKey = authorities.rootKey
    var report = authorities.report
    var live: [Device] = []
    var revoked: [Device] = []
    for endorsement in endorsements {
      let subject = "\(displayName), device \(Hex.encode(endorsement.devicePublicKey.dropFirst().prefix(4)))"
      do {
        let key = try P256.Signing.PublicKey(x963Representation: endorsement.devicePublicKey)
        let endorsed = try authorities.check(endorsement, relyingPartyID: relyingPartyID)
        let bundle = try? KEMBundle(parsing: endorsement.kemBundlePublicKeys)
        let device = Device(
          publicKey: endorsement.devicePublicKey, key: key, bundle: bundle,
          isBackupEndorsed: endorsed.authority.role != .root, isSponsored: endorsement.isSponsored)
        if authorities.revoked.contains(device.publicKey) {
          revoked.append(device)
          report.add(.note, "deviceRevoked", subject, "The device was endorsed, and then revoked by the root.")
        } else {
          live.append(device)
          report.add(.good, "endorsement", subject, Self.sentence(endorsed))
        }
        if !endorsed.namesItsSigner { report.add(NamedCredential(signer: Self.signer(endorsed)), subject) }
        if bundle == nil {
          report.add(.warning, "notWrappable", subject, "Nothing can be wrapped to it: its key bundle does not parse.")
        }
        if device.isBackupEndorsed {
          report.add(
            .warning, "backupEndorsed", subject,
            "A backup endorsed it. Seal's app accepts that; Seal's Python verifier does not.")
        }
      } catch let error as EndorsementFailure {
        report.add(error, subject)
      } catch let error as CryptoError {
        report.add(error, subject, "The device's key:")
      } catch {
        report.add(.bad, "unexpected", subject, "\(error)")
      }
    }
    devices = live
    revokedDevices = revoked
    self.report = report
  }

  private static func signer(_ endorsed: AuthoritySet.Endorsed) -> String {
    switch endorsed.authority.role {
    case .root: "the root"
    case .backup(let label): "the backup \(label)"
    }
  }

  private static func sentence(_ endorsed: AuthoritySet.Endorsed) -> String {
    let form = endorsed.isV2 ? " (the old form)" : ""
    return switch endorsed.authority.role {
    case .root: "The root endorsed it\(form)."
    case .backup(let label): "The backup \(label) endorsed it\(form)."
    }
  }
}

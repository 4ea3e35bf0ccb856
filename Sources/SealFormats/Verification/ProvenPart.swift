// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// How much of a directory record nobody signed who may.
public struct Unproven: Sendable, Hashable {
  /// Endorsements by neither the root nor a backup of it.
  public var endorsements = 0
  /// Backups that the root did not name or that did not accept.
  public var backups = 0
  /// Revocations that the root did not sign.
  public var revocations = 0

  /// Nothing of the kind.
  public init() {}

  /// Nothing of the kind.
  public var isEmpty: Bool { self == Unproven() }

  /// Both together.
  public static func + (a: Unproven, b: Unproven) -> Unproven {
    var sum = a
    sum.endorsements += b.endorsements
    sum.backups += b.backups
    sum.revocations += b.revocations
    return sum
  }
}

extension DirectoryRecord {
  /// The record with what another copy of it knows to have ended: what an older copy lacks stays revoked, and whoever is
  /// deleted stays deleted. A record of another root key has no say.
  public func knowing(_ other: DirectoryRecord?) -> DirectoryRecord {
    guard let other, other.rootHash == rootHash, other.publicKey == publicKey else { return self }
    var out = self
    out.revocations += other.revocations.filter { !revocations.contains($0) }
    if other.tier == Tier.deleted.rawValue, tier != other.tier {
      out.tier = other.tier
      out.tombstone = other.tombstone
    }
    return out
  }

  /// The record without what nobody signed who may: such a copy must not stand in the way of a genuine one. What was
  /// revoked later stays, and so do devices that a backup endorsed which is revoked by now.
  ///
  /// - Parameter known: backups that are known besides the record's: their endorsements count too.
  /// - Throws: ``CryptoError/badPublicKey`` when the root's own key is not a point.
  public func provenPart(
    knowing known: [BackupCredential] = []
  ) throws(CryptoError) -> (record: DirectoryRecord, leftOut: Unproven) {
    func authorities(_ backups: [BackupCredential], _ revocations: [DeviceRevocation]) throws(CryptoError)
      -> AuthoritySet
    {
      try AuthoritySet(
        rootHash: rootHash, publicKey: publicKey, credentialID: credentialID, backups: backups,
        revocations: revocations)
    }
    var out = self
    let all = try authorities(backups + known, [])
    out.backups = []
    for backup in backups where try authorities([backup], []).members.count == 2 { out.backups.append(backup) }
    out.revocations = []
    for revocation in revocations where try !authorities([], [revocation]).revoked.isEmpty {
      out.revocations.append(revocation)
    }
    out.deviceEndorsements = deviceEndorsements.filter { (try? all.check($0)) != nil }
    var leftOut = Unproven()
    leftOut.endorsements = deviceEndorsements.count - out.deviceEndorsements.count
    leftOut.backups = backups.count - out.backups.count
    leftOut.revocations = revocations.count - out.revocations.count
    return (out, leftOut)
  }
}

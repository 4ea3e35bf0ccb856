// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// Taking records, and parts of records, in: what is known stays.
extension KnownPeople {
  /// What an import did.
  public enum Imported: String, Sendable, Hashable {
    /// Nobody knew of it.
    case new
    /// Something in it was new.
    case changed
    /// Nothing was.
    case unchanged
    /// Nothing in it proves whose it is, and it came with others.
    case leftOut
    /// The identity is deleted from now on.
    case deleted
  }

  /// Takes a directory record in. What is known stays: a record that comes without a revocation, a device or a lock
  /// that is known here does not take it away.
  ///
  /// - Parameter isProven: the registration stands beside the record, so it needs no endorsement.
  /// - Throws: ``StoreError``: `publicKeyChanged`, `identityDeleted`, `unprovenIdentityRecord`, `badDeleteMarker`.
  public mutating func take(_ record: DirectoryRecord, isProven: Bool = false) throws(StoreError) -> Imported {
    var notes: [String] = []
    return try take(record, isProven: isProven, noting: &notes)
  }

  /// The same, and says in `notes` what was not taken as it came: the name of somebody whose key is pinned stays, and
  /// what nobody signed who may is left out.
  public mutating func take(
    _ given: DirectoryRecord, isProven: Bool = false, noting notes: inout [String]
  ) throws(StoreError) -> Imported {
    var record = given
    let (hash, name) = (record.rootHash, record.displayName)
    try checkKey(record.publicKey, of: hash, name)
    let known = records[hash]
    let wasDeleted = known.map { $0.tier == Tier.deleted.rawValue } ?? false
    if record.tier == Tier.deleted.rawValue {
      if let proof = record.tombstone {
        let key = pins[hash]?.publicKey ?? known?.publicKey ?? record.publicKey
        guard proof.verify(rootHash: hash, publicKey: key).isGood else { throw .badDeleteMarker(name: name) }
      } else if known == nil, pins[hash] == nil,
        (try? VerifiedIdentity(record: record)).map({ $0.devices.isEmpty && $0.revokedDevices.isEmpty }) ?? true
      {
        // Nobody signed any of it: it would keep the genuine record out for good.
        throw .unprovenIdentityRecord(name: name)
      }
      if wasDeleted {
        // The genuine marker may come after somebody's bare word.
        guard known?.tombstone == nil, let proof = record.tombstone else { return .unchanged }
        records[hash]?.tombstone = proof
        return .changed
      }
      // Endorsements stay, so that old entries of records still verify, and so do revocations: what ended before does not
      // come back.
      var dead = known ?? record
      dead.revocations += record.revocations.filter { !dead.revocations.contains($0) }
      // What a revoked backup had endorsed falls with it.
      dead.deviceEndorsements = (try? dead.provenPart())?.record.deviceEndorsements ?? dead.deviceEndorsements
      dead.tier = Tier.deleted.rawValue
      dead.tombstone = record.tombstone
      // Seal takes a record's own word for it, too; it was signed by nobody.
      if record.tombstone == nil { notes.append("\(name) is deleted as the record says of itself, without a marker.") }
      dead.isSimulated = dead.isSimulated || record.isSimulated
      records[hash] = dead
      return .deleted
    }
    if wasDeleted { throw .identityDeleted(name: name) }
    if !isProven, known == nil {
      let verified = try? VerifiedIdentity(record: record)
      guard let verified, !verified.devices.isEmpty || !verified.revokedDevices.isEmpty else {
        throw .unprovenIdentityRecord(name: name)
      }
    }
    if let proven = try? record.provenPart(knowing: known?.backups ?? []) {
      record = proven.record
      let out = proven.leftOut
      for (count, what) in [
        (out.endorsements, "endorsement"), (out.backups, "backup"), (out.revocations, "revocation"),
      ] where count > 0 {
        notes.append(
          "\(count == 1 ? "1 \(what)" : "\(count) \(what)s") of \(name), signed by nobody who may, left out.")
      }
    }
    if let pinned = pins[hash] {
      // A name is unsigned. Whoever was met under one keeps it.
      record.displayName = known?.displayName ?? pinned.displayName
      if record.displayName != name {
        notes.append("The name stays '\(record.displayName)', under which the key is pinned; the file says '\(name)'.")
      }
    } else if let known, known.displayName != name {
      notes.append("'\(known.displayName)' is called '\(name)' from now on.")
    }
    guard let known else {
      records[hash] = record
      return .new
    }
    let before = (try? known.provenPart())?.record ?? known
    if Self.locksDiffer(before, record) {
      notes.append(
        "The lock in it is another than the one that is kept here for \(record.displayName), which stays: nobody signs a "
          + "lock. If that one does not open, give 'sealkey unlock' this file itself.")
    }
    let united = Self.unite(before, record)
    guard united != known else { return .unchanged }
    records[hash] = united
    return .changed
  }

  // MARK: Parts of a record by themselves

  /// A part of somebody's record that came by itself. Whose it is, the signatures say.
  public enum Part: Sendable {
    /// A device or a backup is dead.
    case revocation(DeviceRevocation)
    /// The identity is deleted.
    case deleteMarker(TombstoneProof)
    /// A device.
    case endorsement(DeviceEndorsement)
    /// A backup.
    case backup(BackupCredential)

    var name: String {
      switch self {
      case .revocation: "revocation"
      case .deleteMarker: "delete marker"
      case .endorsement: "endorsement"
      case .backup: "backup"
      }
    }
  }

  /// Takes in a part that came by itself.
  /// - Returns: whose it is, and what it changed.
  /// - Throws: ``StoreError``: `signerUnknown` when nobody known here signed it; else as ``take(_:isProven:)``.
  public mutating func take(_ part: Part) throws(StoreError) -> (rootHash: String, result: Imported) {
    for record in records.values.sorted(by: { $0.rootHash < $1.rootHash }) {
      guard let changed = Self.adding(part, to: record) else { continue }
      if record.tier == Tier.deleted.rawValue {
        // Nothing is added to somebody who is gone but what else ended.
        switch part {
        case .deleteMarker: break
        case .revocation(let revocation) where !record.revocations.contains(revocation):
          records[record.rootHash]?.revocations.append(revocation)
          return (record.rootHash, .changed)
        default: return (record.rootHash, .unchanged)
        }
      }
      return (record.rootHash, try take(changed, isProven: true))
    }
    throw .signerUnknown(what: part.name)
  }

  /// The record with the part in it, when its own signatures say that it belongs there.
  private static func adding(_ part: Part, to record: DirectoryRecord) -> DirectoryRecord? {
    var with = record
    switch part {
    case .revocation(let revocation): with.revocations = [revocation]
    case .endorsement(let endorsement): with.deviceEndorsements = [endorsement]
    case .backup(let backup): with.backups = [backup]
    case .deleteMarker(let proof):
      guard proof.verify(rootHash: record.rootHash, publicKey: record.publicKey).isGood else { return nil }
      with.tier = Tier.deleted.rawValue
      with.tombstone = proof
      return with
    }
    // Only what is new is looked at, beside the backups that may have signed it.
    if case .revocation = part { with.deviceEndorsements = [] }
    guard let proven = try? with.provenPart().record else { return nil }
    switch part {
    case .revocation: return proven.revocations.isEmpty ? nil : with
    case .endorsement: return proven.deviceEndorsements.isEmpty ? nil : with
    default: return proven.backups.isEmpty ? nil : with
    }
  }

  /// Takes in an identity that was registered on this computer, and pins its key.
  /// - Parameter isSimulated: a virtual key had a part in it.
  /// - Throws: as ``take(_:isProven:)``.
  public mutating func takeRegistered(
    _ given: DirectoryRecord, isSimulated: Bool, at time: Int64
  ) throws(StoreError) {
    var record = given
    record.isSimulated = record.isSimulated || isSimulated
    _ = try take(record, isProven: true)
    try pin(
      Pin(
        rootHash: record.rootHash, publicKey: record.publicKey, displayName: record.displayName, origin: .registered,
        pinnedAt: time))
  }

  /// Whether a device's private halves are locked in both, each in its own way.
  private static func locksDiffer(_ known: DirectoryRecord, _ new: DirectoryRecord) -> Bool {
    known.deviceEndorsements.contains { old in
      guard (try? old.lock()) != nil, old.lockedPrivate != nil else { return false }
      return new.deviceEndorsements.contains {
        $0.isSameWord(as: old) && $0.lockedPrivate != nil
          && ($0.lockedPrivate != old.lockedPrivate || $0.prfSalt != old.prfSalt)
      }
    }
  }

  private static func unite(_ known: DirectoryRecord, _ new: DirectoryRecord) -> DirectoryRecord {
    var out = new
    // Once simulated, always simulated.
    out.isSimulated = new.isSimulated || known.isSimulated
    out.credentialID = new.credentialID ?? known.credentialID
    out.revocations += known.revocations.filter { old in !new.revocations.contains { $0 == old } }
    out.backups += known.backups.filter { old in !new.backups.contains { $0.credentialID == old.credentialID } }
    for old in known.deviceEndorsements {
      if let place = out.deviceEndorsements.firstIndex(where: { $0.isSameWord(as: old) }) {
        // A lock is unsigned: one that is here already is neither lost nor replaced, unless no key could open it.
        if (try? old.lock()) != nil {
          out.deviceEndorsements[place].lockedPrivate = old.lockedPrivate
          out.deviceEndorsements[place].prfSalt = old.prfSalt
        }
      } else {
        out.deviceEndorsements.append(old)
      }
    }
    // The order of what is known does not change with each import.
    if Set(out.deviceEndorsements) == Set(known.deviceEndorsements) {
      out.deviceEndorsements = known.deviceEndorsements
    }
    if Set(out.backups) == Set(known.backups) { out.backups = known.backups }
    if Set(out.revocations) == Set(known.revocations) { out.revocations = known.revocations }
    return out
  }
}

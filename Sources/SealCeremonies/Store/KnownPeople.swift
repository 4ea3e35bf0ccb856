// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// The people that this computer knows: their directory records, and the root keys that are pinned.
public struct KnownPeople: Sendable {
  /// A root key that stays: another one under the same root hash is refused.
  public struct Pin: Sendable, Hashable {
    /// Whose.
    public let rootHash: String
    /// x and y, 64 bytes.
    public let publicKey: [UInt8]
    /// What they were called then.
    public let displayName: String
    /// How it came to be pinned.
    public let origin: Origin
    /// When, in seconds since 1970.
    public let pinnedAt: Int64

    /// How a key comes to be pinned.
    public enum Origin: String, Sendable, Hashable {
      /// They tapped on this computer, for us.
      case met
      /// Their key was registered on this computer.
      case registered
      /// They signed in here with it.
      case signedIn
      /// A person gave it, or compared its fingerprint.
      case confirmed
    }

    /// All parts at once.
    public init(rootHash: String, publicKey: [UInt8], displayName: String, origin: Origin, pinnedAt: Int64) {
      self.rootHash = rootHash
      self.publicKey = publicKey
      self.displayName = displayName
      self.origin = origin
      self.pinnedAt = pinnedAt
    }
  }

  static let format = "sealkey.directory"

  /// By root hash.
  public private(set) var records: [String: DirectoryRecord] = [:]
  /// By root hash.
  public private(set) var pins: [String: Pin] = [:]

  /// Nobody.
  public init() {}

  /// Pinned root keys, 64 bytes each, by root hash.
  public var pinnedKeys: [String: [UInt8]] { pins.mapValues(\.publicKey) }

  /// Records of identities that were not deleted, by root hash order.
  public var live: [DirectoryRecord] {
    records.values.filter { $0.tier != Tier.deleted.rawValue }.sorted { $0.rootHash < $1.rootHash }
  }

  /// Credential IDs of live roots and their backups: what a new key must not hold already, and what may sign in.
  public var credentialIDs: [[UInt8]] {
    live.flatMap { [$0.credentialID].compactMap { $0 } + $0.backups.map(\.credentialID) }
  }

  /// Credential IDs of roots that were deleted.
  public var deletedCredentialIDs: [[UInt8]] {
    records.values.filter { $0.tier == Tier.deleted.rawValue }.compactMap(\.credentialID).sorted {
      $0.lexicographicallyPrecedes($1)
    }
  }

  /// A record by root hash, the beginning of one (8 characters at least), or display name.
  /// - Throws: ``StoreError``: `identityNotFound`, `ambiguousName`.
  public func record(_ text: String) throws(StoreError) -> DirectoryRecord {
    if let exact = records[text] { return exact }
    let found = records.values.filter {
      $0.displayName == text || (text.utf8.count >= 8 && $0.rootHash.hasPrefix(text))
    }
    guard let first = found.first else { throw .identityNotFound(text) }
    guard found.count == 1 else { throw .ambiguousName(text) }
    return first
  }

  /// Pins a root key. The same key again changes nothing.
  /// - Throws: ``StoreError/publicKeyChanged(name:rootHash:)``.
  public mutating func pin(_ pin: Pin) throws(StoreError) {
    try checkKey(pin.publicKey, of: pin.rootHash, pin.displayName)
    if pins[pin.rootHash] == nil { pins[pin.rootHash] = pin }
  }

  private func checkKey(_ key: [UInt8], of hash: String, _ name: String) throws(StoreError) {
    let known = pins[hash]?.publicKey ?? records[hash]?.publicKey
    guard known == nil || known == key else { throw .publicKeyChanged(name: name, rootHash: hash) }
  }

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
      if wasDeleted { return .unchanged }
      if let proof = record.tombstone {
        let key = pins[hash]?.publicKey ?? known?.publicKey ?? record.publicKey
        guard proof.verify(rootHash: hash, publicKey: key).isGood else { throw .badDeleteMarker(name: name) }
      }
      // Endorsements stay, so that old entries of records still verify; those that were revoked do not come back.
      var dead = known ?? record
      let revoked = (try? AuthoritySet(record: dead))?.revoked ?? []
      dead.deviceEndorsements.removeAll { revoked.contains($0.devicePublicKey) }
      dead.backups.removeAll { revoked.contains($0.publicKey) }
      dead.revocations = []
      // What a revoked backup had endorsed falls with it.
      dead.deviceEndorsements = (try? dead.provenPart())?.record.deviceEndorsements ?? dead.deviceEndorsements
      dead.tier = Tier.deleted.rawValue
      dead.tombstone = record.tombstone
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
    let united = Self.unite((try? known.provenPart())?.record ?? known, record)
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
      if record.tier == Tier.deleted.rawValue { return (record.rootHash, .unchanged) }
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
      with.revocations = []
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

  private static func unite(_ known: DirectoryRecord, _ new: DirectoryRecord) -> DirectoryRecord {
    var out = new
    // Once simulated, always simulated.
    out.isSimulated = new.isSimulated || known.isSimulated
    out.credentialID = new.credentialID ?? known.credentialID
    out.revocations += known.revocations.filter { old in !new.revocations.contains { $0 == old } }
    out.backups += known.backups.filter { old in !new.backups.contains { $0.credentialID == old.credentialID } }
    for old in known.deviceEndorsements {
      if let place = out.deviceEndorsements.firstIndex(where: {
        $0.devicePublicKey == old.devicePublicKey && $0.assertionJSON == old.assertionJSON
      }) {
        // A lock is unsigned: one that is here already is neither lost nor replaced.
        if old.isSponsored {
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

  // MARK: As a file

  /// The file's text. `includingPins` is false for what is handed to somebody else.
  public func encoded(includingPins: Bool = true) -> [UInt8] {
    let json: JSONValue = .object([
      ("format", .string(Self.format)), ("version", .int(LocalStore.version)),
      ("simulated", records.values.contains(where: \.isSimulated) ? .bool(true) : nil),
      ("records", .array(records.values.sorted { $0.rootHash < $1.rootHash }.map(\.json))),
      (
        "pins",
        includingPins
          ? .array(
            pins.values.sorted { $0.rootHash < $1.rootHash }.map {
              .object([
                ("rootHash", .string($0.rootHash)), ("publicKeyHex", .hex($0.publicKey)),
                ("displayName", .string($0.displayName)), ("origin", .string($0.origin.rawValue)),
                ("pinnedAtEpoch", .int($0.pinnedAt)),
              ])
            }) : nil
      ),
    ])
    return JSONWriter.write(json, .readable) + [0x0a]
  }

  /// Reads the file.
  /// - Throws: ``StoreError``: `damaged`, `newerVersion`.
  public init(parsing bytes: [UInt8], path: String) throws(StoreError) {
    let json: JSONValue
    do {
      json = try JSONReader.parse(bytes, limits: .init(maximumDepth: 32, maximumByteCount: 256 << 20))
    } catch { throw .damaged(path: path, reason: error.message) }
    guard json["format"]?.string == Self.format else {
      throw .damaged(path: path, reason: "It is another kind of file.")
    }
    guard let version = json["version"]?.int else { throw .damaged(path: path, reason: "It has no version.") }
    guard version == LocalStore.version else { throw .newerVersion(path: path, version: version) }
    for element in json["records"]?.array ?? [] {
      let record: DirectoryRecord
      do { record = try DirectoryRecord(json: element) } catch { throw .damaged(path: path, reason: error.message) }
      records[record.rootHash] = record
    }
    for element in json["pins"]?.array ?? [] {
      guard let hash = element["rootHash"]?.string,
        let key = element["publicKeyHex"]?.string.flatMap({ Hex.decode($0) }),
        key.count == 64, let name = element["displayName"]?.string,
        let origin = element["origin"]?.string.flatMap({ Pin.Origin(rawValue: $0) }),
        let time = element["pinnedAtEpoch"]?.int
      else { throw .damaged(path: path, reason: "A pin in it does not read.") }
      pins[hash] = Pin(rootHash: hash, publicKey: key, displayName: name, origin: origin, pinnedAt: time)
    }
  }
}

extension LocalStore {
  /// Who is known. No lock is needed.
  /// - Throws: ``StoreError``, ``FileError``.
  public func people() throws -> KnownPeople {
    do {
      return try KnownPeople(parsing: AtomicFile.read(directoryPath, limit: 256 << 20), path: directoryPath)
    } catch FileError.notFound { return KnownPeople() }
  }

  /// Changes who is known: all of the change or nothing.
  /// - Throws: ``StoreError``, ``FileError``, or what `change` throws.
  @discardableResult
  public func updatePeople<R: Sendable>(_ change: (inout KnownPeople) throws -> R) async throws -> R {
    try await locked {
      var people = try people()
      let before = people.encoded()
      let result = try change(&people)
      let after = people.encoded()
      if after != before { try AtomicFile.write(after, to: directoryPath, mode: 0o600) }
      return result
    }
  }
}

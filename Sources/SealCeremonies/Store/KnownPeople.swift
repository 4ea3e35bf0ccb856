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
  public internal(set) var records: [String: DirectoryRecord] = [:]
  /// By root hash.
  public internal(set) var pins: [String: Pin] = [:]

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

  /// Whether a delete marker by somebody's own root is known here. A record that only says so of itself is not one.
  public func hasDeleteMarker(_ rootHash: String) -> Bool {
    guard let record = records[rootHash], record.tier == Tier.deleted.rawValue, let marker = record.tombstone else {
      return false
    }
    return marker.verify(rootHash: rootHash, publicKey: pins[rootHash]?.publicKey ?? record.publicKey).isGood
  }

  /// Refuses an act of an identity that is deleted, before a key is touched for it. The store would refuse what comes of
  /// it.
  /// - Throws: ``StoreError/identityDeleted(name:)``.
  public func checkNotDeleted(_ rootHash: String) throws(StoreError) {
    guard let record = records[rootHash], record.tier == Tier.deleted.rawValue else { return }
    throw .identityDeleted(name: record.displayName)
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

  func checkKey(_ key: [UInt8], of hash: String, _ name: String) throws(StoreError) {
    let known = pins[hash]?.publicKey ?? records[hash]?.publicKey
    guard known == nil || known == key else { throw .publicKeyChanged(name: name, rootHash: hash) }
  }
}

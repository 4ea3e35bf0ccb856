// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// An identity as Seal's directory holds it: the root, its devices, its backups and what was revoked.
///
/// The last three are bytes in the directory, each the text of a JSON array; in a JSON file they are therefore base64.
/// A plain array is read too.
public struct DirectoryRecord: SealShape, Hashable {
  public static let shapeName = "identity record"

  /// x and y, 64 bytes.
  public var publicKey: [UInt8]
  /// `verified`, `passkey`, or `deleted`.
  public var tier: String
  /// What the person calls themself. Unsigned.
  public var displayName: String
  /// The raw credential ID; old records lack it.
  public var credentialID: [UInt8]?
  /// The record's name: the root hash. Known from the credential ID, or given by the file.
  public var rootHash: String
  /// The devices.
  public var deviceEndorsements: [DeviceEndorsement]
  /// The backups.
  public var backups: [BackupCredential]
  /// What was revoked, devices and backups. In a record of tier `deleted` the delete marker's proof stands in their place,
  /// and they are in a member of our own: a device that was revoked stays so.
  public var revocations: [DeviceRevocation]
  /// The proof of a record of tier `deleted`.
  public var tombstone: TombstoneProof?
  /// A virtual key had a part in it. In a file it is the member `simulated`, which Seal's decoders pass over.
  public var isSimulated = false

  /// A record of `identity` with what it has.
  public init(
    identity: RootIdentity, deviceEndorsements: [DeviceEndorsement] = [], revocations: [DeviceRevocation] = []
  ) {
    publicKey = identity.publicKey
    tier = identity.tier
    displayName = identity.displayName
    credentialID = identity.rawCredentialID
    rootHash = identity.credentialIDHash
    self.deviceEndorsements = deviceEndorsements
    backups = identity.backupCredentials ?? []
    self.revocations = revocations
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    publicKey = try m.base64("publicKey", count: 64)
    tier = try m.name("tier")
    displayName = try m.name("displayName")
    credentialID = try m.ifPresent("credentialID") { name throws(FormatError) in try m.base64(name) }
    let named = try m.ifPresent("recordName") { name throws(FormatError) in try m.rootHash(name) }
    if let credentialID {
      let computed = RootIdentity.rootHash(of: credentialID)
      guard named == nil || named == computed else {
        throw m.fail("recordName", "is not the hash of the record's credential ID")
      }
      rootHash = computed
    } else if let named {
      rootHash = named
    } else {
      throw .missingMember(what: Self.shapeName, member: "credentialID")
    }
    isSimulated = try m.ifPresent("simulated") { name throws(FormatError) in try m.bool(name) } ?? false
    deviceEndorsements = try Self.bytesOfList(m, "deviceEndorsements")
    backups = try Self.bytesOfList(m, "backupEndorsements")
    if tier == Tier.deleted.rawValue {
      // A live record that was flipped still has its list there.
      if Self.isList(m, "revocations") {
        revocations = try Self.bytesOfList(m, "revocations")
      } else {
        tombstone = try Self.proof(m, "revocations")
        revocations = try Self.bytesOfList(m, "revocationsBefore")
      }
    } else {
      revocations = try Self.bytesOfList(m, "revocations")
    }
  }

  private static func bytesOfList<T: SealShape>(_ m: MemberReader, _ name: String) throws(FormatError) -> [T] {
    guard let value = m.optional(name) else { return [] }
    if value.array != nil { return try m.list(name) }
    let bytes = try m.base64(name)
    return bytes.isEmpty ? [] : try parseList(bytes)
  }

  private static func isList(_ m: MemberReader, _ name: String) -> Bool {
    guard let value = m.optional(name) else { return false }
    return value.array != nil || (try? m.base64(name))?.first { $0 > 0x20 } == UInt8(ascii: "[")
  }

  private static func proof(_ m: MemberReader, _ name: String) throws(FormatError) -> TombstoneProof? {
    guard let value = m.optional(name) else { return nil }
    if value.object != nil { return try m.nested(name) }
    let bytes = try m.base64(name)
    return bytes.isEmpty ? nil : try TombstoneProof(parsing: bytes)
  }

  public var json: JSONValue {
    func list(_ values: [some SealShape]) -> JSONValue? {
      values.isEmpty ? nil : .base64(JSONWriter.write(.array(values.map(\.json))))
    }
    return .object([
      ("recordName", .string(rootHash)), ("publicKey", .base64(publicKey)), ("tier", .string(tier)),
      ("displayName", .string(displayName)), ("credentialID", credentialID.map { .base64($0) }),
      ("deviceEndorsements", list(deviceEndorsements)), ("backupEndorsements", list(backups)),
      ("revocations", tombstone.map { .base64($0.encoded(.compact)) } ?? list(revocations)),
      // Where Seal has the proof only; its decoders pass over this.
      ("revocationsBefore", tombstone == nil ? nil : list(revocations)),
      ("simulated", isSimulated ? .bool(true) : nil),
    ])
  }

  /// The identity without its devices.
  public var identity: RootIdentity {
    RootIdentity(
      credentialIDHash: rootHash, publicKey: publicKey, tier: tier, displayName: displayName,
      rawCredentialID: credentialID, backupCredentials: backups.isEmpty ? nil : backups)
  }
}

/// An identity as a capsule holds it: without backups, revocations and the raw credential ID.
public struct CapsuleIdentity: SealShape, Hashable {
  public static let shapeName = "capsule identity"

  /// The root hash.
  public var rootHash: String
  /// x and y, 64 bytes.
  public var publicKey: [UInt8]
  /// What the person calls themself. Unsigned.
  public var displayName: String
  /// `verified` or `passkey`.
  public var tier: String
  /// The endorsements that verified on the phone that wrote the capsule.
  public var deviceEndorsements: [DeviceEndorsement]

  /// All members at once.
  public init(
    rootHash: String, publicKey: [UInt8], displayName: String, tier: String, deviceEndorsements: [DeviceEndorsement]
  ) {
    self.rootHash = rootHash
    self.publicKey = publicKey
    self.displayName = displayName
    self.tier = tier
    self.deviceEndorsements = deviceEndorsements
  }

  /// What a capsule would hold of `record`.
  public init(_ record: DirectoryRecord) {
    self.init(
      rootHash: record.rootHash, publicKey: record.publicKey, displayName: record.displayName, tier: record.tier,
      deviceEndorsements: record.deviceEndorsements)
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    rootHash = try m.rootHash("rootHash")
    publicKey = try m.hex("publicKeyHex", count: 64)
    displayName = try m.name("displayName")
    tier = try m.name("tier")
    var endorsements: [DeviceEndorsement] = []
    for element in try m.array("deviceEndorsements") {
      endorsements.append(try DeviceEndorsement(capsuleJSON: element))
    }
    deviceEndorsements = endorsements
  }

  public var json: JSONValue {
    .object([
      ("deviceEndorsements", .array(deviceEndorsements.compactMap { try? $0.capsuleJSON() })),
      ("displayName", .string(displayName)), ("publicKeyHex", .hex(publicKey)), ("rootHash", .string(rootHash)),
      ("tier", .string(tier)),
    ])
  }
}

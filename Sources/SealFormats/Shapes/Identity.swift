// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// How strong a root credential is: made on a security key, or a passkey of a phone.
public enum Tier: String, Sendable, Hashable {
  /// A security key.
  case verified
  /// A passkey.
  case passkey
  /// What a record of an identity that was deleted says.
  case deleted
}

/// A person's root credential.
public struct RootIdentity: SealShape, Hashable {
  public static let shapeName = "identity"

  /// Lowercase hexadecimal SHA-256 of the raw credential ID: the person's name everywhere.
  public var credentialIDHash: String
  /// x and y, 64 bytes.
  public var publicKey: [UInt8]
  /// `verified` or `passkey`; kept as text, since it decides nothing that is verified.
  public var tier: String
  /// What the person calls themself. Unsigned.
  public var displayName: String
  /// The raw credential ID; old records lack it.
  public var rawCredentialID: [UInt8]?
  /// Other credentials that may act for this one.
  public var backupCredentials: [BackupCredential]?

  /// All members at once.
  public init(
    credentialIDHash: String, publicKey: [UInt8], tier: String, displayName: String, rawCredentialID: [UInt8]? = nil,
    backupCredentials: [BackupCredential]? = nil
  ) {
    self.credentialIDHash = credentialIDHash
    self.publicKey = publicKey
    self.tier = tier
    self.displayName = displayName
    self.rawCredentialID = rawCredentialID
    self.backupCredentials = backupCredentials
  }

  /// A fresh identity, named by the hash of its credential ID.
  public init(credentialID: [UInt8], publicKey: [UInt8], tier: Tier, displayName: String) {
    self.init(
      credentialIDHash: Self.rootHash(of: credentialID), publicKey: publicKey, tier: tier.rawValue,
      displayName: displayName, rawCredentialID: credentialID)
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    credentialIDHash = try m.rootHash("credentialIDHash")
    publicKey = try m.base64("publicKey", count: 64)
    tier = try m.name("tier")
    displayName = try m.name("displayName")
    rawCredentialID = try m.ifPresent("rawCredentialID") { name throws(FormatError) in try m.base64(name) }
    backupCredentials = try m.ifPresent("backupCredentials") { name throws(FormatError) in try m.list(name) }
  }

  public var json: JSONValue {
    .object([
      ("credentialIDHash", .string(credentialIDHash)), ("publicKey", .base64(publicKey)), ("tier", .string(tier)),
      ("displayName", .string(displayName)), ("rawCredentialID", rawCredentialID.map { .base64($0) }),
      ("backupCredentials", backupCredentials.map { .array($0.map(\.json)) }),
    ])
  }

  /// The root hash of a raw credential ID: 64 lowercase hexadecimal characters.
  public static func rootHash(of credentialID: [UInt8]) -> String { Hex.encode(SHA256.hash(credentialID)) }
}

/// Another credential that may act for a root: both have signed.
public struct BackupCredential: SealShape, Hashable {
  public static let shapeName = "backup credential"

  /// The backup's raw credential ID.
  public var credentialID: [UInt8]
  /// x and y, 64 bytes.
  public var publicKey: [UInt8]
  /// `verified` or `passkey`.
  public var tier: String
  /// What the person calls it. Unsigned.
  public var label: String
  /// The JSON text of the root's assertion over `backup.v1`.
  public var assertionJSON: [UInt8]
  /// The JSON text of the backup's own assertion over `backup.accept.v1`.
  public var acceptanceJSON: [UInt8]
  /// When it was made. Unsigned.
  public var createdAt: SealDate

  /// All members at once.
  public init(
    credentialID: [UInt8], publicKey: [UInt8], tier: Tier, label: String, assertion: StoredAssertion,
    acceptance: StoredAssertion, createdAt: SealDate
  ) {
    self.credentialID = credentialID
    self.publicKey = publicKey
    self.tier = tier.rawValue
    self.label = label
    self.assertionJSON = assertion.encoded(.compact)
    self.acceptanceJSON = acceptance.encoded(.compact)
    self.createdAt = createdAt
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    credentialID = try m.base64("credentialID")
    // Not checked for 64 bytes here: a backup of another length is read and does not count, as in Seal.
    publicKey = try m.base64("publicKey")
    tier = try m.name("tier")
    label = try m.name("label")
    assertionJSON = try m.base64("assertion")
    acceptanceJSON = try m.base64("acceptance")
    createdAt = try m.date("createdAt")
  }

  public var json: JSONValue {
    .object([
      ("credentialID", .base64(credentialID)), ("publicKey", .base64(publicKey)), ("tier", .string(tier)),
      ("label", .string(label)), ("assertion", .base64(assertionJSON)), ("acceptance", .base64(acceptanceJSON)),
      ("createdAt", createdAt.json),
    ])
  }

  /// The root's assertion.
  public func assertion() throws(FormatError) -> StoredAssertion { try StoredAssertion(parsing: assertionJSON) }
  /// The backup's own assertion.
  public func acceptance() throws(FormatError) -> StoredAssertion { try StoredAssertion(parsing: acceptanceJSON) }
}

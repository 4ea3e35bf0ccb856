// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// A root or backup credential says: this device speaks for me, and may be wrapped to.
public struct DeviceEndorsement: SealShape, Hashable {
  public static let shapeName = "device endorsement"

  /// 65 bytes, starting with 4.
  public var devicePublicKey: [UInt8]
  /// 32 or 1,220 bytes, or empty. Kept as found: an odd one can still sign, it only cannot be wrapped to.
  public var kemBundlePublicKeys: [UInt8]
  /// The JSON text of a ``StoredAssertion``, kept verbatim.
  public var assertionJSON: [UInt8]
  /// When it was made. Unsigned.
  public var createdAt: SealDate
  /// The locked private halves of a sponsored identity: nonce (12), ciphertext, tag (16). Unsigned.
  public var lockedPrivate: [UInt8]?
  /// The salt that unlocks them, 32 bytes. Unsigned.
  public var prfSalt: [UInt8]?

  /// All members at once.
  public init(
    devicePublicKey: [UInt8], kemBundlePublicKeys: [UInt8], assertion: StoredAssertion, createdAt: SealDate,
    lockedPrivate: [UInt8]? = nil, prfSalt: [UInt8]? = nil
  ) {
    self.devicePublicKey = devicePublicKey
    self.kemBundlePublicKeys = kemBundlePublicKeys
    self.assertionJSON = assertion.encoded(.compact)
    self.createdAt = createdAt
    self.lockedPrivate = lockedPrivate
    self.prfSalt = prfSalt
  }

  /// Whether the same word is meant: one device, endorsed by one assertion. The lock may differ, which nobody signs.
  package func isSameWord(as other: DeviceEndorsement) -> Bool {
    devicePublicKey == other.devicePublicKey && assertionJSON == other.assertionJSON
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    devicePublicKey = try m.base64("devicePublicKey", count: 65)
    kemBundlePublicKeys = try m.base64("kemBundlePublicKeys")
    assertionJSON = try m.base64("assertion")
    createdAt = try m.date("createdAt")
    lockedPrivate = try m.ifPresent("lockedPrivate") { name throws(FormatError) in try m.base64(name) }
    prfSalt = try m.ifPresent("prfSalt") { name throws(FormatError) in try m.base64(name, count: 32) }
  }

  public var json: JSONValue {
    .object([
      ("devicePublicKey", .base64(devicePublicKey)), ("kemBundlePublicKeys", .base64(kemBundlePublicKeys)),
      ("assertion", .base64(assertionJSON)), ("createdAt", createdAt.json),
      ("lockedPrivate", lockedPrivate.map { .base64($0) }), ("prfSalt", prfSalt.map { .base64($0) }),
    ])
  }

  /// The assertion inside.
  public func assertion() throws(FormatError) -> StoredAssertion { try StoredAssertion(parsing: assertionJSON) }

  /// Whether it carries locked halves: a key registered for somebody else. A part of a lock counts, too.
  public var isSponsored: Bool { lockedPrivate != nil || prfSalt != nil }

  /// The locked halves and their salt; nil where there are none.
  /// - Throws: ``WrapError/badLock(reason:)`` when they are nothing that a key could open.
  public func lock() throws(WrapError) -> (blob: [UInt8], salt: [UInt8])? {
    switch (lockedPrivate, prfSalt) {
    case (nil, nil): return nil
    case (nil, _): throw .badLock(reason: "'prfSalt' is there, and 'lockedPrivate' is not")
    case (_, nil): throw .badLock(reason: "'lockedPrivate' is there, and 'prfSalt' is not")
    case (let blob?, let salt?):
      try SponsoredLock.checkSizes(blob, salt)
      return (blob, salt)
    }
  }

  /// Reads the capsule's own form. Locked halves are not in a capsule.
  public init(capsuleJSON: JSONValue) throws(FormatError) {
    let m = try MemberReader(capsuleJSON, Self.shapeName)
    self.init(
      devicePublicKey: try m.hex("devicePublicKeyHex", count: 65), kemBundlePublicKeys: try m.hex("kemBundleHex"),
      assertion: try StoredAssertion(capsuleJSON: try m.required("assertion")),
      createdAt: SealDate(epoch: try m.int("createdAtEpoch")))
  }

  /// The capsule's own form.
  /// - Throws: ``FormatError`` when the assertion inside does not read.
  public func capsuleJSON() throws(FormatError) -> JSONValue {
    .object([
      ("assertion", try assertion().capsuleJSON), ("createdAtEpoch", .int(createdAt.epoch)),
      ("devicePublicKeyHex", .hex(devicePublicKey)), ("kemBundleHex", .hex(kemBundlePublicKeys)),
    ])
  }
}

/// A root credential says: that device, or that backup, is dead.
public struct DeviceRevocation: SealShape, Hashable {
  public static let shapeName = "revocation"

  /// 65 bytes for a device, 64 for a backup credential: one list holds both.
  public var devicePublicKey: [UInt8]
  /// The JSON text of a ``StoredAssertion``.
  public var assertionJSON: [UInt8]
  /// When. Unsigned, and consulted by nobody.
  public var revokedAt: SealDate

  /// All members at once.
  public init(devicePublicKey: [UInt8], assertion: StoredAssertion, revokedAt: SealDate) {
    self.devicePublicKey = devicePublicKey
    self.assertionJSON = assertion.encoded(.compact)
    self.revokedAt = revokedAt
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    devicePublicKey = try m.base64("devicePublicKey")
    guard [64, 65].contains(devicePublicKey.count) else {
      throw m.fail("devicePublicKey", "has \(devicePublicKey.count) bytes and must have 64 or 65")
    }
    assertionJSON = try m.base64("assertion")
    revokedAt = try m.date("revokedAt")
  }

  public var json: JSONValue {
    .object([
      ("devicePublicKey", .base64(devicePublicKey)), ("assertion", .base64(assertionJSON)),
      ("revokedAt", revokedAt.json),
    ])
  }

  /// The assertion inside.
  public func assertion() throws(FormatError) -> StoredAssertion { try StoredAssertion(parsing: assertionJSON) }

  /// What the root must have signed: the length tells a device from a backup.
  public var statement: Statement {
    devicePublicKey.count == 64
      ? .backupRevoke(publicKey: devicePublicKey) : .revokeDevice(devicePublicKey: devicePublicKey)
  }
}

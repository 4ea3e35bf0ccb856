// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// A friend tapped on the phone of somebody they met.
public struct FriendshipAttestation: SealShape, Hashable {
  public static let shapeName = "friendship attestation"

  /// 32 random bytes.
  public var nonce: [UInt8]
  /// When. Unsigned.
  public var timestamp: SealDate
  /// The friend's assertion over `friend.v1`.
  public var assertion: StoredAssertion

  /// All members at once.
  public init(nonce: [UInt8], timestamp: SealDate, assertion: StoredAssertion) {
    self.nonce = nonce
    self.timestamp = timestamp
    self.assertion = assertion
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    nonce = try m.base64("nonce", count: 32)
    timestamp = try m.date("timestamp")
    assertion = try m.nested("assertion")
  }

  public var json: JSONValue {
    .object([("nonce", .base64(nonce)), ("timestamp", timestamp.json), ("assertion", assertion.json)])
  }
}

/// A friend, with the attestation of the meeting.
public struct Friendship: SealShape, Hashable {
  public static let shapeName = "friendship"

  /// The friend's root hash.
  public var friendRootID: String
  /// The JSON text of a ``FriendshipAttestation``.
  public var attestationJSON: [UInt8]
  /// The same in the other direction, where there is one.
  public var reverseAttestationJSON: [UInt8]?
  /// When it was made.
  public var forgedAt: SealDate
  /// Stored because the other side's phone said so, not because of a tap.
  public var autoReciprocated: Bool?
  /// Registered for them by the owner of the phone.
  public var sponsored: Bool?
  /// When it was taken back.
  public var tombstonedAt: SealDate?

  /// A friendship out of a meeting.
  public init(
    friendRootID: String, attestation: FriendshipAttestation, forgedAt: SealDate, sponsored: Bool? = nil
  ) {
    self.friendRootID = friendRootID
    self.attestationJSON = attestation.encoded(.compact)
    self.forgedAt = forgedAt
    self.sponsored = sponsored
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    friendRootID = try m.rootHash("friendRootID")
    attestationJSON = try m.base64("attestation")
    reverseAttestationJSON = try m.ifPresent("reverseAttestation") { name throws(FormatError) in try m.base64(name) }
    forgedAt = try m.date("forgedAt")
    autoReciprocated = try m.ifPresent("autoReciprocated") { name throws(FormatError) in try m.bool(name) }
    sponsored = try m.ifPresent("sponsored") { name throws(FormatError) in try m.bool(name) }
    tombstonedAt = try m.ifPresent("tombstonedAt") { name throws(FormatError) in try m.date(name) }
  }

  public var json: JSONValue {
    .object([
      ("friendRootID", .string(friendRootID)), ("attestation", .base64(attestationJSON)),
      ("reverseAttestation", reverseAttestationJSON.map { .base64($0) }), ("forgedAt", forgedAt.json),
      ("autoReciprocated", autoReciprocated.map { .bool($0) }), ("sponsored", sponsored.map { .bool($0) }),
      ("tombstonedAt", tombstonedAt?.json),
    ])
  }

  /// The attestation inside.
  public func attestation() throws(FormatError) -> FriendshipAttestation {
    try FriendshipAttestation(parsing: attestationJSON)
  }
}

/// The device of whoever ran a meeting signs the other direction of it.
public struct ForgeHandshake: SealShape, Hashable {
  public static let shapeName = "forge handshake"

  /// Who ran the meeting.
  public var senderHash: String
  /// Who tapped.
  public var recipientHash: String
  /// The sender's device, 65 bytes.
  public var senderDevicePublicKey: [UInt8]
  /// The nonce of the meeting, 32 bytes.
  public var nonce: [UInt8]
  /// The device's signature over the digest of `forge.reverse.v1`, DER.
  public var signature: [UInt8]
  /// When. Unsigned.
  public var forgedAt: SealDate

  /// All members at once.
  public init(
    senderHash: String, recipientHash: String, senderDevicePublicKey: [UInt8], nonce: [UInt8], signature: [UInt8],
    forgedAt: SealDate
  ) {
    self.senderHash = senderHash
    self.recipientHash = recipientHash
    self.senderDevicePublicKey = senderDevicePublicKey
    self.nonce = nonce
    self.signature = signature
    self.forgedAt = forgedAt
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    senderHash = try m.rootHash("senderHash")
    recipientHash = try m.rootHash("recipientHash")
    senderDevicePublicKey = try m.base64("senderDevicePublicKey", count: 65)
    nonce = try m.base64("nonce", count: 32)
    signature = try m.base64("signature")
    forgedAt = try m.date("forgedAt")
  }

  public var json: JSONValue {
    .object([
      ("senderHash", .string(senderHash)), ("recipientHash", .string(recipientHash)),
      ("senderDevicePublicKey", .base64(senderDevicePublicKey)), ("nonce", .base64(nonce)),
      ("signature", .base64(signature)), ("forgedAt", forgedAt.json),
    ])
  }

  /// What the device must have signed.
  public var statement: Statement {
    .forgeReverse(senderHash: senderHash, recipientHash: recipientHash, nonce: nonce)
  }
}

/// The proof that an identity was deleted by whoever held its key.
public struct TombstoneProof: SealShape, Hashable {
  public static let shapeName = "delete marker"

  /// 32 random bytes.
  public var nonce: [UInt8]
  /// The root's assertion over `identity.delete.v1`.
  public var assertion: StoredAssertion

  /// Both members.
  public init(nonce: [UInt8], assertion: StoredAssertion) {
    self.nonce = nonce
    self.assertion = assertion
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    nonce = try m.base64("nonce", count: 32)
    assertion = try m.nested("assertion")
  }

  public var json: JSONValue { .object([("nonce", .base64(nonce)), ("assertion", assertion.json)]) }
}

/// Two people agree that something changed hands.
public struct CustodyReceipt: SealShape, Hashable {
  public static let shapeName = "receipt"

  /// What both signed.
  public var terms: ReceiptTerms
  /// What the giver was called. Unsigned.
  public var giverName: String
  /// What the receiver was called. Unsigned.
  public var receiverName: String
  /// The receiver's assertion.
  public var receiverAssertion: StoredAssertion
  /// The giver's device's signature over the digest, DER.
  public var giverSignature: [UInt8]
  /// The giver's device, 65 bytes.
  public var giverDevicePublicKey: [UInt8]
  /// Where the photo is kept, encrypted.
  public var mediaRef: String?
  /// The photo's key.
  public var mediaKey: [UInt8]?

  /// All members at once.
  public init(
    terms: ReceiptTerms, giverName: String, receiverName: String, receiverAssertion: StoredAssertion,
    giverSignature: [UInt8], giverDevicePublicKey: [UInt8]
  ) {
    self.terms = terms
    self.giverName = giverName
    self.receiverName = receiverName
    self.receiverAssertion = receiverAssertion
    self.giverSignature = giverSignature
    self.giverDevicePublicKey = giverDevicePublicKey
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    terms = ReceiptTerms(
      receiptID: try m.string("receiptID"), giverHash: try m.rootHash("giverHash"),
      receiverHash: try m.rootHash("receiverHash"), itemDescription: try m.string("itemDescription"),
      photoSHA256: try m.ifPresent("photoSHA256") { name throws(FormatError) in try m.base64(name, count: 32) },
      signedAtEpoch: try m.int("signedAtEpoch"), nonce: try m.base64("nonce", count: 32))
    giverName = try m.name("giverName")
    receiverName = try m.name("receiverName")
    receiverAssertion = try m.nested("receiverAssertion")
    giverSignature = try m.base64("giverSignature")
    giverDevicePublicKey = try m.base64("giverDevicePublicKey", count: 65)
    mediaRef = try m.ifPresent("mediaRef") { name throws(FormatError) in try m.string(name) }
    mediaKey = try m.ifPresent("mediaKey") { name throws(FormatError) in try m.base64(name) }
  }

  public var json: JSONValue {
    .object([
      ("receiptID", .string(terms.receiptID)), ("giverHash", .string(terms.giverHash)),
      ("receiverHash", .string(terms.receiverHash)), ("giverName", .string(giverName)),
      ("receiverName", .string(receiverName)), ("itemDescription", .string(terms.itemDescription)),
      ("photoSHA256", terms.photoSHA256.map { .base64($0) }), ("signedAtEpoch", .int(terms.signedAtEpoch)),
      ("nonce", .base64(terms.nonce)), ("receiverAssertion", receiverAssertion.json),
      ("giverSignature", .base64(giverSignature)), ("giverDevicePublicKey", .base64(giverDevicePublicKey)),
      ("mediaRef", mediaRef.map { .string($0) }), ("mediaKey", mediaKey.map { .base64($0) }),
    ])
  }
}

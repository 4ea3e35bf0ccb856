// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// Everything that Seal has anybody sign, with its typed fields.
///
/// Hashes are 64 lowercase hexadecimal characters (SHA-256 of a raw credential ID), public keys of roots and
/// backups 64 raw bytes x and y, of devices 65 bytes starting with 4, nonces and digests 32 bytes.
public enum Statement: Sendable, Hashable {
  /// This device speaks for the identity and may be wrapped to. The bundle is 32, 1,220 or no bytes.
  case endorse(devicePublicKey: [UInt8], kemBundle: [UInt8])
  /// The old form of ``endorse(devicePublicKey:kemBundle:)``: read where the bundle has 32 bytes, never created.
  case endorseV2(devicePublicKey: [UInt8], kemBundle: [UInt8])
  /// That device is dead.
  case revokeDevice(devicePublicKey: [UInt8])
  /// That credential may act for me.
  case backup(credentialID: [UInt8], publicKey: [UInt8])
  /// I, the backup, belong to that root.
  case backupAccept(rootIDHash: String, credentialID: [UInt8], publicKey: [UInt8])
  /// That backup is dead.
  case backupRevoke(publicKey: [UInt8])
  /// We met: `myHash` owns the phone, `theirHash` taps.
  case friend(myHash: String, theirHash: String, nonce: [UInt8])
  /// The other direction of a meeting, signed by the device of whoever ran it.
  case forgeReverse(senderHash: String, recipientHash: String, nonce: [UInt8])
  /// Both agree that something changed hands.
  case receipt(ReceiptTerms)
  /// A release tap.
  case releaseAuthorize(estateID: String, epoch: UInt64, claimID: String, recordHeadDigest: [UInt8])
  /// "I still have my key"; never counts to a release.
  case custodyConfirm(estateID: String, epoch: UInt64, recordHeadDigest: [UInt8])
  /// This identity is deleted.
  case identityDelete(nonce: [UInt8])
  /// An entry of an estate's record.
  case estateEvent(EventTerms)
  /// An entry of a person's own record, hashed for a timestamp authority.
  case record(RecordTerms)
  /// Retired: somebody introduces two people to each other.
  case introduce(IntroductionTerms)
  /// Retired: one of the two accepts the introduction whose commitment is given.
  case introduceAccept(introduction: [UInt8], accepterHash: String, acceptedAt: Int64)
  /// From the messenger days: a perk's code is claimed.
  case perkClaim(codeHash: String, rootID: String, devicePublicKey: [UInt8], claimedAt: Int64)
  /// From the messenger days: a perk is granted; a kind without editions has no number.
  case perkGrant(kind: String, number: Int64?, codeHash: String, issuedAt: Int64)
  /// What the spoken fingerprint of a public key is made from. Not signed.
  case fingerprint(publicKey: [UInt8])
}

/// What a handover receipt says.
public struct ReceiptTerms: Sendable, Hashable {
  /// The receipt's own UUID, as text.
  public var receiptID: String
  /// Who gives.
  public var giverHash: String
  /// Who receives, and taps.
  public var receiverHash: String
  /// What changes hands.
  public var itemDescription: String
  /// SHA-256 of the photo, 32 bytes, where there is one.
  public var photoSHA256: [UInt8]?
  /// Seconds since 1970.
  public var signedAtEpoch: Int64
  /// 32 random bytes.
  public var nonce: [UInt8]

  /// All terms at once.
  public init(
    receiptID: String, giverHash: String, receiverHash: String, itemDescription: String, photoSHA256: [UInt8]?,
    signedAtEpoch: Int64, nonce: [UInt8]
  ) {
    self.receiptID = receiptID
    self.giverHash = giverHash
    self.receiverHash = receiverHash
    self.itemDescription = itemDescription
    self.photoSHA256 = photoSHA256
    self.signedAtEpoch = signedAtEpoch
    self.nonce = nonce
  }
}

/// What an estate event's device signature covers.
public struct EventTerms: Sendable, Hashable {
  /// The event's own UUID, uppercase text.
  public var id: String
  /// The estate.
  public var estateID: String
  /// The kind, for example `heartbeat`.
  public var kind: String
  /// Who acts.
  public var actorHash: String
  /// The device that signs, 65 bytes.
  public var actorDevicePublicKey: [UInt8]
  /// Seconds since 1970.
  public var occurredAtEpoch: Int64
  /// Digest of the event that was the record's head when this was written; empty for the first.
  public var previousDigest: [UInt8]
  /// The payload exactly as its writer encoded it.
  public var payload: [UInt8]

  /// All terms at once.
  public init(
    id: String, estateID: String, kind: String, actorHash: String, actorDevicePublicKey: [UInt8],
    occurredAtEpoch: Int64, previousDigest: [UInt8], payload: [UInt8]
  ) {
    self.id = id
    self.estateID = estateID
    self.kind = kind
    self.actorHash = actorHash
    self.actorDevicePublicKey = actorDevicePublicKey
    self.occurredAtEpoch = occurredAtEpoch
    self.previousDigest = previousDigest
    self.payload = payload
  }
}

/// What an entry of a person's own record says.
public struct RecordTerms: Sendable, Hashable {
  /// The kind, for example `handover`.
  public var kind: String
  /// Seconds since 1970.
  public var occurredAtEpoch: Int64
  /// The other person, or empty.
  public var counterpartHash: String
  /// What it refers to.
  public var sourceRef: String
  /// SHA-256 of the content as 64 hexadecimal characters, or empty.
  public var contentDigestHex: String

  /// All terms at once.
  public init(
    kind: String, occurredAtEpoch: Int64, counterpartHash: String, sourceRef: String, contentDigestHex: String
  ) {
    self.kind = kind
    self.occurredAtEpoch = occurredAtEpoch
    self.counterpartHash = counterpartHash
    self.sourceRef = sourceRef
    self.contentDigestHex = contentDigestHex
  }
}

/// What a retired introduction says. The parties are put in ASCII order of their hashes before hashing.
public struct IntroductionTerms: Sendable, Hashable {
  /// Who introduces.
  public var introducerHash: String
  /// One party, with its root key of 64 bytes.
  public var first: Party
  /// The other party.
  public var second: Party
  /// Seconds since 1970.
  public var createdAt: Int64

  /// A person as named in an introduction.
  public struct Party: Sendable, Hashable {
    /// Root hash.
    public var hash: String
    /// Root key, 64 bytes.
    public var publicKey: [UInt8]
    /// A party of this hash and key.
    public init(hash: String, publicKey: [UInt8]) {
      self.hash = hash
      self.publicKey = publicKey
    }
  }

  /// All terms at once, parties in either order.
  public init(introducerHash: String, first: Party, second: Party, createdAt: Int64) {
    self.introducerHash = introducerHash
    self.first = first
    self.second = second
    self.createdAt = createdAt
  }
}

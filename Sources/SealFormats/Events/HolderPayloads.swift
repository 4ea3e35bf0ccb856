// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// A holder's tap for a claim, with the holder's share for the claimant.
public struct AuthorizationPayload: SealShape, Hashable {
  public static let shapeName = "authorization"

  /// The claim.
  public var claimID: String
  /// The epoch that the tap names: that of the holder's newest statement.
  public var epoch: UInt64
  /// The record's head when the holder tapped; 32 bytes or empty.
  public var recordHeadDigest: [UInt8]
  /// The root's assertion over `release.authorize.v1`.
  public var assertion: StoredAssertion
  /// The holder's share, wrapped to each of the claimant's devices.
  public var shareForClaimant: [WrapEnvelope]

  /// All members at once.
  public init(
    claimID: String, epoch: UInt64, recordHeadDigest: [UInt8], assertion: StoredAssertion,
    shareForClaimant: [WrapEnvelope]
  ) {
    self.claimID = claimID
    self.epoch = epoch
    self.recordHeadDigest = recordHeadDigest
    self.assertion = assertion
    self.shareForClaimant = shareForClaimant
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    claimID = try m.string("claimID")
    epoch = try m.unsigned("epoch")
    recordHeadDigest = try m.base64("recordHeadDigest")
    assertion = try m.nested("assertion")
    shareForClaimant = try m.list("shareForClaimant")
  }

  public var json: JSONValue {
    .object([
      ("claimID", .string(claimID)), ("epoch", .int(epoch)), ("recordHeadDigest", .base64(recordHeadDigest)),
      ("assertion", assertion.json), ("shareForClaimant", .array(shareForClaimant.map(\.json))),
    ])
  }

  /// What the root must have signed, in the estate of the event.
  public func statement(estateID: String) -> Statement {
    .releaseAuthorize(estateID: estateID, epoch: epoch, claimID: claimID, recordHeadDigest: recordHeadDigest)
  }
}

/// A holder says: I still have my key.
public struct CustodyConfirmedPayload: SealShape, Hashable {
  public static let shapeName = "custody confirmation"

  /// The epoch of the holder's newest statement.
  public var epoch: UInt64
  /// The record's head; 32 bytes or empty.
  public var recordHeadDigest: [UInt8]
  /// The root's assertion over `custody.confirm.v1`.
  public var assertion: StoredAssertion

  /// All members at once.
  public init(epoch: UInt64, recordHeadDigest: [UInt8], assertion: StoredAssertion) {
    self.epoch = epoch
    self.recordHeadDigest = recordHeadDigest
    self.assertion = assertion
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    epoch = try m.unsigned("epoch")
    recordHeadDigest = try m.base64("recordHeadDigest")
    assertion = try m.nested("assertion")
  }

  public var json: JSONValue {
    .object([
      ("epoch", .int(epoch)), ("recordHeadDigest", .base64(recordHeadDigest)), ("assertion", assertion.json),
    ])
  }

  /// What the root must have signed, in the estate of the event.
  public func statement(estateID: String) -> Statement {
    .custodyConfirm(estateID: estateID, epoch: epoch, recordHeadDigest: recordHeadDigest)
  }
}

/// A holder opens a claim.
public struct ReleaseClaimedPayload: SealShape, Hashable {
  public static let shapeName = "claim"

  /// The claim's UUID.
  public var claimID: String
  /// The epoch of the claimant's newest statement.
  public var epoch: UInt64
  /// The owner's last heartbeat that the claimant knew of.
  public var lastHeartbeatAtEpoch: Int64?
  /// Why, in the claimant's words.
  public var reason: String

  /// All members at once.
  public init(claimID: String, epoch: UInt64, lastHeartbeatAtEpoch: Int64?, reason: String) {
    self.claimID = claimID
    self.epoch = epoch
    self.lastHeartbeatAtEpoch = lastHeartbeatAtEpoch
    self.reason = reason
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    claimID = try m.string("claimID")
    epoch = try m.unsigned("epoch")
    lastHeartbeatAtEpoch = try m.ifPresent("lastHeartbeatAtEpoch") { name throws(FormatError) in try m.int(name) }
    reason = try m.string("reason")
  }

  public var json: JSONValue {
    .object([
      ("claimID", .string(claimID)), ("epoch", .int(epoch)),
      ("lastHeartbeatAtEpoch", lastHeartbeatAtEpoch.map { .int($0) }), ("reason", .string(reason)),
    ])
  }
}

/// A holder objects to a claim, or takes an objection back.
public struct ObjectionPayload: SealShape, Hashable {
  public static let shapeName = "objection"

  /// The claim.
  public var claimID: String
  /// False in `objection`, true in `objectionWithdrawn`; an `objection` that says true is ignored.
  public var withdrawn: Bool
  /// In the holder's words; may be empty, and must be there.
  public var note: String

  /// All members at once.
  public init(claimID: String, withdrawn: Bool, note: String = "") {
    self.claimID = claimID
    self.withdrawn = withdrawn
    self.note = note
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    claimID = try m.string("claimID")
    withdrawn = try m.bool("withdrawn")
    note = try m.string("note")
  }

  public var json: JSONValue {
    .object([
      ("claimID", .string(claimID)), ("withdrawn", .bool(withdrawn)), ("note", .string(note)),
    ])
  }
}

/// A claimant publishes the Estate Key, which is public from then on.
public struct ReleasedPayload: SealShape, Hashable {
  public static let shapeName = "release"

  /// The claim.
  public var claimID: String
  /// The epoch.
  public var epoch: UInt64
  /// The indexes of the shares that were combined.
  public var shareIndexes: [UInt8]
  /// The Estate Key, 32 bytes when it is good.
  public var estateKey: [UInt8]

  /// All members at once.
  public init(claimID: String, epoch: UInt64, shareIndexes: [UInt8], estateKey: [UInt8]) {
    self.claimID = claimID
    self.epoch = epoch
    self.shareIndexes = shareIndexes
    self.estateKey = estateKey
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    claimID = try m.string("claimID")
    epoch = try m.unsigned("epoch")
    var indexes: [UInt8] = []
    for element in try m.array("shareIndexes") {
      guard let index = element.unsigned.flatMap({ UInt8(exactly: $0) }) else {
        throw m.fail("shareIndexes", "holds something that is not a number from 0 to 255")
      }
      indexes.append(index)
    }
    shareIndexes = indexes
    estateKey = try m.base64("estateKey")
  }

  public var json: JSONValue {
    .object([
      ("claimID", .string(claimID)), ("epoch", .int(epoch)),
      ("shareIndexes", .array(shareIndexes.map { .int($0) })), ("estateKey", .base64(estateKey)),
    ])
  }
}

/// A holder saw that the owner is overdue.
public struct SilenceObservedPayload: SealShape, Hashable {
  public static let shapeName = "silence observation"

  /// The owner's newest heartbeat that the holder could find.
  public var lastHeartbeatDigest: [UInt8]?
  /// Its time.
  public var lastHeartbeatAtEpoch: Int64?

  /// Both members.
  public init(lastHeartbeatDigest: [UInt8]?, lastHeartbeatAtEpoch: Int64?) {
    self.lastHeartbeatDigest = lastHeartbeatDigest
    self.lastHeartbeatAtEpoch = lastHeartbeatAtEpoch
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    lastHeartbeatDigest = try m.ifPresent("lastHeartbeatDigest") { name throws(FormatError) in try m.base64(name) }
    lastHeartbeatAtEpoch = try m.ifPresent("lastHeartbeatAtEpoch") { name throws(FormatError) in try m.int(name) }
  }

  public var json: JSONValue {
    .object([
      ("lastHeartbeatDigest", lastHeartbeatDigest.map { .base64($0) }),
      ("lastHeartbeatAtEpoch", lastHeartbeatAtEpoch.map { .int($0) }),
    ])
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// The rule of an estate.
public struct ReleasePolicy: SealShape, Hashable {
  public static let shapeName = "policy"

  /// What an objection does.
  public enum ObjectionBehavior: String, Sendable, Hashable {
    /// The countdown stands still until it is withdrawn.
    case pause
    /// The claim is dead for good.
    case veto
  }

  /// Days of silence after which a claim may be opened.
  public var silenceDays: Int64
  /// Days the owner is warned before anything opens.
  public var warningDays: Int64
  /// Days after the warning.
  public var graceDays: Int64
  /// How many holders must tap.
  public var threshold: Int64
  /// What an objection does.
  public var objectionBehavior: ObjectionBehavior
  /// Months between yearly confirmations; nil means 12.
  public var custodyConfirmMonths: Int64?

  /// All members at once; the defaults are Seal's.
  public init(
    silenceDays: Int64 = 90, warningDays: Int64 = 21, graceDays: Int64 = 14, threshold: Int64 = 1,
    objectionBehavior: ObjectionBehavior = .pause, custodyConfirmMonths: Int64? = nil
  ) {
    self.silenceDays = silenceDays
    self.warningDays = warningDays
    self.graceDays = graceDays
    self.threshold = threshold
    self.objectionBehavior = objectionBehavior
    self.custodyConfirmMonths = custodyConfirmMonths
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    silenceDays = try m.int("silenceDays")
    warningDays = try m.int("warningDays")
    graceDays = try m.int("graceDays")
    threshold = try m.int("threshold")
    let behavior = try m.string("objectionBehavior")
    guard let known = ObjectionBehavior(rawValue: behavior) else {
      throw m.fail("objectionBehavior", "is neither 'pause' nor 'veto'")
    }
    objectionBehavior = known
    custodyConfirmMonths = try m.ifPresent("custodyConfirmMonths") { name throws(FormatError) in try m.int(name) }
  }

  public var json: JSONValue {
    .object([
      ("silenceDays", .int(silenceDays)), ("warningDays", .int(warningDays)), ("graceDays", .int(graceDays)),
      ("threshold", .int(threshold)), ("objectionBehavior", .string(objectionBehavior.rawValue)),
      ("custodyConfirmMonths", custodyConfirmMonths.map { .int($0) }),
    ])
  }

  /// What is outside the table that Seal's owner app keeps to (RELEASE.md 1.1). A reader of the record applies
  /// whatever was signed; this program refuses to act on a rule like that.
  public func problems(holderCount: Int? = nil) -> [String] {
    var out: [String] = []
    if ![30, 90, 180, 365].contains(silenceDays) { out.append("silence of \(silenceDays) days") }
    // No maximum in Seal; a century keeps every sum of days far from the end of a 64-bit clock.
    if !(1...36_500).contains(warningDays) { out.append("a warning of \(warningDays) days") }
    if !(0...36_500).contains(graceDays) { out.append("a grace of \(graceDays) days") }
    if threshold < 1 || holderCount.map({ threshold > Int64($0) }) ?? false {
      out.append("a threshold of \(threshold)")
    }
    if let custodyConfirmMonths, ![6, 12, 24].contains(custodyConfirmMonths) {
      out.append("a confirmation every \(custodyConfirmMonths) months")
    }
    return out
  }
}

/// The owner sets the estate up.
public struct EstateCreatedPayload: SealShape, Hashable {
  public static let shapeName = "estate creation"

  /// The rule.
  public var policy: ReleasePolicy
  /// Seconds since 1970.
  public var createdAtEpoch: Int64

  /// Both members.
  public init(policy: ReleasePolicy, createdAtEpoch: Int64) {
    self.policy = policy
    self.createdAtEpoch = createdAtEpoch
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    policy = try m.nested("policy")
    createdAtEpoch = try m.int("createdAtEpoch")
  }

  public var json: JSONValue { .object([("policy", policy.json), ("createdAtEpoch", .int(createdAtEpoch))]) }
}

/// The owner changes the rule.
public struct PolicyChangedPayload: SealShape, Hashable {
  public static let shapeName = "policy change"

  /// The whole new rule.
  public var policy: ReleasePolicy

  /// The new rule.
  public init(policy: ReleasePolicy) { self.policy = policy }

  public init(json: JSONValue) throws(FormatError) {
    policy = try MemberReader(json, Self.shapeName).nested("policy")
  }

  public var json: JSONValue { .object([("policy", policy.json)]) }
}

/// The owner seals: who holds shares of which Estate Key.
public struct EpochPublishedPayload: SealShape, Hashable {
  public static let shapeName = "epoch statement"

  /// The epoch's number.
  public var epoch: UInt64
  /// How many shares open it.
  public var threshold: Int64
  /// The key holders' root hashes, in the order of their shares.
  public var custodianHashes: [String]
  /// Their root keys, 64 bytes each, pinned by the owner.
  public var custodianPublicKeys: [[UInt8]]
  /// SHA-256 of each share.
  public var shareCommitments: [[UInt8]]
  /// SHA-256 of the Estate Key.
  public var estateKeyCommitment: [UInt8]
  /// SHA-256 of the epoch's material.
  public var materialDigest: [UInt8]

  /// All members at once.
  public init(
    epoch: UInt64, threshold: Int64, custodianHashes: [String], custodianPublicKeys: [[UInt8]],
    shareCommitments: [[UInt8]], estateKeyCommitment: [UInt8], materialDigest: [UInt8]
  ) {
    self.epoch = epoch
    self.threshold = threshold
    self.custodianHashes = custodianHashes
    self.custodianPublicKeys = custodianPublicKeys
    self.shareCommitments = shareCommitments
    self.estateKeyCommitment = estateKeyCommitment
    self.materialDigest = materialDigest
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    epoch = try m.unsigned("epoch")
    threshold = try m.int("threshold")
    custodianHashes = try m.strings("custodianHashes")
    custodianPublicKeys = try m.base64Array("custodianPublicKeys")
    shareCommitments = try m.base64Array("shareCommitments")
    estateKeyCommitment = try m.base64("estateKeyCommitment")
    materialDigest = try m.base64("materialDigest")
  }

  public var json: JSONValue {
    .object([
      ("epoch", .int(epoch)), ("threshold", .int(threshold)),
      ("custodianHashes", .array(custodianHashes.map { .string($0) })),
      ("custodianPublicKeys", .array(custodianPublicKeys.map { .base64($0) })),
      ("shareCommitments", .array(shareCommitments.map { .base64($0) })),
      ("estateKeyCommitment", .base64(estateKeyCommitment)), ("materialDigest", .base64(materialDigest)),
    ])
  }
}

/// The owner leaves Seal.
public struct OwnerDepartedPayload: SealShape, Hashable {
  public static let shapeName = "departure"

  /// Whether the envelopes may still be released.
  public var keepEnvelopes: Bool
  /// Seconds since 1970.
  public var departedAtEpoch: Int64

  /// Both members.
  public init(keepEnvelopes: Bool, departedAtEpoch: Int64) {
    self.keepEnvelopes = keepEnvelopes
    self.departedAtEpoch = departedAtEpoch
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    keepEnvelopes = try m.bool("keepEnvelopes")
    departedAtEpoch = try m.int("departedAtEpoch")
  }

  public var json: JSONValue {
    .object([("keepEnvelopes", .bool(keepEnvelopes)), ("departedAtEpoch", .int(departedAtEpoch))])
  }
}

/// The owner stops a claim. The claim's ID is not read by anybody: any cancellation stops any claim before it.
public struct CancellationPayload: SealShape, Hashable {
  public static let shapeName = "cancellation"

  /// The claim, where one is named.
  public var claimID: String?

  /// A cancellation that may name a claim.
  public init(claimID: String?) { self.claimID = claimID }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    claimID = try m.ifPresent("claimID") { name throws(FormatError) in try m.string(name) }
  }

  public var json: JSONValue { .object([("claimID", claimID.map { .string($0) })]) }
}

/// The owner changes what is in the vault.
public struct VaultUpdatedPayload: SealShape, Hashable {
  public static let shapeName = "vault statement"

  /// SHA-256 of the IDs of all content blobs, sorted and joined by line feeds.
  public var blobCommitment: [UInt8]
  /// The key tables, one for each recipient, under random names.
  public var tableIDs: [String]

  /// Both members.
  public init(blobCommitment: [UInt8], tableIDs: [String]) {
    self.blobCommitment = blobCommitment
    self.tableIDs = tableIDs
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    blobCommitment = try m.base64("blobCommitment")
    tableIDs = try m.strings("tableIDs")
  }

  public var json: JSONValue {
    .object([
      ("blobCommitment", .base64(blobCommitment)), ("tableIDs", .array(tableIDs.map { .string($0) })),
    ])
  }
}

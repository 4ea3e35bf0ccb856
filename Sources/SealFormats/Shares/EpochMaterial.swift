// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// The material of an epoch: the Estate Key for the owner, and each holder's share for the holder's devices.
public struct EpochMaterial: SealShape, Hashable {
  public static let shapeName = "epoch material"

  /// One holder's share.
  public struct HolderShare: SealShape, Hashable {
    public static let shapeName = "holder's share"
    /// The holder's root hash.
    public var custodianHash: String
    /// Its place, from 1.
    public var shareIndex: UInt64
    /// The share, wrapped to each of the holder's devices.
    public var envelopes: [WrapEnvelope]
    /// SHA-256 of index byte and share.
    public var commitment: [UInt8]

    /// All members at once.
    public init(custodianHash: String, shareIndex: UInt64, envelopes: [WrapEnvelope], commitment: [UInt8]) {
      self.custodianHash = custodianHash
      self.shareIndex = shareIndex
      self.envelopes = envelopes
      self.commitment = commitment
    }

    public init(json: JSONValue) throws(FormatError) {
      let m = try MemberReader(json, Self.shapeName)
      custodianHash = try m.string("custodianHash")
      shareIndex = try m.unsigned("shareIndex")
      envelopes = try m.list("envelopes")
      commitment = try m.base64("commitment")
    }

    public var json: JSONValue {
      .object([
        ("custodianHash", .string(custodianHash)), ("shareIndex", .int(shareIndex)),
        ("envelopes", .array(envelopes.map(\.json))), ("commitment", .base64(commitment)),
      ])
    }
  }

  /// The estate.
  public var estateID: String
  /// The epoch.
  public var epoch: UInt64
  /// How many shares open it.
  public var threshold: Int64
  /// The Estate Key, wrapped to the owner's devices.
  public var ownerWraps: [WrapEnvelope]
  /// The shares, in the order of their indexes.
  public var custodianShares: [HolderShare]
  /// SHA-256 of the Estate Key.
  public var estateKeyCommitment: [UInt8]

  /// All members at once.
  public init(
    estateID: String, epoch: UInt64, threshold: Int64, ownerWraps: [WrapEnvelope], custodianShares: [HolderShare],
    estateKeyCommitment: [UInt8]
  ) {
    self.estateID = estateID
    self.epoch = epoch
    self.threshold = threshold
    self.ownerWraps = ownerWraps
    self.custodianShares = custodianShares
    self.estateKeyCommitment = estateKeyCommitment
  }

  public init(json: JSONValue) throws(FormatError) {
    let m = try MemberReader(json, Self.shapeName)
    estateID = try m.string("estateID")
    epoch = try m.unsigned("epoch")
    threshold = try m.int("threshold")
    ownerWraps = try m.list("ownerWraps")
    custodianShares = try m.list("custodianShares")
    estateKeyCommitment = try m.base64("estateKeyCommitment")
  }

  public var json: JSONValue {
    .object([
      ("estateID", .string(estateID)), ("epoch", .int(epoch)), ("threshold", .int(threshold)),
      ("ownerWraps", .array(ownerWraps.map(\.json))), ("custodianShares", .array(custodianShares.map(\.json))),
      ("estateKeyCommitment", .base64(estateKeyCommitment)),
    ])
  }

  /// Reads a blob that must be exactly what the owner signed.
  ///
  /// Seal's app compares the digest, the share commitments and the key commitment; this compares holders, indexes,
  /// estate, epoch and threshold too.
  /// - Throws: ``ShareError/materialMismatch(what:)``.
  public init(
    blob: [UInt8], statement: EpochPublishedPayload, estateID: String
  ) throws(ShareError) {
    guard SHA256.hash(blob) == statement.materialDigest else {
      throw .materialMismatch(what: "its digest differs")
    }
    let material: EpochMaterial
    do { material = try EpochMaterial(parsing: blob) } catch {
      throw .materialMismatch(what: "it does not read. \(error.message)")
    }
    if let problem = material.problems(statement: statement, estateID: estateID).first {
      throw .materialMismatch(what: problem)
    }
    self = material
  }

  /// Everything in which the material differs from the signed statement, its digest aside.
  public func problems(statement: EpochPublishedPayload, estateID: String) -> [String] {
    var out: [String] = []
    if !sameText(self.estateID, estateID) { out.append("it is of another estate") }
    if epoch != statement.epoch { out.append("it is of another epoch") }
    if threshold != statement.threshold { out.append("its threshold differs") }
    if estateKeyCommitment != statement.estateKeyCommitment { out.append("its key commitment differs") }
    if custodianShares.map(\.commitment) != statement.shareCommitments { out.append("its share commitments differ") }
    if custodianShares.map(\.custodianHash) != statement.custodianHashes { out.append("its key holders differ") }
    if custodianShares.enumerated().contains(where: { $0.element.shareIndex != UInt64($0.offset) + 1 }) {
      out.append("its shares are not numbered from 1 in order")
    }
    return out
  }

  /// Opens the share of one holder with one private bundle, and checks it against the commitment: a share that is not
  /// the one the owner issued would poison the claim for good.
  ///
  /// - Throws: ``ShareError``: `notMyShare`, `noShare`, `badShare`, or `mlkemUnavailable` when the only envelope that
  ///   could be ours is hybrid and this libcrypto cannot open it.
  public func openShare(
    of holder: String, with bundle: borrowing PrivateBundle
  ) throws(ShareError) -> EstateShare {
    guard let slot = custodianShares.first(where: { $0.custodianHash == holder }) else { throw .notMyShare }
    let aad = SealAAD.share(estateID: estateID, epoch: epoch, index: slot.shareIndex)
    var needsMLKEM = false
    for envelope in slot.envelopes {
      let plaintext: SecretBytes
      do { plaintext = try Wrap.open(envelope, with: bundle, authenticating: aad) } catch {
        if error == .mlkemUnavailable { needsMLKEM = true }
        continue
      }
      return try EstateShare(plaintext, holder: holder, index: slot.shareIndex, commitment: slot.commitment)
    }
    throw needsMLKEM ? .wrap(.mlkemUnavailable) : .noShare
  }
}

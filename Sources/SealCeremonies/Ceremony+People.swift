// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// Acts between two people who are in one room.
extension Ceremony {
  /// A meeting: the friend's touch, and the word of the device in the other direction.
  public struct Meeting: Sendable {
    /// What the friend signed.
    public let attestation: FriendshipAttestation
    /// The friendship to be stored.
    public let friendship: Friendship
    /// What this device signed.
    public let handshake: ForgeHandshake
    /// The touch.
    public let signed: Signed
  }

  /// `friend` taps on the computer of `owner`: they met. One touch, by the friend's key.
  ///
  /// - Parameter device: a device of the owner's, which signs the other direction.
  public func meet(
    _ friend: DirectoryRecord, on owner: DirectoryRecord, device: borrowing PrivateHalves, at time: SealDate
  ) async throws -> Meeting {
    guard friend.rootHash != owner.rootHash else { throw CeremonyError.samePerson }
    let verifiedOwner = try Self.verified(owner)
    try Self.checkSpeaks(device.devicePublicKey, for: verifiedOwner)
    let nonce = Random.bytes(32)
    let reverse = Statement.forgeReverse(senderHash: owner.rootHash, recipientHash: friend.rootHash, nonce: nonce)
    let handshake = ForgeHandshake(
      senderHash: owner.rootHash, recipientHash: friend.rootHash, senderDevicePublicKey: device.devicePublicKey,
      nonce: nonce, signature: try device.signature(for: reverse.commitment().digest), forgedAt: time)
    // Before the friend is asked.
    try Self.demand(handshake.verify(sender: verifiedOwner))
    let signed = try await sign(
      .friend(myHash: owner.rootHash, theirHash: friend.rootHash, nonce: nonce), as: friend)
    let attestation = FriendshipAttestation(nonce: nonce, timestamp: time, assertion: signed.assertion)
    return Meeting(
      attestation: attestation,
      friendship: Friendship(friendRootID: friend.rootHash, attestation: attestation, forgedAt: time),
      handshake: handshake, signed: signed)
  }

  /// Something changes hands: the receiver taps on the giver's computer, and the giver's device signs the same. One
  /// touch, by the receiver's key.
  ///
  /// - Parameters:
  ///   - item: what changes hands.
  ///   - photo: the bytes of a picture of it.
  ///   - time: seconds since 1970.
  public func receipt(
    from giver: DirectoryRecord, device: borrowing PrivateHalves, to receiver: DirectoryRecord, item: String,
    photo: [UInt8]? = nil, at time: Int64
  ) async throws -> (receipt: CustodyReceipt, signed: Signed) {
    guard giver.rootHash != receiver.rootHash else { throw CeremonyError.samePerson }
    let terms = ReceiptTerms(
      receiptID: UUIDText.random(), giverHash: giver.rootHash, receiverHash: receiver.rootHash, itemDescription: item,
      photoSHA256: photo.map { SHA256.hash($0) }, signedAtEpoch: time, nonce: Random.bytes(32))
    let statement = Statement.receipt(terms)
    let verifiedGiver = try Self.verified(giver)
    try Self.checkSpeaks(device.devicePublicKey, for: verifiedGiver)
    let signed = try await sign(statement, as: receiver)
    let receipt = CustodyReceipt(
      terms: terms, giverName: giver.displayName, receiverName: receiver.displayName,
      receiverAssertion: signed.assertion, giverSignature: try device.signature(for: statement.commitment().digest),
      giverDevicePublicKey: device.devicePublicKey)
    try Self.demand(
      receipt.verify(giver: verifiedGiver, receiver: try Self.verified(receiver), photo: photo).report)
    return (receipt, signed)
  }

  private static func verified(_ record: DirectoryRecord) throws(CeremonyError) -> VerifiedIdentity {
    do { return try VerifiedIdentity(record: record) } catch { throw .badRootKey }
  }

  /// Whoever touches a key for a device that does not count has touched it for nothing.
  private static func checkSpeaks(_ device: [UInt8], for person: VerifiedIdentity) throws(CeremonyError) {
    guard person.device(device) == nil else { return }
    let isRevoked = person.revokedDevices.contains { $0.publicKey == device }
    throw .deviceNotEndorsed(name: person.displayName, isRevoked: isRevoked)
  }

  /// What was made is checked as anybody else would.
  private static func demand(_ report: VerificationReport) throws(CeremonyError) {
    guard let problem = report.failures.first else { return }
    throw .ownResultBad(name: problem.name, problem.explanation)
  }
}

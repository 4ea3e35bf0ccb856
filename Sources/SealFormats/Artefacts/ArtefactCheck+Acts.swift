// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// What people do: tap, meet, hand something over, write into an estate's record.
extension ArtefactCheck {
  mutating func assertion() throws(FormatError) {
    let assertion: StoredAssertion = try artefact.shape(.assertion)
    if let challenge = context.challenge {
      try bareAssertion(assertion, challenge)
    } else if let statement = evidence?.statement {
      tap(assertion, statement)
      let signer = context.rootHash ?? RootIdentity.rootHash(of: assertion.credentialID)
      if let tapper = statement.tapperHash, tapper != signer {
        report.add(EvidenceFault.statementDiffers, "assertion")
      }
    } else {
      report.add(
        .bad, "statementMissing", "assertion",
        "The file does not say what the key touched for: give the public key and the challenge.")
    }
  }

  /// Under the challenge that the person gave.
  private mutating func bareAssertion(_ assertion: StoredAssertion, _ challenge: [UInt8]) throws(FormatError) {
    guard let key = rootKey(credentialID: assertion.credentialID) else { return }
    report.append(
      assertion.verify(
        publicKey: key, challenge: challenge, relyingPartyID: context.relyingPartyID, origins: context.origins))
    let root = context.rootHash ?? RootIdentity.rootHash(of: assertion.credentialID)
    var signed = Signed(rootPublicKey: key, rootHash: root, credentialID: assertion.credentialID, statements: [])
    if let statement = evidence?.statement, (try? statement.commitment())?.digest == challenge {
      signed.statements = [statement]
    }
    compare(signed, "assertion")
    if context.directory[root] == nil, context.rootHash == nil, evidence?.credentialID == nil {
      report.add(
        .note, "notCovered", "assertion",
        "Not covered by any signature: the credential ID. Nothing known here says whose it is.")
    }
  }

  mutating func friendship() throws(FormatError) {
    let friendship: Friendship = try artefact.shape(.friendship)
    try self.friendship(try friendship.attestation(), tapper: friendship.friendRootID)
    if friendship.reverseAttestationJSON != nil {
      report.add(
        .note, "notChecked", "friendship",
        "The word of the other direction in it was not checked: only the phone that it is for knows what it is.")
    }
  }

  mutating func friendship(_ attestation: FriendshipAttestation, tapper: String?) throws(FormatError) {
    let tapper = tapper ?? RootIdentity.rootHash(of: attestation.assertion.credentialID)
    guard let owner = context.rootHash ?? evidence?.statement?.phoneOwnerHash else {
      report.add(.bad, "identityMissing", "friendship", "The file does not say on whose phone they met.")
      return
    }
    tap(attestation.assertion, attestation.statement(owner: owner, tapper: tapper), hash: tapper)
  }

  mutating func handshake() throws(FormatError) {
    let handshake: ForgeHandshake = try artefact.shape(.forgeHandshake)
    guard let sender = known(handshake.senderHash) else { return }
    report.append(handshake.verify(sender: sender))
    compare(
      Signed(
        rootPublicKey: sender.rootKey.rawRepresentation, rootHash: handshake.senderHash, credentialID: nil,
        statements: [handshake.statement]), "handshake")
  }

  private mutating func known(_ hash: String) -> VerifiedIdentity? {
    guard let record = context.directory[hash],
      let identity = try? VerifiedIdentity(record: record, relyingPartyID: context.relyingPartyID)
    else {
      report.add(.bad, "identityMissing", String(hash.prefix(8)), "This identity's record is not known here.")
      return nil
    }
    return identity
  }

  mutating func receipt() throws(FormatError) {
    let receipt: CustodyReceipt = try artefact.shape(.receipt)
    let giver = known(receipt.terms.giverHash)
    let receiver = known(receipt.terms.receiverHash)
    report.append(
      receipt.verify(giver: giver, receiver: receiver, relyingPartyID: context.relyingPartyID).report)
    demandSigner(receipt.receiverAssertion, receipt.terms.receiverHash, "receipt")
    compare(
      Signed(
        rootPublicKey: receiver?.rootKey.rawRepresentation, rootHash: receipt.terms.receiverHash,
        credentialID: receipt.receiverAssertion.credentialID, statements: [.receipt(receipt.terms)],
        cosignerHash: receipt.terms.giverHash), "receipt")
  }

  mutating func event() throws(FormatError) {
    let event: EstateEvent = try artefact.shape(.event)
    let subject = "\(event.plainKind) \(event.id.prefix(8))"
    if event.kind == nil {
      report.add(.bad, "unknownKind", subject, "Nobody knows events of this kind.")
    }
    if event.hasValidSignature {
      report.add(.good, "deviceSignature", subject, "The device that it names signed it.")
    } else {
      report.add(.bad, "signatureDoesNotMatch", subject, "The device that it names did not sign it.")
    }
    let record = context.directory[event.terms.actorHash]
    if let record, let actor = try? VerifiedIdentity(record: record, relyingPartyID: context.relyingPartyID) {
      if actor.device(event.terms.actorDevicePublicKey) != nil {
        report.add(.good, "device", subject, "The device is \(actor.displayName)'s.")
      } else {
        report.add(.bad, "deviceNotEndorsed", subject, "The device is none of \(actor.displayName)'s live devices.")
      }
    } else {
      report.add(
        .warning, "identityMissing", subject, "The actor's record is not known here, so the device is not checked.")
    }
    switch event.kind {
    case .authorization:
      let body = try AuthorizationPayload(parsing: event.terms.payload)
      tap(body.assertion, body.statement(estateID: event.terms.estateID), hash: event.terms.actorHash)
    case .custodyConfirmed:
      let body = try CustodyConfirmedPayload(parsing: event.terms.payload)
      tap(body.assertion, body.statement(estateID: event.terms.estateID), hash: event.terms.actorHash)
    default:
      // A device signed it, and no root touched for it.
      compare(
        Signed(
          rootPublicKey: record?.publicKey, rootHash: event.terms.actorHash, credentialID: record?.credentialID,
          statements: [.estateEvent(event.terms)]), subject)
    }
  }
}

extension Statement {
  /// The root that must have tapped, where the statement itself names it.
  fileprivate var tapperHash: String? {
    switch self {
    case .friend(_, let tapper, _): tapper
    case .receipt(let terms): terms.receiverHash
    default: nil
    }
  }

  /// On whose phone two people met.
  fileprivate var phoneOwnerHash: String? { if case .friend(let owner, _, _) = self { owner } else { nil } }
}

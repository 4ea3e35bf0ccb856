// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Testing
import WebAuthnCore

@testable import SealFormats

/// Files of every kind, each with everything beside it that can be.
struct EvidenceCases {
  /// A good file with everything beside it, and what is known when it is checked.
  struct Case {
    let artefact: Artefact
    let context: VerificationContext
    /// What a changed statement is called: a bare tap has no other word on what was signed.
    var changedStatement = "evidenceStatementDiffers"

    func names(_ change: (inout Evidence) -> Void = { _ in }) throws -> [String] {
      var evidence = try #require(artefact.evidence)
      change(&evidence)
      let changed = Artefact(artefact.kind, seal: artefact.seal, isSimulated: false, evidence: evidence)
      return try Artefact(parsing: changed.encoded()).verify(context).failures.map(\.name)
    }
  }

  let ann: TestPerson
  let ben: TestPerson

  init() throws {
    ann = try TestPerson("Ann")
    ben = try TestPerson("Ben")
  }

  private func registration(_ person: TestPerson, into evidence: inout Evidence) {
    let xy = person.root.publicKey
    let key = CBORValue.intMap([
      (1, .int(2)), (3, .int(-7)), (-1, .int(1)), (-2, .bytes(Array(xy[..<32]))), (-3, .bytes(Array(xy[32...]))),
    ])
    let id = person.root.id
    var data = SHA256.hash(Array(Seal.relyingPartyID.utf8))
    data += [0x41, 0, 0, 0, 1]
    data += Self.model
    data += [0, UInt8(id.count)] + id
    data += CBORValue.encode(key)
    let challenge = Random.bytes(32)
    evidence.attestationObject = AttestationObject.build(
      format: "none", statement: CBORValue.encode(.map([])), authenticatorData: data)
    evidence.registrationClientDataJSON =
      ClientData(type: .create, challenge: challenge, origin: Seal.origin).json
    evidence.registrationChallenge = challenge
  }

  private static let model = [UInt8](repeating: 7, count: 16)

  func evidence(_ person: TestPerson, _ statement: Statement?, registered: Bool = false) -> Evidence {
    var out = Evidence()
    out.rootPublicKey = person.root.publicKey
    out.credentialID = person.root.id
    out.statement = statement
    if registered { registration(person, into: &out) }
    let info = CBORValue.intMap([(1, .array([.text("FIDO_2_1")])), (3, .bytes(Self.model)), (0x0e, .unsigned(5))])
    out.key = KeyEvidence(
      isSimulated: false, name: "Test", transport: "hidraw", aaguid: Self.model, firmwareVersion: 5,
      getInfo: CBORValue.encode(info))
    return out
  }

  private func event(_ kind: EventKind, _ payload: [UInt8]) throws -> EstateEvent {
    try EventTerms(
      id: "E1", estateID: "S1", kind: kind.rawValue, actorHash: ann.hash, actorDevicePublicKey: ann.device.publicKey,
      occurredAtEpoch: 1_800_000_000, previousDigest: [], payload: payload
    ).signed { try ann.device.key.signature(for: $0) }
  }

  func all() throws -> [Case] {
    let record = try ann.record()
    let device = ann.device
    let endorsed = Statement.endorse(devicePublicKey: device.publicKey, kemBundle: device.bundle)
    let spare = try TestCredential()
    let revoked = Statement.revokeDevice(devicePublicKey: device.publicKey)
    let nonce = Random.bytes(32)
    let deleted = Statement.identityDelete(nonce: nonce)
    let head = Random.bytes(32)
    let tap = Statement.releaseAuthorize(estateID: "S1", epoch: 1, claimID: "C1", recordHeadDigest: head)
    let confirmed = Statement.custodyConfirm(estateID: "S1", epoch: 1, recordHeadDigest: head)
    let met = Statement.friend(myHash: ben.hash, theirHash: ann.hash, nonce: nonce)
    let attestation = FriendshipAttestation(
      nonce: nonce, timestamp: SealDate(epoch: 1), assertion: try ann.root.tap(met))
    let reverse = Statement.forgeReverse(senderHash: ann.hash, recipientHash: ben.hash, nonce: nonce)
    let terms = ReceiptTerms(
      receiptID: "R1", giverHash: ben.hash, receiverHash: ann.hash, itemDescription: "A key",
      photoSHA256: Random.bytes(32), signedAtEpoch: 1_800_000_000, nonce: nonce)
    let handed = Statement.receipt(terms)
    let heartbeat = try event(.heartbeat, [])
    let known = [ann.hash: record, ben.hash: try ben.record()]
    let context = VerificationContext(directory: known, rootHash: ann.hash)
    func made(_ kind: ArtefactKind, _ shape: some SealShape, _ statement: Statement?, registered: Bool = false) -> Case
    {
      Case(
        artefact: Artefact(
          kind, shape, isSimulated: false, evidence: evidence(ann, statement, registered: registered)),
        context: context)
    }
    var friend = made(
      .friendship, Friendship(friendRootID: ann.hash, attestation: attestation, forgedAt: SealDate(epoch: 1)), met)
    friend = Case(
      artefact: friend.artefact, context: VerificationContext(directory: known, rootHash: ben.hash))
    let meeting = Case(
      artefact: Artefact(.friendshipAttestation, attestation, isSimulated: false, evidence: evidence(ann, met)),
      context: friend.context)
    var bare = made(.assertion, try ann.root.tap(tap), tap, registered: true)
    bare.changedStatement = "challengeMismatch"
    return [
      made(.identity, ann.identity, nil, registered: true), made(.identityRecord, record, endorsed, registered: true),
      made(.capsuleIdentity, CapsuleIdentity(record), endorsed, registered: true),
      made(.endorsement, record.deviceEndorsements[0], endorsed, registered: true), bare,
      made(
        .backup, try ann.backup(spare), .backup(credentialID: spare.id, publicKey: spare.publicKey), registered: true),
      made(.revocation, try ann.revoke(device.publicKey), revoked, registered: true),
      made(.deleteMarker, TombstoneProof(nonce: nonce, assertion: try ann.root.tap(deleted)), deleted), friend, meeting,
      made(
        .forgeHandshake,
        ForgeHandshake(
          senderHash: ann.hash, recipientHash: ben.hash, senderDevicePublicKey: device.publicKey, nonce: nonce,
          signature: try device.key.signature(for: reverse.commitment().digest), forgedAt: SealDate(epoch: 1)), reverse),
      made(
        .receipt,
        CustodyReceipt(
          terms: terms, giverName: "Ben", receiverName: "Ann", receiverAssertion: try ann.root.tap(handed),
          giverSignature: try ben.device.key.signature(for: handed.commitment().digest),
          giverDevicePublicKey: ben.device.publicKey), handed),
      made(
        .event,
        try event(
          .authorization,
          AuthorizationPayload(
            claimID: "C1", epoch: 1, recordHeadDigest: head, assertion: try ann.root.tap(tap), shareForClaimant: []
          ).encoded()), tap),
      made(
        .event,
        try event(
          .custodyConfirmed,
          CustodyConfirmedPayload(epoch: 1, recordHeadDigest: head, assertion: try ann.root.tap(confirmed)).encoded()),
        confirmed),
      made(.event, heartbeat, .estateEvent(heartbeat.terms)),
    ]
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// What is known besides the file, when a file is verified.
public struct VerificationContext: Sendable {
  /// Identity records known here, by root hash: pinned, imported, or given.
  public var directory: [String: DirectoryRecord]
  /// A root key that the person gave, 64 bytes. It wins over everything.
  public var rootPublicKey: [UInt8]?
  /// The root hash of the person that the file is about, where the file cannot say (a friendship's phone owner, a
  /// revocation's root).
  public var rootHash: String?
  /// Origins that may answer; nil leaves them unchecked, as Seal does.
  public var origins: Set<String>?
  /// The relying party.
  public var relyingPartyID = Seal.relyingPartyID

  /// Nothing is known.
  public init(
    directory: [String: DirectoryRecord] = [:], rootPublicKey: [UInt8]? = nil, rootHash: String? = nil,
    origins: Set<String>? = nil
  ) {
    self.directory = directory
    self.rootPublicKey = rootPublicKey
    self.rootHash = rootHash
    self.origins = origins
  }
}

extension Artefact {
  /// Checks whatever the file holds, one line a check.
  ///
  /// A capsule is not checked here: see the capsule verifier.
  /// - Throws: ``FormatError`` when the file cannot be read as what it says it is.
  public func verify(_ context: VerificationContext = VerificationContext()) throws(FormatError) -> VerificationReport {
    var run = ArtefactCheck(artefact: self, context: context)
    try run.run()
    return run.report
  }
}

/// One verification of one file.
private struct ArtefactCheck {
  let artefact: Artefact
  let context: VerificationContext
  var report = VerificationReport()

  private var evidence: Evidence? { artefact.evidence }

  mutating func run() throws(FormatError) {
    if artefact.isSimulated {
      report.add(.warning, "simulated", artefact.kind.rawValue, "A virtual key had a part in this file.")
    }
    switch artefact.kind {
    case .identity: try identity()
    case .identityRecord:
      let record: DirectoryRecord = try artefact.shape(.identityRecord)
      try check(record)
      registration(publicKey: record.publicKey, credentialID: record.credentialID)
    case .endorsement: try endorsement()
    case .assertion: try assertion()
    case .backup: try backup()
    case .revocation: try revocation()
    case .friendshipAttestation: try friendship(try artefact.shape(.friendshipAttestation), tapper: nil)
    case .friendship:
      let friendship: Friendship = try artefact.shape(.friendship)
      try self.friendship(try friendship.attestation(), tapper: friendship.friendRootID)
    case .forgeHandshake: try handshake()
    case .deleteMarker: try deleteMarker()
    case .receipt: try receipt()
    case .event: try event()
    case .capsuleIdentity:
      let identity: CapsuleIdentity = try artefact.shape(.capsuleIdentity)
      do { report.append(try VerifiedIdentity(capsule: identity, relyingPartyID: context.relyingPartyID).report) } catch
      {
        report.add(error, identity.displayName, "The root key:")
      }
    case .capsule: throw .unexpectedKind(found: "capsule", wanted: "artefact")
    }
  }

  /// The root key to check under: given, known here, or beside the file.
  private mutating func rootKey(hash: String? = nil, credentialID: [UInt8]? = nil) -> [UInt8]? {
    if let given = context.rootPublicKey { return given }
    let hash = hash ?? context.rootHash ?? credentialID.map { RootIdentity.rootHash(of: $0) }
    if let hash, let known = context.directory[hash] { return known.publicKey }
    if let beside = evidence?.rootPublicKey {
      report.add(
        .warning, "keyUnproven", artefact.kind.rawValue,
        "The root key comes from the file itself, so this does not show whose key it is.")
      return beside
    }
    report.add(
      .bad, "identityMissing", artefact.kind.rawValue,
      "The root key is not known here: give it, or import the identity record.")
    return nil
  }

  private mutating func tap(_ assertion: StoredAssertion, _ statement: Statement, hash: String? = nil) {
    guard let key = rootKey(hash: hash, credentialID: assertion.credentialID) else { return }
    report.append(
      assertion.verify(
        publicKey: key, statement: statement, relyingPartyID: context.relyingPartyID, origins: context.origins))
  }

  private mutating func identity() throws(FormatError) {
    let identity: RootIdentity = try artefact.shape(.identity)
    let subject = identity.displayName
    if let raw = identity.rawCredentialID, RootIdentity.rootHash(of: raw) != identity.credentialIDHash {
      report.add(.bad, "unprovenIdentityRecord", subject, "The root hash is not the hash of the credential ID.")
    }
    do {
      let authorities = try AuthoritySet(
        rootHash: identity.credentialIDHash, publicKey: identity.publicKey,
        credentialID: identity.rawCredentialID, backups: identity.backupCredentials ?? [],
        relyingPartyID: context.relyingPartyID)
      report.add(.good, "rootKey", subject, "The root key is a valid point of the curve.")
      report.append(authorities.report)
    } catch { report.add(error, subject, "The root key:") }
    registration(publicKey: identity.publicKey, credentialID: identity.rawCredentialID)
  }

  /// The registration beside an identity: Seal never checks any of it, so it can only strengthen.
  private mutating func registration(publicKey: [UInt8], credentialID: [UInt8]?) {
    guard let object = evidence?.attestationObject, let clientData = evidence?.registrationClientDataJSON,
      let challenge = evidence?.registrationChallenge
    else { return }
    let verifier = RegistrationVerifier(
      rpID: context.relyingPartyID, challenge: challenge, origins: context.origins ?? [Seal.origin])
    do {
      let made = try verifier.verify(
        attestationObject: object, clientDataJSON: clientData, credentialID: credentialID)
      guard case .es256(let key) = made.publicKey, key.rawRepresentation == publicKey else {
        report.add(.bad, "publicKeyChanged", "registration", "The registration is of another key.")
        return
      }
      report.add(.good, "registration", "registration", "The key made this credential for Seal, and it was touched.")
    } catch { report.add(error, "registration") }
  }

  private mutating func check(_ record: DirectoryRecord) throws(FormatError) {
    if record.tier == Tier.deleted.rawValue {
      if let proof = record.tombstone {
        report.append(proof.verify(rootHash: record.rootHash, publicKey: record.publicKey))
      }
      report.add(.warning, "identityDeleted", record.displayName, "The identity was deleted for good.")
      return
    }
    do {
      let verified = try VerifiedIdentity(record: record, relyingPartyID: context.relyingPartyID)
      report.append(verified.report)
      for endorsement in record.deviceEndorsements {
        lock(of: endorsement, "device \(Hex.encode(endorsement.devicePublicKey.dropFirst().prefix(4)))")
      }
      if record.deviceEndorsements.isEmpty {
        report.add(.warning, "noDevices", record.displayName, "No device has been endorsed yet.")
      } else if !verified.report.checks.contains(where: { $0.name == "endorsement" || $0.name == "deviceRevoked" }) {
        report.add(
          .bad, "unprovenIdentityRecord", record.displayName,
          "The record holds no endorsement signed by its own key, so anybody could have written it.")
      }
    } catch { report.add(error, record.displayName, "The root key:") }
  }

  private mutating func endorsement() throws(FormatError) {
    let endorsement: DeviceEndorsement = try artefact.shape(.endorsement)
    let assertion = try endorsement.assertion()
    guard let key = rootKey(credentialID: assertion.credentialID) else { return }
    let hash = context.rootHash ?? RootIdentity.rootHash(of: assertion.credentialID)
    let known = context.directory[hash]
    let subject = "device \(Hex.encode(endorsement.devicePublicKey.dropFirst().prefix(4)))"
    do {
      let authorities = try AuthoritySet(
        rootHash: hash, publicKey: key, backups: known?.backups ?? [], revocations: known?.revocations ?? [],
        relyingPartyID: context.relyingPartyID)
      let endorsed = try authorities.check(endorsement, relyingPartyID: context.relyingPartyID)
      report.add(
        .good, "endorsement", subject,
        endorsed.authority.role == .root ? "The root endorsed it." : "A live backup endorsed it.")
      beside(endorsement, endorsed, subject, credentialID: assertion.credentialID)
      if authorities.revoked.contains(endorsement.devicePublicKey) {
        report.add(.bad, "deviceRevoked", subject, "The root has revoked this device.")
      }
    } catch let error as EndorsementFailure {
      report.add(error, subject)
    } catch let error as CryptoError {
      report.add(error, subject, "The root key:")
    } catch {
      report.add(.bad, "unexpected", subject, "\(error)")
    }
    if (try? KEMBundle(parsing: endorsement.kemBundlePublicKeys)) == nil {
      report.add(.warning, "notWrappable", subject, "Nothing can be wrapped to it: its key bundle does not parse.")
    }
    lock(of: endorsement, subject)
  }

  /// What stands beside an endorsement is unsigned, and must say the same as what is signed.
  private mutating func beside(
    _ endorsement: DeviceEndorsement, _ endorsed: AuthoritySet.Endorsed, _ subject: String, credentialID: [UInt8]
  ) {
    if let statement = evidence?.statement {
      let (key, bundle) = (endorsement.devicePublicKey, endorsement.kemBundlePublicKeys)
      let meant =
        endorsed.isV2
        ? Statement.endorseV2(devicePublicKey: key, kemBundle: bundle)
        : Statement.endorse(devicePublicKey: key, kemBundle: bundle)
      if statement != meant {
        report.add(.bad, "challengeMismatch", subject, "The statement beside it is not what the key signed.")
      }
    }
    if endorsed.authority.role == .root, let named = evidence?.credentialID, named != credentialID {
      report.add(
        .bad, "unexpectedCredential", subject, "The credential ID beside it is not that of the key that signed.")
    }
  }

  /// The lock is unsigned, and nothing but the key can try it.
  private mutating func lock(of endorsement: DeviceEndorsement, _ subject: String) {
    guard endorsement.isSponsored else { return }
    report.add(
      .note, "lockNotTried", subject, "Whether its lock opens, only the key itself can show: sealkey unlock FILE")
  }

  private mutating func assertion() throws(FormatError) {
    let assertion: StoredAssertion = try artefact.shape(.assertion)
    guard let statement = evidence?.statement else {
      report.add(
        .bad, "statementMissing", "assertion",
        "The file does not say what the key touched for: give the public key and the challenge.")
      return
    }
    tap(assertion, statement)
  }

  private mutating func backup() throws(FormatError) {
    let backup: BackupCredential = try artefact.shape(.backup)
    guard let root = context.rootHash ?? evidence?.credentialID.map({ RootIdentity.rootHash(of: $0) }),
      let key = rootKey(hash: root)
    else {
      report.add(.bad, "identityMissing", backup.label, "It is not known here whose backup this is.")
      return
    }
    do {
      report.append(
        try AuthoritySet(
          rootHash: root, publicKey: key, backups: [backup],
          revocations: context.directory[root]?.revocations ?? [], relyingPartyID: context.relyingPartyID
        ).report)
    } catch { report.add(error, backup.label, "The root key:") }
  }

  private mutating func revocation() throws(FormatError) {
    let revocation: DeviceRevocation = try artefact.shape(.revocation)
    tap(try revocation.assertion(), revocation.statement)
  }

  private mutating func friendship(_ attestation: FriendshipAttestation, tapper: String?) throws(FormatError) {
    let tapper = tapper ?? RootIdentity.rootHash(of: attestation.assertion.credentialID)
    guard let owner = context.rootHash ?? owner(of: evidence?.statement) else {
      report.add(.bad, "identityMissing", "friendship", "The file does not say on whose phone they met.")
      return
    }
    tap(attestation.assertion, attestation.statement(owner: owner, tapper: tapper), hash: tapper)
  }

  private func owner(of statement: Statement?) -> String? {
    if case .friend(let owner, _, _) = statement { owner } else { nil }
  }

  private mutating func handshake() throws(FormatError) {
    let handshake: ForgeHandshake = try artefact.shape(.forgeHandshake)
    guard let sender = known(handshake.senderHash) else { return }
    report.append(handshake.verify(sender: sender))
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

  private mutating func deleteMarker() throws(FormatError) {
    let proof: TombstoneProof = try artefact.shape(.deleteMarker)
    guard let key = rootKey(credentialID: proof.assertion.credentialID) else { return }
    let hash = context.rootHash ?? RootIdentity.rootHash(of: proof.assertion.credentialID)
    report.append(proof.verify(rootHash: hash, publicKey: key, relyingPartyID: context.relyingPartyID))
  }

  private mutating func receipt() throws(FormatError) {
    let receipt: CustodyReceipt = try artefact.shape(.receipt)
    let giver = known(receipt.terms.giverHash)
    let receiver = known(receipt.terms.receiverHash)
    report.append(
      receipt.verify(giver: giver, receiver: receiver, relyingPartyID: context.relyingPartyID).report)
  }

  private mutating func event() throws(FormatError) {
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
    if let record = context.directory[event.terms.actorHash],
      let actor = try? VerifiedIdentity(record: record, relyingPartyID: context.relyingPartyID)
    {
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
    default: break
    }
  }
}

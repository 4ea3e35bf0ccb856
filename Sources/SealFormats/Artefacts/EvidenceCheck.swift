// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// How what stands beside Seal's own JSON contradicts it. Seal reads none of it, but people do.
public enum EvidenceFault: NamedError, Hashable {
  /// `rootPublicKeyHex` is not the key that signed, or that the identity names.
  case rootKeyDiffers
  /// `credentialIDHex` is not the root's credential.
  case credentialDiffers
  /// `statement` is nothing that was signed in the file.
  case statementDiffers
  /// `attestationObjectHex` is a registration of another key.
  case registrationDiffers
  /// A part of a registration is there, and another is not.
  case registrationIncomplete(missing: String)
  /// `key.getInfoHex` does not read.
  case infoUnreadable
  /// `key.aaguidHex` is another model than the key's own answer says.
  case modelDiffers(from: String)
  /// `key.firmwareVersion` is another than the key's own answer says.
  case firmwareDiffers

  public var name: String {
    switch self {
    case .rootKeyDiffers: "evidenceRootKeyDiffers"
    case .credentialDiffers: "evidenceCredentialDiffers"
    case .statementDiffers: "evidenceStatementDiffers"
    case .registrationDiffers: "evidenceRegistrationDiffers"
    case .registrationIncomplete: "evidenceRegistrationIncomplete"
    case .infoUnreadable: "evidenceInfoUnreadable"
    case .modelDiffers: "evidenceModelDiffers"
    case .firmwareDiffers: "evidenceFirmwareDiffers"
    }
  }

  public var message: String {
    switch self {
    case .rootKeyDiffers:
      "The evidence contradicts the Seal part: 'rootPublicKeyHex' is not the root key that it was checked under."
    case .credentialDiffers:
      "The evidence contradicts the Seal part: 'credentialIDHex' is not the root's credential ID."
    case .statementDiffers: "The evidence contradicts the Seal part: 'statement' is not what was signed in it."
    case .registrationDiffers:
      "The evidence contradicts the Seal part: 'attestationObjectHex' is the registration of another key."
    case .registrationIncomplete(let missing):
      "The evidence holds a part of a registration, and lacks '\(missing)', so the registration cannot be checked."
    case .infoUnreadable: "The evidence contradicts itself: 'key.getInfoHex' is not what a key answers."
    case .modelDiffers(let other):
      "The evidence contradicts itself: 'key.aaguidHex' is another model than '\(other)' names."
    case .firmwareDiffers:
      "The evidence contradicts itself: 'key.firmwareVersion' is another than 'key.getInfoHex' names."
    }
  }

  public var next: String { "Do not use the file; get it again from whoever made it." }
}

extension ArtefactCheck {
  /// What the Seal part of a file says, for holding what stands beside it against.
  struct Signed {
    /// The root key that it was checked under, 64 bytes; nil when there is none.
    var rootPublicKey: [UInt8]?
    /// The root.
    var rootHash: String
    /// The root's raw credential ID, where the file or the directory has it.
    var credentialID: [UInt8]?
    /// Everything that is signed in it.
    var statements: [Statement]
    /// Another root that signed it too: the giver of a receipt.
    var cosignerHash: String?

    /// Every root that signed it.
    var signers: Set<String> { Set([rootHash, cosignerHash].compactMap { $0 }) }

    static func statements(endorsements: [DeviceEndorsement]) -> [Statement] {
      endorsements.flatMap { [$0.statement(isV2: false), $0.statement(isV2: true)] }
    }

    static func statements(backups: [BackupCredential], of root: String) -> [Statement] {
      backups.flatMap {
        [
          .backup(credentialID: $0.credentialID, publicKey: $0.publicKey),
          .backupAccept(rootIDHash: root, credentialID: $0.credentialID, publicKey: $0.publicKey),
        ]
      }
    }
  }

  /// One of those that the person named must have signed it, and every member of the evidence that can be told from the
  /// Seal part must say the same.
  mutating func compare(_ signed: Signed, _ subject: String) {
    demandNamed(signed, subject)
    tellDeleted(signed.signers)
    guard let evidence else { return }
    if let key = evidence.rootPublicKey, let held = signed.rootPublicKey, key != held {
      report.add(EvidenceFault.rootKeyDiffers, subject)
    }
    if let id = evidence.credentialID,
      RootIdentity.rootHash(of: id) != signed.rootHash || (signed.credentialID ?? id) != id
    {
      report.add(EvidenceFault.credentialDiffers, subject)
    }
    if let statement = evidence.statement, !signed.statements.contains(where: { $0.isSame(as: statement) }) {
      report.add(EvidenceFault.statementDiffers, subject)
    }
    registration(evidence, signed)
    keyFacts(evidence)
  }

  /// What was signed before an identity was deleted stays signed; whoever relies on it should know.
  private mutating func tellDeleted(_ signers: Set<String>) {
    guard artefact.kind != .deleteMarker, !report.checks.contains(where: { $0.name == "identityDeleted" }) else {
      return
    }
    for hash in signers.sorted() {
      guard let record = context.directory[hash], record.tier == Tier.deleted.rawValue else { continue }
      report.add(
        .warning, "identityDeleted", record.displayName, "As far as is known here, the identity was deleted for good.")
    }
  }

  /// The registration of the root: Seal never checks any of it, so it can only strengthen.
  private mutating func registration(_ evidence: Evidence, _ signed: Signed) {
    let parts = [
      ("attestationObjectHex", evidence.attestationObject),
      ("registrationClientDataHex", evidence.registrationClientDataJSON),
      ("registrationChallengeHex", evidence.registrationChallenge),
    ]
    guard parts.contains(where: { $0.1 != nil }) else { return }
    if let missing = parts.first(where: { $0.1 == nil }) {
      report.add(EvidenceFault.registrationIncomplete(missing: missing.0), "registration")
    }
    guard let object = evidence.attestationObject, let clientData = evidence.registrationClientDataJSON,
      let challenge = evidence.registrationChallenge
    else { return }
    let verifier = RegistrationVerifier(
      rpID: context.relyingPartyID, challenge: challenge, origins: context.origins ?? [Seal.origin])
    do {
      let made = try verifier.verify(
        attestationObject: object, clientDataJSON: clientData,
        credentialID: signed.credentialID ?? evidence.credentialID)
      guard case .es256(let key) = made.publicKey, key.rawRepresentation == signed.rootPublicKey,
        RootIdentity.rootHash(of: made.credentialID) == signed.rootHash
      else {
        report.add(EvidenceFault.registrationDiffers, "registration")
        return
      }
      report.add(.good, "registration", "registration", "The key made this credential for Seal, and it was touched.")
    } catch { report.add(error, "registration") }
    guard let parsed = try? AttestationObject(parsing: object) else { return }
    // The maker's word on the model: a broken one never fails a good key.
    for problem in AttestationVerifier().report(parsed, clientDataHash: SHA256.hash(clientData)).problems {
      report.add(.warning, problem.name, "attestation", "\(problem.message) \(problem.next)")
    }
  }

  /// What answered said what it is more than once.
  private mutating func keyFacts(_ evidence: Evidence) {
    guard let key = evidence.key else { return }
    if let bytes = key.getInfo {
      if let info = try? CBORDecoder.decodeAll(bytes), info.map != nil {
        if let said = info[3]?.bytes, let model = key.aaguid, said != model {
          report.add(EvidenceFault.modelDiffers(from: "key.getInfoHex"), "key")
        }
        if let said = info[0x0e]?.unsigned, let version = key.firmwareVersion, said != version {
          report.add(EvidenceFault.firmwareDiffers, "key")
        }
      } else {
        report.add(EvidenceFault.infoUnreadable, "key")
      }
    }
    // A key that answers in U2F's form, or a client that hides the model, leaves it zero in the registration.
    if let bytes = evidence.attestationObject, let model = key.aaguid,
      let said = (try? AttestationObject(parsing: bytes))?.authenticatorData.attestedCredentialData?.aaguid,
      said != model, said.contains(where: { $0 != 0 })
    {
      report.add(EvidenceFault.modelDiffers(from: "attestationObjectHex"), "key")
    }
  }
}

extension DeviceEndorsement {
  /// What its signer has signed, in the new or the old form.
  func statement(isV2: Bool) -> Statement {
    isV2
      ? .endorseV2(devicePublicKey: devicePublicKey, kemBundle: kemBundlePublicKeys)
      : .endorse(devicePublicKey: devicePublicKey, kemBundle: kemBundlePublicKeys)
  }
}

extension Statement {
  /// Byte for byte: Swift takes some texts of different bytes for equal, and a hash does not.
  func isSame(as other: Statement) -> Bool { JSONWriter.write(json) == JSONWriter.write(other.json) }
}

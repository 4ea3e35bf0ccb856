// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealFormats
import WebAuthnCore

/// Results as files: Seal's own JSON with the evidence beside it.
extension Ceremony.Registered {
  /// The identity record as a file.
  public var artefact: Artefact {
    var evidence = Evidence()
    evidence.rootPublicKey = record.publicKey
    evidence.credentialID = record.credentialID
    evidence.attestationObject = response.attestationObject
    evidence.registrationClientDataJSON = response.clientDataJSON
    evidence.registrationChallenge = challenge
    evidence.key = response.evidence
    return Artefact(.identityRecord, record, isSimulated: response.evidence.isSimulated, evidence: evidence)
  }
}

extension Ceremony.Signed {
  /// What stands beside anything this tap is part of.
  public func evidence(for record: DirectoryRecord) -> Evidence {
    var evidence = Evidence()
    evidence.rootPublicKey = record.publicKey
    evidence.credentialID = record.credentialID
    evidence.statement = statement
    evidence.key = self.evidence
    return evidence
  }

  /// The bare stored assertion as a file.
  public func artefact(for record: DirectoryRecord, isSimulated: Bool) -> Artefact {
    Artefact(
      .assertion, assertion, isSimulated: isSimulated || evidence.isSimulated, evidence: evidence(for: record))
  }

  /// An endorsement that this tap made, as a file.
  public func artefact(_ endorsement: DeviceEndorsement, for record: DirectoryRecord, isSimulated: Bool) -> Artefact {
    Artefact(
      .endorsement, endorsement, isSimulated: isSimulated || evidence.isSimulated, evidence: evidence(for: record))
  }
}

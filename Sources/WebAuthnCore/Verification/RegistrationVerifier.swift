// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Decides whether a registration is an answer to a given request (WebAuthn level 3 section 7.1). Whether the
/// attestation statement is good is another question, with an answer of its own.
public struct RegistrationVerifier: Sendable {
  /// SHA-256 of the relying party ID, 32 bytes.
  public var rpIdHash: [UInt8]
  /// The challenge that was sent.
  public var challenge: [UInt8]
  /// The origins that may answer; nil leaves the origin unchecked.
  public var origins: Set<String>?
  /// Whether the ceremony may run inside another site's page; looked at only when ``origins`` is given.
  public var embedding: Embedding = .refused
  /// Whether UV must be set.
  public var requiresUserVerification: Bool
  /// The algorithms that were asked for.
  public var algorithms: Set<COSEAlgorithm>

  /// What to expect of a registration.
  public init(
    rpID: String, challenge: [UInt8], origins: Set<String>? = nil, requiresUserVerification: Bool = false,
    algorithms: Set<COSEAlgorithm> = [.es256]
  ) {
    rpIdHash = SHA256.hash(Array(rpID.utf8))
    self.challenge = challenge
    self.origins = origins
    self.requiresUserVerification = requiresUserVerification
    self.algorithms = algorithms
  }

  /// A registration that passed.
  public struct Verified: Sendable {
    /// The credential ID.
    public let credentialID: [UInt8]
    /// Its public key.
    public let publicKey: CredentialPublicKey
    /// The attestation object, parsed.
    public let attestationObject: AttestationObject

    /// The flags.
    public var flags: AuthenticatorFlags { attestationObject.authenticatorData.flags }
    /// The counter.
    public var signCount: UInt32 { attestationObject.authenticatorData.signCount }
  }

  /// Checks the registration. `credentialID` is what the client reported; nil when it reported none.
  /// - Throws: ``VerificationFailure`` with every reason.
  public func verify(
    attestationObject: [UInt8], clientDataJSON: [UInt8], credentialID: [UInt8]?
  ) throws(VerificationFailure) -> Verified {
    var problems = clientDataProblems(
      clientDataJSON, type: .create, challenge: challenge, origins: origins, embedding: embedding)
    var verified: Verified?
    do {
      let object = try AttestationObject(parsing: attestationObject)
      problems += flagProblems(
        object.authenticatorData, rpIdHash: rpIdHash, requiresUserVerification: requiresUserVerification)
      if let attested = object.authenticatorData.attestedCredentialData {
        if let credentialID, credentialID != attested.credentialID { problems.append(.credentialIDMismatch) }
        do {
          let key = try CredentialPublicKey(cose: attested.publicKeyItem)
          if !algorithms.contains(key.algorithm) { problems.append(.algorithmNotRequested(key.algorithm)) }
          verified = Verified(credentialID: attested.credentialID, publicKey: key, attestationObject: object)
        } catch { problems.append(.publicKey(error)) }
      }
    } catch { problems.append(.attestationObject(error)) }
    if let failure = VerificationFailure(problems) { throw failure }
    guard let verified else {
      // Unreachable by the parser's contract; refused rather than trusted.
      throw VerificationFailure(attestationObjectWithoutCredential: ())
    }
    return verified
  }
}

extension VerificationFailure {
  fileprivate init(attestationObjectWithoutCredential: Void) {
    let problem = VerificationProblem.attestationObject(.noAttestedCredential)
    problems = [problem]
    first = problem
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Decides whether an assertion is a tap by a given key on a given challenge (WebAuthn level 3 section 7.2; Seal's
/// rules in FORMATS.md 5a, and stricter where named).
public struct AssertionVerifier: Sendable {
  /// SHA-256 of the relying party ID, 32 bytes.
  public var rpIdHash: [UInt8]
  /// The challenge that was sent.
  public var challenge: [UInt8]
  /// The origins that may answer; nil leaves the origin unchecked, as Seal does.
  public var origins: Set<String>?
  /// Whether the ceremony may run inside another site's page; looked at only when ``origins`` is given.
  public var embedding: Embedding = .refused
  /// Whether UV must be set.
  public var requiresUserVerification: Bool
  /// BE at registration, when it is known.
  public var backupEligibleAtRegistration: Bool?
  /// The credential IDs that were asked; nil or empty for any.
  public var allowList: [[UInt8]]?
  /// The last counter seen, when it is known; 0 means the key has none.
  public var lastSignCount: UInt32?

  /// What to expect of an assertion.
  public init(
    rpID: String, challenge: [UInt8], origins: Set<String>? = nil, requiresUserVerification: Bool = false,
    backupEligibleAtRegistration: Bool? = nil, lastSignCount: UInt32? = nil
  ) {
    rpIdHash = SHA256.hash(Array(rpID.utf8))
    self.challenge = challenge
    self.origins = origins
    self.requiresUserVerification = requiresUserVerification
    self.backupEligibleAtRegistration = backupEligibleAtRegistration
    self.lastSignCount = lastSignCount
  }

  /// Everything that is wrong with the assertion, warnings included; empty when it is good.
  ///
  /// `credentialID` is what the answer names; it matters where ``allowList`` is given (section 7.2 step 5).
  public func problems(
    credentialID: [UInt8]? = nil, authenticatorData: [UInt8], clientDataJSON: [UInt8], signature: [UInt8],
    publicKey: CredentialPublicKey
  ) -> [VerificationProblem] {
    var problems: [VerificationProblem] = []
    if let allowList, !allowList.isEmpty, !allowList.contains(where: { $0 == credentialID }) {
      problems.append(.credentialNotAllowed)
    }
    if !publicKey.canVerify {
      problems.append(.algorithmUnknown(publicKey.algorithm))
    } else if let fault = publicKey.formatFault(of: signature) {
      problems.append(.signatureFormat(fault))
    } else if !publicKey.isValidSignature(signature, for: authenticatorData + SHA256.hash(clientDataJSON)) {
      problems.append(.signatureDoesNotMatch)
    }
    do {
      let data = try AuthenticatorData(parsing: authenticatorData)
      problems += contextProblems(data)
    } catch { problems.append(.authenticatorData(error)) }
    problems += clientDataProblems(
      clientDataJSON, type: .get, challenge: challenge, origins: origins, embedding: embedding)
    return problems
  }

  /// Checks the assertion.
  /// - Throws: ``VerificationFailure`` with every reason.
  /// - Returns: the warnings.
  @discardableResult
  public func verify(
    credentialID: [UInt8]? = nil, authenticatorData: [UInt8], clientDataJSON: [UInt8], signature: [UInt8],
    publicKey: CredentialPublicKey
  ) throws(VerificationFailure) -> [VerificationProblem] {
    let found = problems(
      credentialID: credentialID, authenticatorData: authenticatorData, clientDataJSON: clientDataJSON,
      signature: signature, publicKey: publicKey)
    if let failure = VerificationFailure(found) { throw failure }
    return found
  }

  private func contextProblems(_ data: AuthenticatorData) -> [VerificationProblem] {
    var problems = flagProblems(data, rpIdHash: rpIdHash, requiresUserVerification: requiresUserVerification)
    if let eligible = backupEligibleAtRegistration, eligible != data.flags.contains(.backupEligible) {
      problems.append(.backupEligibilityChanged)
    }
    // 0 to 0 is a key without a counter; anything else must rise (section 6.1.1).
    if let last = lastSignCount, last != 0 || data.signCount != 0, data.signCount <= last {
      problems.append(.signCountNotIncreased(from: last, to: data.signCount))
    }
    return problems
  }
}

/// The checks of authenticator data that both ceremonies make.
func flagProblems(
  _ data: AuthenticatorData, rpIdHash: [UInt8], requiresUserVerification: Bool
) -> [VerificationProblem] {
  var problems: [VerificationProblem] = []
  if data.rpIdHash != rpIdHash { problems.append(.rpIdHashMismatch) }
  if !data.flags.contains(.userPresent) { problems.append(.userNotPresent) }
  if requiresUserVerification, !data.flags.contains(.userVerified) { problems.append(.userNotVerified) }
  if data.flags.contains(.backupState), !data.flags.contains(.backupEligible) {
    problems.append(.backupStateWithoutEligibility)
  }
  return problems
}

/// Whether a ceremony may run in a frame inside another site's page (`crossOrigin` and `topOrigin`).
public enum Embedding: Sendable, Hashable {
  /// Never.
  case refused
  /// It may; a `topOrigin`, where the client gives one, must be one of these.
  case allowed(topOrigins: Set<String>)
}

/// The checks of client data that both ceremonies make.
func clientDataProblems(
  _ json: [UInt8], type: ClientData.CeremonyType, challenge: [UInt8], origins: Set<String>?,
  embedding: Embedding
) -> [VerificationProblem] {
  let data: ClientData
  do { data = try ClientData(parsing: json) } catch { return [.clientData(error)] }
  var problems: [VerificationProblem] = []
  if !data.type.isExactly(type.rawValue) { problems.append(.typeMismatch(found: data.type)) }
  if !data.challenge.isExactly(Base64.encode(challenge, .url)) { problems.append(.challengeMismatch) }
  if let origins {
    func isOne(of allowed: Set<String>, _ origin: String?) -> Bool {
      origin.map { origin in allowed.contains { $0.isExactly(origin) } } ?? false
    }
    if !isOne(of: origins, data.origin) { problems.append(.originMismatch(found: data.origin)) }
    switch embedding {
    case .refused:
      if data.crossOrigin == true || data.topOrigin != nil { problems.append(.crossOrigin) }
    case .allowed(let topOrigins):
      if data.topOrigin != nil, !isOne(of: topOrigins, data.topOrigin) { problems.append(.crossOrigin) }
    }
  }
  return problems
}

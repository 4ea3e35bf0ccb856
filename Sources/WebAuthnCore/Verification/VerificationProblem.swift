// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// One reason why an answer is not what it should be. A verification collects all of them.
public enum VerificationProblem: NamedError, Hashable {
  /// The client data cannot be read.
  case clientData(ClientDataError)
  /// The authenticator data cannot be read.
  case authenticatorData(AuthenticatorDataError)
  /// The attestation object cannot be read.
  case attestationObject(AttestationObjectError)
  /// The public key cannot be used.
  case publicKey(COSEKeyError)
  /// The signature is malformed.
  case signatureFormat(SignatureFormatError)
  /// The signature is well formed and not this key's over this data.
  case signatureDoesNotMatch
  /// `type` is not the ceremony's.
  case typeMismatch(found: String)
  /// `challenge` is not the one that was sent: compared as exact text.
  case challengeMismatch
  /// `origin` is not one that was expected.
  case originMismatch(found: String?)
  /// `crossOrigin` is true, or a topOrigin is given, and the ceremony may not be embedded there.
  case crossOrigin
  /// The relying party is another one.
  case rpIdHashMismatch
  /// UP is not set.
  case userNotPresent
  /// UV is not set and was demanded.
  case userNotVerified
  /// BS is set and BE is not.
  case backupStateWithoutEligibility
  /// BE is not what it was at registration.
  case backupEligibilityChanged
  /// The algorithm was not asked for.
  case algorithmNotRequested(COSEAlgorithm)
  /// The algorithm is not one this program verifies.
  case algorithmUnknown(COSEAlgorithm)
  /// The client's credential ID and the one in the authenticator data differ.
  case credentialIDMismatch
  /// The credential is not in the allowList.
  case credentialNotAllowed
  /// The counter did not rise (a warning: a cloned key, or a key that restarts its counter).
  case signCountNotIncreased(from: UInt32, to: UInt32)

  /// Worth saying, not worth refusing.
  public var isWarning: Bool { if case .signCountNotIncreased = self { true } else { false } }

  public var name: String {
    switch self {
    case .clientData(let e): e.name
    case .authenticatorData(let e): e.name
    case .attestationObject(let e): e.name
    case .publicKey(let e): e.name
    case .signatureFormat(let e): e.name
    case .signatureDoesNotMatch: "signatureDoesNotMatch"
    case .typeMismatch: "typeMismatch"
    case .challengeMismatch: "challengeMismatch"
    case .originMismatch: "originMismatch"
    case .crossOrigin: "crossOrigin"
    case .rpIdHashMismatch: "rpIdHashMismatch"
    case .userNotPresent: "userNotPresent"
    case .userNotVerified: "userNotVerified"
    case .backupStateWithoutEligibility: "backupStateWithoutEligibility"
    case .backupEligibilityChanged: "backupEligibilityChanged"
    case .algorithmNotRequested(let a): "unsupportedAlgorithm(\(a.rawValue))"
    case .algorithmUnknown(let a): "algorithmUnknown(\(a.rawValue))"
    case .credentialIDMismatch: "credentialIDMismatch"
    case .credentialNotAllowed: "credentialNotAllowed"
    case .signCountNotIncreased: "signCountNotIncreased"
    }
  }

  public var message: String {
    switch self {
    case .clientData(let e): e.message
    case .authenticatorData(let e): e.message
    case .attestationObject(let e): e.message
    case .publicKey(let e): e.message
    case .signatureFormat(let e): e.message
    case .signatureDoesNotMatch: "The signature was not made by this key over this data."
    case .typeMismatch(let found): "The answer is for another kind of ceremony (\(found))."
    case .challengeMismatch: "The answer is for another challenge."
    case .originMismatch(let found): "The answer comes from another origin (\(found ?? "none"))."
    case .crossOrigin: "The answer was made inside another site's page."
    case .rpIdHashMismatch: "The answer is for another relying party."
    case .userNotPresent: "The key was not touched."
    case .userNotVerified: "The person was not verified by PIN or fingerprint."
    case .backupStateWithoutEligibility: "The credential says it is backed up and that it cannot be."
    case .backupEligibilityChanged: "The credential's backup eligibility is not what it was at registration."
    case .algorithmNotRequested(let a): "The credential uses an algorithm that was not asked for (\(a))."
    case .algorithmUnknown(let a): "The credential uses an algorithm this program cannot verify (\(a))."
    case .credentialIDMismatch: "The answer names one credential and holds another."
    case .credentialNotAllowed: "The answer comes from a credential that was not asked."
    case .signCountNotIncreased(let from, let to): "The key's counter did not rise: it was \(from) and is \(to)."
    }
  }

  public var next: String {
    switch self {
    case .userNotPresent: "Touch the key when it blinks."
    case .userNotVerified: "Set a PIN on the key, or use the one that is set, and try again."
    case .signCountNotIncreased: "If nobody reset this key, treat it as copied."
    default: "Do not rely on this answer; make it again with the right key."
    }
  }

  public var offset: Int? {
    switch self {
    case .clientData(let e): e.offset
    case .authenticatorData(let e): e.offset
    case .attestationObject(let e): e.offset
    case .publicKey(let e): e.offset
    case .signatureFormat(let e): e.offset
    case .rpIdHashMismatch: 0
    case .userNotPresent, .userNotVerified, .backupStateWithoutEligibility, .backupEligibilityChanged: 32
    default: nil
    }
  }
}

/// A verification that failed, with every reason.
public struct VerificationFailure: NamedError {
  /// Every reason; the first is the one to name. Never empty, never only warnings.
  public let problems: [VerificationProblem]

  /// Nil when nothing in `problems` is more than a warning.
  public init?(_ problems: [VerificationProblem]) {
    let ordered = problems.filter { !$0.isWarning } + problems.filter(\.isWarning)
    guard let first = ordered.first, !first.isWarning else { return nil }
    self.problems = ordered
    self.first = first
  }

  let first: VerificationProblem
  public var name: String { first.name }
  public var message: String { problems.map(\.message).joined(separator: " ") }
  public var next: String { first.next }
  public var offset: Int? { first.offset }
}

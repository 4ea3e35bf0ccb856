// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// What an attestation statement proves: a result of its own beside the registration's. Seal asks for attestation and
/// never demands it.
public struct AttestationReport: Sendable {
  /// What kind of attestation it is (WebAuthn level 3 section 6.5.4).
  public enum Kind: String, Sendable, Hashable {
    /// Nothing is attested.
    case none
    /// Signed with the credential's own key: it proves only that the key was there.
    case selfSigned = "self"
    /// Signed with a key that a certificate vouches for: basic or attestation CA.
    case basic
    /// A certificate made for this one credential.
    case anonymizationCA
    /// The format is not known.
    case unknown
  }

  /// Whether the certificates lead to a root that was given.
  public enum Trust: Sendable, Hashable {
    /// There is no certificate.
    case notApplicable
    /// No roots were given.
    case notChecked
    /// They do.
    case trusted
    /// They do not.
    case untrusted(CertificateError)
  }

  /// The statement's format.
  public let format: String
  /// The kind.
  public let kind: Kind
  /// Everything that is wrong with the statement; empty when it is good.
  public let problems: [AttestationProblem]
  /// The certificates, the signing one first.
  public let certificates: [Certificate]
  /// Where they lead.
  public let trust: Trust

  /// Whether the statement itself is good, whoever vouches for it.
  public var isGood: Bool { problems.isEmpty }
}

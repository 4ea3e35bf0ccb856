// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// One reason why an attestation statement does not say what it should. None of them touches the credential's own
/// signatures: a broken statement means only that the model is not proven.
public enum AttestationProblem: NamedError, Hashable {
  /// A format this program does not know.
  case formatUnknown(String)
  /// Format `none` with a statement that is not empty.
  case noneNotEmpty
  /// A member is missing or of the wrong type.
  case member(String)
  /// A certificate cannot be read.
  case certificate(CertificateError)
  /// The signature's algorithm is not one this program verifies.
  case algorithmUnknown(COSEAlgorithm)
  /// Self attestation with another algorithm than the credential's.
  case algorithmMismatch(COSEAlgorithm)
  /// The credential's key cannot be read.
  case publicKey(COSEKeyError)
  /// The statement's signature does not match.
  case signatureDoesNotMatch
  /// The certificate is not what the format demands; `what` names the rule.
  case certificateRule(String)
  /// The certificate is for another AAGUID.
  case aaguidMismatch
  /// The certificate, or the TPM's public area, holds another key than the credential.
  case keyMismatch
  /// The nonce or challenge inside does not match.
  case nonceMismatch
  /// A TPM structure is not what it should be; `what` names the field.
  case tpm(String)

  public var name: String {
    switch self {
    case .formatUnknown: "attestationFormatUnknown"
    case .noneNotEmpty: "attestationNotEmpty"
    case .member(let m): "attestationMember(\(m))"
    case .certificate(let e): e.name
    case .algorithmUnknown(let a): "attestationAlgorithmUnknown(\(a.rawValue))"
    case .algorithmMismatch(let a): "attestationAlgorithmMismatch(\(a.rawValue))"
    case .publicKey(let e): e.name
    case .signatureDoesNotMatch: "attestationSignatureDoesNotMatch"
    case .certificateRule(let what): "attestationCertificate(\(what))"
    case .aaguidMismatch: "attestationAAGUIDMismatch"
    case .keyMismatch: "attestationKeyMismatch"
    case .nonceMismatch: "attestationNonceMismatch"
    case .tpm(let what): "attestationTPM(\(what))"
    }
  }

  public var message: String {
    switch self {
    case .formatUnknown(let format): "The attestation has a format this program does not know (\(format))."
    case .noneNotEmpty: "The attestation says that it is none, and yet holds something."
    case .member(let m): "The attestation lacks its member '\(m)', or it is of the wrong type."
    case .certificate(let e): e.message
    case .algorithmUnknown(let a): "The attestation is signed with an algorithm this program cannot verify (\(a))."
    case .algorithmMismatch(let a): "The attestation names another algorithm than the credential has (\(a))."
    case .publicKey(let e): e.message
    case .signatureDoesNotMatch: "The attestation's signature does not match."
    case .certificateRule(let what): "The attestation's certificate breaks a rule of its format (\(what))."
    case .aaguidMismatch: "The attestation's certificate is for another model."
    case .keyMismatch: "The attestation is about another key than the credential's."
    case .nonceMismatch: "The attestation is about another registration."
    case .tpm(let what): "The TPM's statement is not what it should be (\(what))."
    }
  }

  public var next: String { "The credential's own signatures still count; only the model is not proven." }
}

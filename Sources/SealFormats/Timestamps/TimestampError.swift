// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why a timestamp token counts as no token.
public enum TimestampError: NamedError, Hashable {
  /// More than 65,536 bytes.
  case tooLarge(count: Int)
  /// Not the strict DER of a TimeStampResp.
  case malformed(what: String)
  /// The authority did not grant it.
  case notGranted(status: Int)
  /// It is over another digest.
  case otherDigest
  /// The signed attributes do not fit the content.
  case attributesDoNotFit
  /// No certificate in the token is one that is trusted here.
  case certificateNotPinned
  /// The signature is not by the certificate.
  case signatureDoesNotMatch

  public var name: String {
    switch self {
    case .tooLarge: "timestampTooLarge"
    case .malformed: "timestampMalformed"
    case .notGranted: "timestampNotGranted"
    case .otherDigest: "timestampOfAnotherDigest"
    case .attributesDoNotFit: "timestampAttributesDoNotFit"
    case .certificateNotPinned: "timestampCertificateNotPinned"
    case .signatureDoesNotMatch: "timestampSignatureDoesNotMatch"
    }
  }

  public var message: String {
    switch self {
    case .tooLarge(let count): "The timestamp token has \(count) bytes, more than 65536."
    case .malformed(let what): "The timestamp token is malformed: \(what)."
    case .notGranted(let status): "The timestamp authority did not grant the token (status \(status))."
    case .otherDigest: "The timestamp token is over another digest."
    case .attributesDoNotFit: "The timestamp token's signed attributes do not fit its content."
    case .certificateNotPinned: "The timestamp token is by no authority that is trusted here."
    case .signatureDoesNotMatch: "The timestamp token's signature is not by its certificate."
    }
  }

  public var next: String {
    switch self {
    case .certificateNotPinned: "Pin the authority's certificate, if you trust it, or go by the time that was written."
    default: "Go by the time that was written; the token proves nothing."
    }
  }
}

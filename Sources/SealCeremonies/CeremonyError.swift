// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import WebAuthnCore

/// Why a ceremony ended without its artefact. Nothing has been written.
public enum CeremonyError: NamedError, Hashable {
  /// The answer does not verify, for these reasons.
  case verificationFailed([VerificationProblem])
  /// Seal could not read the new credential.
  case unreadableBySeal(SealRegistrationError)
  /// Another credential answered than the one that was asked.
  case unexpectedCredential
  /// A display name that Seal or a key could not take.
  case badName
  /// The person's record has no credential ID, so the key cannot be asked for it.
  case missingCredentialID
  /// The person's record has a public key that is none.
  case badRootKey
  /// The key does not make ES256 credentials.
  case unsupportedKey(name: String)

  public var name: String {
    switch self {
    case .verificationFailed: "verificationFailed"
    case .unreadableBySeal(let error): error.name
    case .unexpectedCredential: "unexpectedCredential"
    case .badName: "badName"
    case .missingCredentialID: "missingCredentialID"
    case .badRootKey: "badRootKey"
    case .unsupportedKey: "es256Unsupported"
    }
  }

  public var message: String {
    switch self {
    case .verificationFailed(let problems):
      "The key's answer does not verify. " + problems.map(\.message).joined(separator: " ")
    case .unreadableBySeal(let error): error.message
    case .unexpectedCredential: "Another key answered than the one that was asked."
    case .badName: "A name has 1 to 64 bytes and no control characters."
    case .missingCredentialID: "The identity file holds no credential ID, so the key cannot be asked for it."
    case .badRootKey: "The identity file's public key is not a valid key."
    case .unsupportedKey(let name): "\(name) does not make ES256 credentials, the only kind Seal takes."
    }
  }

  public var next: String {
    switch self {
    case .verificationFailed(let problems): problems.first?.next ?? "Try again with the right key."
    case .unreadableBySeal(let error): error.next
    case .unexpectedCredential: "Use the key of this identity and try again."
    case .badName: "Choose another name."
    case .missingCredentialID: "Use the identity file that the registration wrote."
    case .badRootKey: "Get the identity file again from where it came from."
    case .unsupportedKey: "Use another key."
    }
  }

  public var kind: FaultKind {
    switch self {
    case .badName: .usage
    case .unsupportedKey: .noKey
    case .missingCredentialID, .badRootKey: .file
    default: .bad
    }
  }
}

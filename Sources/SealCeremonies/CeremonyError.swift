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
  /// The key cannot hold a secret for somebody (no hmac-secret), or did not enable it.
  case prfUnsupported(name: String)
  /// The key has neither a PIN nor enrolled verification, and this act needs one.
  case uvNotConfigured(name: String)
  /// The key gave no secret although it was asked to.
  case prfMissing
  /// The key gave another secret when it was asked a second time, so what it locks never opens.
  case keyForgets(name: String)
  /// The lock was made with user verification and the key answered without it, or the other way round.
  case uvMismatch(enrolledWith: Bool)
  /// The identity carries no locked halves.
  case notSponsored
  /// The root has revoked the device.
  case deviceRevoked
  /// The key in hand does not hold the root's credential.
  case notTheirKey(name: String)
  /// The device that is to sign for the person is none of their live devices; the root may have revoked it.
  case deviceNotEndorsed(name: String, isRevoked: Bool)
  /// The root has revoked the device that is to be endorsed.
  case deviceStaysRevoked
  /// Both sides of the act are one and the same identity.
  case samePerson
  /// The new key holds a credential that is known already: a key cannot be its own backup.
  case selfBackup
  /// The identity has no such backup or device.
  case nothingToRevoke
  /// A spare that is not revoked is called so already.
  case labelTaken(String, name: String)
  /// What was just made does not pass the check that anybody else would make.
  case ownResultBad(name: String, String)

  public var name: String {
    switch self {
    case .verificationFailed: "verificationFailed"
    case .unreadableBySeal(let error): error.name
    case .unexpectedCredential: "unexpectedCredential"
    case .badName: "badName"
    case .missingCredentialID: "missingCredentialID"
    case .badRootKey: "badRootKey"
    case .unsupportedKey: "es256Unsupported"
    case .prfUnsupported: "prfUnsupported"
    case .uvNotConfigured: "uvNotConfigured"
    case .prfMissing: "prfMissing"
    case .keyForgets: "keyForgets"
    case .uvMismatch: "uvMismatch"
    case .notSponsored: "notSponsored"
    case .deviceRevoked, .deviceStaysRevoked: "deviceRevoked"
    case .notTheirKey: "notOnThisKey"
    case .deviceNotEndorsed: "deviceNotEndorsed"
    case .samePerson: "samePerson"
    case .selfBackup: "selfBackup"
    case .nothingToRevoke: "nothingToRevoke"
    case .labelTaken: "labelTaken"
    case .ownResultBad(let name, _): name
    }
  }

  public var message: String {
    switch self {
    case .verificationFailed(let problems):
      "The key's answer does not verify. " + problems.map(\.message).joined(separator: " ")
    case .unreadableBySeal(let error): error.message
    case .unexpectedCredential: "Another key answered than the one that was asked."
    case .badName: "A name has 1 to 64 bytes, not all of them spaces, and no control characters."
    case .missingCredentialID: "The identity file holds no credential ID, so the key cannot be asked for it."
    case .badRootKey: "The identity file's public key is not a valid key."
    case .unsupportedKey(let name): "\(name) does not make ES256 credentials, the only kind Seal takes."
    case .prfUnsupported(let name): "\(name) cannot hold a secret for somebody: it has no hmac-secret."
    case .uvNotConfigured(let name): "\(name) has no PIN and no fingerprint, and a key for somebody else needs one."
    case .prfMissing: "The key gave no secret although it was asked to."
    case .keyForgets(let name):
      "\(name) gave another secret when it was asked again: what it locks does not open any more. It is not fit for this."
    case .uvMismatch(true):
      "The lock was made with the PIN or a fingerprint, and the key answers without: that gives another secret."
    case .uvMismatch(false):
      "The lock was made without PIN or fingerprint, and the key answers only with one: that gives another secret."
    case .notSponsored: "The identity carries no locked halves: it was not registered for somebody else."
    case .deviceRevoked: "The root has revoked the device that these halves belong to."
    case .notTheirKey(let name):
      "This is not the key of \(name): their own credential is not on it. Nothing was signed."
    case .deviceNotEndorsed(let name, true): "The device does not speak for \(name) any more: it was revoked."
    case .deviceNotEndorsed(let name, false): "The device does not speak for \(name): their record does not endorse it."
    case .deviceStaysRevoked: "The root has revoked this device, and a revocation is for good."
    case .samePerson: "Both sides are the same identity."
    case .selfBackup:
      "The new key is known here already: as the identity's own key, as somebody's, or as a spare that was added before."
    case .nothingToRevoke: "The identity has no such backup or device."
    case .labelTaken(let label, let name): "A spare key of \(name) is called '\(label)' already. Nothing was touched."
    case .ownResultBad(_, let what): "What was made does not verify, and was thrown away. \(what)"
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
    case .prfUnsupported: "Use a key that has it, such as a YubiKey 5. Nothing has been written."
    case .uvNotConfigured: "Set a PIN first: sealkey pin set. Nothing has been touched."
    case .prfMissing:
      "Use another key: this one is not fit for it. If it has opened its lock before, plug it in again and try once more."
    case .keyForgets: "Use another key. Nothing has been written, and nothing depends on this one."
    case .uvMismatch(true): "Use the key that was registered; if it was reset, it cannot open this any more."
    case .uvMismatch(false): "Turn off 'always verify' on the key, or use it where it was registered."
    case .notSponsored: "Give the identity file that 'sealkey sponsor' wrote, or the directory's record with its locks."
    case .deviceRevoked: "There is nothing to open: the identity must be made again."
    case .deviceStaysRevoked: "Endorse another device: sealkey device make NAME"
    case .notTheirKey:
      "Use the key that was registered first for them. A spare can sign in and endorse devices after that, and nothing else."
    case .deviceNotEndorsed(_, true): "Use another device of theirs, or make one: sealkey sign-in --device NAME"
    case .deviceNotEndorsed:
      "Give the newest record of theirs, or let the device speak for them: sealkey sign-in --device NAME"
    case .samePerson: "Give two different identities."
    case .selfBackup:
      "Use a key that is new. A spare that was revoked stays so; a spare that was added needs nothing more."
    case .nothingToRevoke: "See what the identity has: sealkey directory list"
    case .labelTaken: "Give another --label, or revoke that spare first if it is dead: sealkey backup revoke"
    case .ownResultBad: "Check that the identity files and the device belong together, then try again."
    }
  }

  public var kind: FaultKind {
    switch self {
    case .badName: .usage
    case .unsupportedKey, .prfUnsupported, .keyForgets: .noKey
    case .uvNotConfigured, .uvMismatch: .userVerification
    case .notSponsored, .deviceRevoked, .deviceStaysRevoked, .deviceNotEndorsed, .notTheirKey, .samePerson, .selfBackup,
      .nothingToRevoke, .labelTaken:
      .refused
    case .prfMissing: .key
    case .missingCredentialID, .badRootKey: .file
    default: .bad
    }
  }
}

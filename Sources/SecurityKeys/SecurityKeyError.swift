// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// What can go wrong with a key in the hand. The names are stable.
public enum SecurityKeyError: NamedError, Hashable {
  /// Below CTAP.
  case transport(TransportError)
  /// The key said no, with a status that has no better name here.
  case status(CTAPStatus)
  /// The key's answer breaks the rules of CTAP.
  case badAnswer(String)
  /// libfido2 refused before anything was sent.
  case library(code: Int32)
  /// A FIDO2 key refused getInfo: it is not used as anything weaker.
  case getInfoRefused(status: Int)

  /// The PIN is wrong; so many tries are left.
  case pinInvalid(triesLeft: Int?)
  /// No PIN tries are left.
  case pinBlocked
  /// Too many wrong PINs in a row: the key wants to be unplugged first.
  case pinAuthBlocked
  /// The key has no PIN.
  case pinNotSet
  /// The key has a PIN already.
  case pinAlreadySet
  /// The key cannot have a PIN.
  case pinUnsupported
  /// The key wants its PIN and there is nobody to ask.
  case pinRequired
  /// Shorter than the key's minimum; no try was spent.
  case pinTooShort(minimum: Int)
  /// A PIN that this key has refused in this run was given again; no try was spent.
  case pinRepeated
  /// Longer than 63 bytes, or not a PIN at all; no try was spent.
  case pinUnusable
  /// So few tries are left that this tool stops.
  case pinTriesLow(left: Int)
  /// The key demands a new PIN before anything else.
  case pinChangeRequired
  /// The new PIN breaks the key's rules.
  case pinPolicyViolation
  /// Neither a PIN nor a fingerprint is set up, and this act needs one.
  case uvNotConfigured
  /// The fingerprint was not recognised.
  case uvInvalid
  /// The fingerprint is blocked.
  case uvBlocked
  /// The key did not verify the person although it was asked to.
  case uvMissing

  /// The key cannot hold a secret for somebody (no hmac-secret).
  case prfUnsupported
  /// A salt is not 32 bytes long.
  case badSalt(count: Int)
  /// The key gave no secret although it was asked to.
  case prfMissing
  /// The key does not have this feature, named in a few words.
  case notOffered(String)
  /// No fingerprint of that id is enrolled.
  case noSuchFingerprint
  /// A minimum PIN length can only grow, to 63 at most.
  case minimumCannotShrink(from: Int)
  /// The key does not make ES256 credentials.
  case es256Unsupported
  /// This act needs a FIDO2 key.
  case fido2Needed
  /// A credential of the excludeList is on this key.
  case alreadyRegistered
  /// None of the credentials asked for is on this key.
  case notOnThisKey
  /// The key's storage is full.
  case keyFull
  /// The key refused a registration as some do for a name: one that is long, or not in plain letters.
  case nameNotTaken(CTAPStatus)
  /// The request does not fit what the key takes.
  case requestTooLarge(count: Int, limit: Int)

  public var name: String {
    switch self {
    case .transport(let e): e.name
    case .status(let s): s.name
    case .badAnswer: "badAnswer"
    case .library: "libfido2Refused"
    case .getInfoRefused: "getInfoRefused"
    case .pinInvalid: "pinInvalid"
    case .pinBlocked: "pinBlocked"
    case .pinAuthBlocked: "pinAuthBlocked"
    case .pinNotSet: "pinNotSet"
    case .pinAlreadySet: "pinAlreadySet"
    case .pinUnsupported: "pinUnsupported"
    case .pinRequired: "pinRequired"
    case .pinTooShort: "pinTooShort"
    case .pinUnusable: "pinUnusable"
    case .pinRepeated: "pinRepeated"
    case .pinTriesLow: "pinTriesLow"
    case .pinChangeRequired: "pinChangeRequired"
    case .pinPolicyViolation: "pinPolicyViolation"
    case .uvNotConfigured: "uvNotConfigured"
    case .uvInvalid: "uvInvalid"
    case .uvBlocked: "uvBlocked"
    case .uvMissing: "uvMissing"
    case .prfUnsupported: "prfUnsupported"
    case .badSalt: "badSalt"
    case .prfMissing: "prfMissing"
    case .notOffered: "notOffered"
    case .noSuchFingerprint: "noSuchFingerprint"
    case .minimumCannotShrink: "minimumCannotShrink"
    case .es256Unsupported: "es256Unsupported"
    case .fido2Needed: "fido2Needed"
    case .alreadyRegistered: "alreadyRegistered"
    case .notOnThisKey: "notOnThisKey"
    case .keyFull: "keyFull"
    case .nameNotTaken: "nameNotTaken"
    case .requestTooLarge: "requestTooLarge"
    }
  }

  public var message: String {
    switch self {
    case .transport(let e): e.message
    case .status(let s): s.sentence
    case .badAnswer(let what): "The key sent an answer that breaks the rules: \(what)."
    case .library(let code): "libfido2 refused the request (code \(code))."
    case .getInfoRefused: "The key says it is a FIDO2 key and would not say what it can do."
    case .pinInvalid(let left?): "The PIN is wrong. \(Self.tries(left))"
    case .pinInvalid(nil): "The PIN is wrong."
    case .pinBlocked: "The key's PIN is blocked: no tries are left."
    case .pinAuthBlocked: "The PIN was wrong too often in a row, so the key takes no PIN until it is unplugged."
    case .pinNotSet: "The key has no PIN."
    case .pinAlreadySet: "The key has a PIN already."
    case .pinUnsupported: "The key cannot have a PIN."
    case .pinRequired: "The key wants its PIN, and there is nobody to ask for it."
    case .pinTooShort(let minimum): "That PIN is too short: this key's PINs have at least \(minimum) characters."
    case .pinRepeated:
      "The same PIN was given again that the key has just refused, so nothing was sent and no try was spent."
    case .pinUnusable: "That cannot be a PIN: a PIN is UTF-8 text of at most 63 bytes without control characters."
    case .pinTriesLow(let left):
      "Nothing was tried, because \(Self.fewTries(left)). After eight wrong PINs the key refuses its PIN until it is reset, and "
        + "a reset destroys what it holds for Seal."
    case .pinChangeRequired: "The key demands a new PIN before it does anything else."
    case .pinPolicyViolation: "The key refused that PIN as too simple or too short."
    case .uvNotConfigured: "The key has no PIN and no fingerprint, and this needs one."
    case .uvInvalid: "The key did not recognise the fingerprint."
    case .uvBlocked: "The key's fingerprint reader is blocked after too many tries."
    case .uvMissing: "The key answered without verifying the person, although it was asked to."
    case .prfUnsupported: "The key cannot carry a secret for somebody else (it has no hmac-secret). It is unchanged."
    case .badSalt(let count): "The salt for the key's secret has \(count) bytes where it must have 32."
    case .prfMissing: "The key gave back no secret."
    case .notOffered(let what): "The key does not offer \(what)."
    case .noSuchFingerprint: "No such fingerprint is enrolled on the key."
    case .minimumCannotShrink(let from):
      "The minimum PIN length is \(from) now and can only grow, to 63 at most; only a reset lowers it."
    case .es256Unsupported: "The key does not make ES256 credentials, the only kind Seal takes."
    case .fido2Needed: "The key is an older U2F key, and this needs a FIDO2 key."
    case .alreadyRegistered: "This key is registered already."
    case .notOnThisKey: "None of the credentials asked for is on this key."
    case .keyFull: "The key has no room for another credential."
    case .nameNotTaken(let status):
      "The key refused the registration (0x\(Hex.encode([status.rawValue]))), as some keys do when the name is long or not "
        + "in plain letters."
    case .requestTooLarge(let count, let limit): "The request has \(count) bytes and the key takes \(limit)."
    }
  }

  public var next: String {
    switch self {
    case .transport(let e): e.next
    case .pinInvalid: "Check which key this is and which PIN belongs to it, then try again."
    case .pinBlocked:
      "A tap, a confirmation or a sign-in may still work with a touch alone: the same command with --no-uv. Never reset the "
        + "key for this: a reset destroys every identity on it."
    case .pinAuthBlocked: "Unplug the key, plug it in again, and be sure of the PIN before you go on."
    case .pinNotSet, .uvNotConfigured: "Set a PIN on the key first: sealkey pin set."
    case .pinAlreadySet: "Change it instead: sealkey pin change."
    case .pinUnsupported, .notOffered: "Use another key for this."
    case .noSuchFingerprint: "See what is enrolled: sealkey fingerprints list."
    case .minimumCannotShrink: "Choose a length that is not shorter than the present one."
    case .pinRequired: "Run the command in a terminal, or give the PIN with --pin-fd."
    case .pinTooShort, .pinUnusable: "Run the command again and give the whole PIN; no try was spent."
    case .pinRepeated:
      "Be sure of the PIN before you run the command again. Where a program or a file gives it, put the right one there."
    case .pinTriesLow:
      "Be sure of the PIN, then run the command again with --last-tries. After three wrong ones in a row the key must be "
        + "unplugged first."
    case .pinChangeRequired: "Change the PIN first: sealkey pin change."
    case .pinPolicyViolation: "Choose a longer PIN that is not a simple sequence."
    case .uvInvalid: "Try again with a finger that is enrolled."
    case .uvBlocked: "Use the PIN; with the right PIN the fingerprint reader works again."
    case .prfUnsupported, .fido2Needed, .es256Unsupported: "Use another key, one that supports FIDO2 with hmac-secret."
    case .badSalt: "Use the salt that was stored with the record; if it is damaged, take another copy of the record."
    case .prfMissing:
      "Use another key: this one is not fit for it. If it has opened its lock before, plug it in again and try once more."
    case .alreadyRegistered: "Sign in with it instead, or use another key."
    case .notOnThisKey: "Try the other keys you have."
    case .keyFull: "Remove a passkey from the key, or use another key."
    case .nameNotTaken:
      "Register again with a short name in plain letters; if the key still refuses, use another key."
    default: "Unplug the key, plug it in again and repeat; if it stays, note the key's model and report it."
    }
  }

  public var status: Int? {
    switch self {
    case .transport(let e): e.status
    case .status(let s), .nameNotTaken(let s): Int(s.rawValue)
    case .getInfoRefused(let s): s
    case .pinInvalid: 0x31
    case .pinBlocked: 0x32
    case .pinAuthBlocked: 0x34
    case .alreadyRegistered: 0x19
    case .notOnThisKey: 0x2E
    case .uvBlocked: 0x3C
    case .uvInvalid: 0x3F
    default: nil
    }
  }

  public var kind: FaultKind {
    switch self {
    case .transport(let e): e.kind
    case .pinInvalid, .pinBlocked, .pinAuthBlocked, .pinNotSet, .pinRequired, .pinTooShort, .pinUnusable,
      .pinRepeated, .pinTriesLow, .pinChangeRequired, .pinPolicyViolation, .uvNotConfigured, .uvInvalid, .uvBlocked,
      .uvMissing:
      .userVerification
    case .prfUnsupported, .es256Unsupported, .fido2Needed, .notOffered, .pinUnsupported: .noKey
    case .pinAlreadySet, .minimumCannotShrink, .noSuchFingerprint: .refused
    case .alreadyRegistered, .notOnThisKey: .refused
    case .badSalt: .bad
    default: .key
    }
  }

  /// The better name of a status, where there is one.
  static func of(_ status: CTAPStatus) -> SecurityKeyError {
    switch status {
    case .credentialExcluded: .alreadyRegistered
    case .noCredentials, .invalidCredential: .notOnThisKey
    case .keyStoreFull: .keyFull
    case .pinInvalid: .pinInvalid(triesLeft: nil)
    case .pinBlocked: .pinBlocked
    case .pinAuthBlocked: .pinAuthBlocked
    case .pinNotSet: .pinNotSet
    case .pinPolicyViolation: .pinPolicyViolation
    case .uvBlocked: .uvBlocked
    case .uvInvalid: .uvInvalid
    case .keepaliveCancel: .transport(.cancelled)
    case .userActionTimeout, .actionTimeout: .transport(.timedOut)
    default: .status(status)
    }
  }

  /// The same, as the answer to a registration. A credential that is not discoverable takes no room on the key, so one
  /// that is "full" means something else: some keys say so to a name that is not ASCII (QUIRKS Q10), others have a
  /// status of their own for one that is too long (QUIRKS Q12).
  func ofRegistration(isDiscoverable: Bool) -> SecurityKeyError {
    switch self {
    case .keyFull where !isDiscoverable: .nameNotTaken(.keyStoreFull)
    case .status(let status) where status.rawValue >= 0xE0: .nameNotTaken(status)
    default: self
    }
  }

  private static func tries(_ left: Int) -> String {
    switch left {
    case 0: "No tries are left."
    case 1: "One try is left."
    default: "\(left) tries are left."
    }
  }

  private static func fewTries(_ left: Int) -> String {
    left == 1 ? "only one PIN try is left" : "only \(left) PIN tries are left"
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why something could not be wrapped, opened, locked or unlocked. Seal's names where Seal has one.
public enum WrapError: NamedError, Hashable {
  /// A bundle has neither 32 nor 1,220 bytes, or does not start with `SKB1`.
  case badBundle(count: Int)
  /// The other side's public key gives no shared secret.
  case badRecipient
  /// An envelope is malformed, or not for this key, or was changed.
  case badEnvelope(reason: String)
  /// None of the devices can be wrapped to.
  case noRecipients
  /// A hybrid wrap was asked for, or has to be opened, and this machine's libcrypto has no ML-KEM-768.
  case mlkemUnavailable
  /// The locked blob is malformed.
  case badLock(reason: String)
  /// The secret does not open the lock.
  case wrongKey
  /// The right credential answered, and its secret does not open the lock: the lock or its salt was changed.
  case lockChanged
  /// The file with the lock says two things that cannot both be true: it was changed. No key has to be asked.
  case lockContradictsItself(reason: String)
  /// The lock opened, and what is inside are not private halves.
  case badHalves(reason: String)
  /// The private halves do not belong to the public ones that were endorsed.
  case halvesDoNotMatch(part: String)
  /// libcrypto failed.
  case crypto(CryptoError)

  public var name: String {
    switch self {
    case .badBundle: "badBundle"
    case .badRecipient: "badRecipient"
    case .badEnvelope: "badEnvelope"
    case .noRecipients: "noRecipients"
    case .mlkemUnavailable: "mlkemUnavailable"
    case .badLock: "badLock"
    case .wrongKey: "wrongKey"
    case .lockChanged, .lockContradictsItself: "lockChanged"
    case .badHalves: "badHalves"
    case .halvesDoNotMatch: "halvesDoNotMatch"
    case .crypto(let error): error.name
    }
  }

  public var message: String {
    switch self {
    case .badBundle(let count):
      "The key bundle has \(count) bytes and must have 32, or 1220 that start with SKB1."
    case .badRecipient: "The recipient's public key gives no shared secret."
    case .badEnvelope(let reason): "The envelope cannot be opened: \(reason)."
    case .noRecipients: "None of the recipient's devices can be wrapped to."
    case .mlkemUnavailable: "This computer's OpenSSL does not offer ML-KEM-768, which this envelope needs."
    case .badLock(let reason): "The locked private halves are malformed: \(reason)."
    case .wrongKey: "This is not the key that was registered: it does not open the locked private halves."
    case .lockChanged:
      "The right key answered, and the locked private halves do not open: they or their salt were changed."
    case .lockContradictsItself(let reason):
      "The file with the locked private halves was changed or damaged: \(reason)."
    case .badHalves(let reason): "The lock opened, but what is inside are not private halves: \(reason)."
    case .halvesDoNotMatch(let part):
      "The private halves do not belong to the \(part) that the root key endorsed."
    case .crypto(let error): error.message
    }
  }

  public var next: String {
    switch self {
    case .badBundle, .noRecipients: "Export the device's bundle again on the device it belongs to."
    case .badRecipient: "Do not use this bundle; get the recipient's identity record again."
    case .badEnvelope: "Check that this device is the one it was wrapped to, and get the record again."
    case .mlkemUnavailable: "Use a system with OpenSSL 3.5 or later, such as Debian 13."
    case .badLock, .badHalves: "Get the identity record again; if it stays, the sponsored identity must be made again."
    case .wrongKey:
      "Use the key that was registered, with the PIN that belongs to it; a key that was reset cannot open it."
    case .lockChanged, .lockContradictsItself:
      "Take the other copy: the lock file that was handed over with the key, or the identity record from where it came."
    case .halvesDoNotMatch: "Do not use these halves: somebody changed the record. Get it again from the directory."
    case .crypto(let error): error.next
    }
  }

  public var kind: FaultKind {
    switch self {
    case .mlkemUnavailable: .refused
    default: .bad
    }
  }
}

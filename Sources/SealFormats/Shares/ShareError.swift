// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why a share, or an epoch's material, cannot be used. Seal's names where Seal has one.
public enum ShareError: NamedError, Hashable {
  /// The material is not what the owner signed.
  case materialMismatch(what: String)
  /// This identity has no share in the epoch.
  case notMyShare
  /// None of the envelopes of this identity's share is for this device.
  case noShare
  /// The share opened, and is not the one the owner issued.
  case badShare(holder: String, reason: String)
  /// Fewer shares than the threshold.
  case notEnoughShares(have: Int, need: Int)
  /// The combined key is not the one the owner committed to.
  case recoveredKeyMismatch
  /// A number of shares or a threshold that cannot be.
  case badThreshold(String)
  /// A wrap failed.
  case wrap(WrapError)

  public var name: String {
    switch self {
    case .materialMismatch: "materialMismatch"
    case .notMyShare: "notMyShare"
    case .noShare: "noShare"
    case .badShare: "badShare"
    case .notEnoughShares: "notEnoughShares"
    case .recoveredKeyMismatch: "recoveredKeyMismatch"
    case .badThreshold: "badThreshold"
    case .wrap(let error): error.name
    }
  }

  public var message: String {
    switch self {
    case .materialMismatch(let what): "The epoch's material is not what the owner signed: \(what)."
    case .notMyShare: "This identity is not a key holder of this epoch."
    case .noShare: "This device holds no share of this epoch."
    case .badShare(let holder, let reason):
      "The share of \(holder.prefix(8)) is not the one the owner issued: \(reason)."
    case .notEnoughShares(let have, let need): "There are \(have) shares, and \(need) are needed."
    case .recoveredKeyMismatch: "The combined key is not the one the owner committed to."
    case .badThreshold(let what): "The rule cannot be kept: \(what)."
    case .wrap(let error): error.message
    }
  }

  public var next: String {
    switch self {
    case .noShare:
      "Publish this device's endorsement, wait until the owner's app has seen it and sealed again, and get the record."
    case .wrap(let error): error.next
    case .notMyShare: "Check that the right identity and the newest record are used."
    default: "Do not go on with this record; get it again from somebody else who holds it."
    }
  }

  public var kind: FaultKind {
    switch self {
    case .noShare, .notMyShare, .notEnoughShares: .refused
    case .wrap(let error): error.kind
    default: .bad
    }
  }
}

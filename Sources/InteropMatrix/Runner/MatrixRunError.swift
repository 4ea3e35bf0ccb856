// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why a run cannot go on.
public enum MatrixRunError: NamedError, Hashable {
  /// The record is not finished, or holds no lock.
  case nothingToContinue
  /// A run is to be ended, and none was begun with this key.
  case nothingBegun
  /// The record was made on this very computer.
  case sameComputer
  /// Another key than the record's.
  case otherKey
  /// A run is to be ended, and the key is not as it was when it was begun.
  case keyStateChanged

  public var name: String {
    switch self {
    case .nothingToContinue: "nothingToContinue"
    case .nothingBegun: "nothingBegun"
    case .sameComputer: "sameComputer"
    case .otherKey: "otherKey"
    case .keyStateChanged: "keyStateChanged"
    }
  }
  public var message: String {
    switch self {
    case .nothingToContinue: "The record holds no lock that a second computer could open."
    case .nothingBegun: "No run was begun with this key and left unfinished, so nothing was written."
    case .sameComputer: "The record was made on this computer."
    case .otherKey: "This is not the key of the record, or it was reset since."
    case .keyStateChanged:
      "The key is not as it was when the run was begun: a PIN was set since, or another setting was changed."
    }
  }
  public var next: String {
    switch self {
    case .nothingToContinue: "Finish the run on the first computer with a key that has hmac-secret."
    case .nothingBegun:
      "Begin one without --finish. One that was begun elsewhere is found when --runs and --practice name the same folders."
    case .sameComputer: "Take the record and the key to another computer."
    case .otherKey: "Use the key that the record was made with."
    case .keyStateChanged: "Run it without --finish: a new run is begun, and the old one stays as it is."
    }
  }
  public var kind: FaultKind { self == .otherKey ? .noKey : .refused }
}

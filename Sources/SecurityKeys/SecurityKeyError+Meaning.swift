// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

extension SecurityKeyError {
  /// After this there is nobody at the other end of the wire.
  var endsTheConversation: Bool {
    switch self {
    case .transport(.unplugged), .transport(.absent), .transport(.nobodyAnswers), .transport(.system): true
    case .transport(.card(let error)): error.endsTheConversation
    default: false
    }
  }

  /// What came was no answer to what was asked.
  var isNoAnswer: Bool {
    switch self {
    case .badAnswer, .library, .prfMissing, .uvMissing: true
    default: false
    }
  }

  /// The act was refused for what getInfo had said, not for what the key said to it.
  var restsOnFacts: Bool {
    switch self {
    case .uvNotConfigured, .prfUnsupported, .es256Unsupported, .pinNotSet, .pinUnsupported, .notOffered,
      .requestTooLarge:
      true
    default: false
    }
  }

  /// What a failed verification by the key's own reader is called, whatever status the key chose.
  var asReaderFailure: SecurityKeyError { BuiltInFailure(self) == .blocked ? .uvBlocked : .uvInvalid }
}

/// How verification by the key's own reader failed. CTAP 2.1 section 6.1.2 step 11 has statuses for it that mean
/// something else when a PIN was given.
enum BuiltInFailure: Equatable {
  /// Not the right finger; another try is possible.
  case notRecognised
  /// No tries are left, or the reader cannot be used: only the PIN helps.
  case blocked

  init?(_ error: SecurityKeyError) {
    switch error {
    case .uvInvalid, .status(.operationDenied): self = .notRecognised
    case .uvBlocked, .pinBlocked, .status(.puatRequired): self = .blocked
    default: return nil
    }
  }
}

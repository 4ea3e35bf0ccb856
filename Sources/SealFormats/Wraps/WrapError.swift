// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why something could not be wrapped, opened, locked or unlocked. Seal's names where Seal has one.
public enum WrapError: NamedError, Hashable {
  /// A bundle has neither 32 nor 1,220 bytes, or does not start with `SKB1`.
  case badBundle(count: Int)

  public var name: String {
    switch self {
    case .badBundle: "badBundle"
    }
  }

  public var message: String {
    switch self {
    case .badBundle(let count):
      "The key bundle has \(count) bytes and must have 32, or 1220 that start with SKB1."
    }
  }

  public var next: String {
    switch self {
    case .badBundle: "Export the device's bundle again on the device it belongs to."
    }
  }
}

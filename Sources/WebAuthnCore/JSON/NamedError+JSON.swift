// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

extension NamedError {
  /// The error as JSON has it everywhere: `{"name","message","next","status","offset"}`, the last two where there are any.
  public var json: JSONValue {
    .object([
      ("name", .string(name)), ("message", .string(message)), ("next", .string(next)),
      ("status", status.map { .int($0) }), ("offset", offset.map { .int($0) }),
    ])
  }
}

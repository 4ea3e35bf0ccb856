// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

extension PRFSalts {
  /// The CTAP salt of a WebAuthn PRF input: SHA-256 of `WebAuthn PRF`, a zero byte, and the input (WebAuthn level 3
  /// section 10.1.4). 32 bytes.
  public static func hashed(_ input: [UInt8]) -> [UInt8] {
    SHA256.hash(Array("WebAuthn PRF".utf8) + [0] + input)
  }

  /// Asks for one secret, over a PRF input as WebAuthn maps it.
  public init(input: [UInt8]) { self.init(first: Self.hashed(input)) }

  /// Asks for both secrets that a 32-byte input may stand for, in one touch: as WebAuthn maps it, and as it is, which
  /// some clients hand to the key.
  public init(bothFormsOf input: [UInt8]) { self.init(first: Self.hashed(input), second: input) }
}

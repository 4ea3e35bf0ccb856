// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// UUIDs as Seal writes them: uppercase text.
public enum UUIDText {
  /// A random one (RFC 9562 version 4).
  public static func random() -> String {
    var bytes = Random.bytes(16)
    bytes[6] = bytes[6] & 0x0f | 0x40
    bytes[8] = bytes[8] & 0x3f | 0x80
    let hex = Hex.encode(bytes).uppercased()
    var out = ""
    for (index, character) in hex.enumerated() {
      if [8, 12, 16, 20].contains(index) { out.append("-") }
      out.append(character)
    }
    return out
  }
}

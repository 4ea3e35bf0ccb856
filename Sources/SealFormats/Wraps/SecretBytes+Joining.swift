// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

extension SecretBytes {
  /// `count` zero bytes, to be filled.
  static func zeroed(count: Int) -> SecretBytes { SecretBytes(count: count) { _ in } }

  /// One secret after the other.
  static func joining(_ a: borrowing SecretBytes, _ b: borrowing SecretBytes) -> SecretBytes {
    var out = zeroed(count: a.count + b.count)
    out.withUnsafeMutableBytes { target in
      a.withUnsafeBytes { target.copyMemory(from: $0) }
      b.withUnsafeBytes { bytes in
        UnsafeMutableRawBufferPointer(rebasing: target[(target.count - bytes.count)...]).copyMemory(from: bytes)
      }
    }
    return out
  }
}

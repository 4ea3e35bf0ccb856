// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc

/// A secret that comes as one line of a descriptor.
enum SecretLine {
  /// The descriptor cannot be read.
  struct Unreadable: Error { let errno: Int32 }

  /// At most `limit` bytes of the next line, without its end, into locked memory. Read byte by byte: a second line on the
  /// same descriptor is left for whoever asks next.
  static func read(_ descriptor: Int32, limit: Int) throws(Unreadable) -> SecretBytes {
    var failure: Int32 = 0
    var total = 0
    var line = SecretBytes(count: limit) { room in
      while total < room.count {
        let count = Glibc.read(descriptor, room.baseAddress.map { $0 + total }, 1)
        if count < 0, errno == EINTR { continue }
        if count < 0 { failure = errno }
        if count <= 0 || room[total] == 0x0a { break }
        total += 1
      }
    }
    guard failure == 0 else { throw Unreadable(errno: failure) }
    // A file that was written on Windows ends its lines with two bytes.
    if total > 0, line.withUnsafeBytes({ $0[total - 1] == 0x0d }) { total -= 1 }
    line.truncate(to: total)
    return line
  }
}

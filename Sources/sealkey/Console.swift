// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// The two streams: stdout is the result, stderr the conversation.
enum Console {
  static func out(_ text: String) { write(1, text + "\n") }
  static func note(_ text: String) { write(2, text + "\n") }
  static func prompt(_ text: String) { write(2, text) }

  /// Bytes as they are.
  static func write(_ descriptor: Int32, _ bytes: [UInt8]) {
    var done = 0
    bytes.withUnsafeBytes { buffer in
      while done < buffer.count {
        let count = Glibc.write(descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return }
        done += count
      }
    }
  }

  private static func write(_ descriptor: Int32, _ text: String) { write(descriptor, Array(text.utf8)) }
}

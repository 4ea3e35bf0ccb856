// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import Synchronization
import WebAuthnCore

/// Whether a part of the result could not be written.
private let lost = Atomic<Bool>(false)

/// The two streams: stdout is the result, stderr the conversation.
enum Console {
  static func out(_ text: String) {
    if !write(1, Array((text + "\n").utf8)) { lost.store(true, ordering: .relaxed) }
  }
  /// Whether a part of the result could not be written.
  static var hasLost: Bool { lost.load(ordering: .relaxed) }
  /// Names and messages come out of files and keys: none of them steers the terminal.
  static func note(_ text: String) { write(2, text.printableLines + "\n") }
  static func prompt(_ text: String) { write(2, text.printableLines) }

  /// Bytes as they are; false when not all could be written.
  @discardableResult
  static func write(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
    var done = 0
    return bytes.withUnsafeBytes { buffer in
      while done < buffer.count {
        let count = Glibc.write(descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return false }
        done += count
      }
      return true
    }
  }

  private static func write(_ descriptor: Int32, _ text: String) { write(descriptor, Array(text.utf8)) }
}

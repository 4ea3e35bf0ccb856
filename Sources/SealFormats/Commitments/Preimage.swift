// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// The bytes that are hashed: the ASCII domain, then fields either framed or plain.
struct Preimage {
  private(set) var bytes: [UInt8]

  /// Starts with `domain`, which has no length in front of it.
  init(domain: String) {
    bytes = Array(domain.utf8)
  }

  /// A 4-byte big-endian length, then the bytes. Seal's lengths are 32 bits; nothing here comes near that.
  mutating func frame(_ field: some Collection<UInt8>) {
    let count = UInt32(clamping: field.count)
    bytes.append(UInt8(truncatingIfNeeded: count >> 24))
    bytes.append(UInt8(truncatingIfNeeded: count >> 16))
    bytes.append(UInt8(truncatingIfNeeded: count >> 8))
    bytes.append(UInt8(truncatingIfNeeded: count))
    bytes.append(contentsOf: field)
  }

  mutating func frame(_ text: String) { frame(text.utf8) }

  mutating func append(_ field: some Collection<UInt8>) { bytes.append(contentsOf: field) }

  mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }
}

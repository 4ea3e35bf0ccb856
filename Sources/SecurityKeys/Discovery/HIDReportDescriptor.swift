// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// What a HID report descriptor says of a key (USB HID 1.11 section 6.2.2): is it FIDO, and how long are its reports?
public struct HIDReportDescriptor: Sendable, Hashable {
  /// Bytes in a report from the key.
  public let inputSize: Int
  /// Bytes in a report to the key.
  public let outputSize: Int

  /// Nil when the descriptor has no FIDO collection (usage page 0xF1D0, usage 1) with sensible reports.
  public init?(_ bytes: [UInt8]) {
    var position = 0
    var (page, usage, size, count): (UInt32, UInt32, UInt32, UInt32) = (0, 0, 0, 0)
    var (input, output): (UInt64, UInt64) = (0, 0)
    var isFIDO = false
    while position < bytes.count {
      let prefix = bytes[position]
      if prefix == 0xFE {
        // A long item: its own length, and nothing in it that matters here.
        guard position + 2 < bytes.count else { return nil }
        position += 3 + Int(bytes[position + 1])
        continue
      }
      let length = [0, 1, 2, 4][Int(prefix & 3)]
      guard position + 1 + length <= bytes.count else { return nil }
      let value = (0..<length).reduce(UInt32(0)) { $0 | UInt32(bytes[position + 1 + $1]) << UInt32(8 * $1) }
      switch prefix & 0xFC {
      case 0x04: page = value
      case 0x08: usage = value
      case 0x74: size = value
      case 0x94: count = value
      case 0xA0:
        // A collection: the usage named just before it is what it is.
        if page == 0xF1D0, usage == 1 { isFIDO = true }
        usage = 0
      case 0x80: if isFIDO { input += UInt64(size) * UInt64(count) }
      case 0x90: if isFIDO { output += UInt64(size) * UInt64(count) }
      default: break
      }
      position += 1 + length
    }
    let (inBytes, outBytes) = (input / 8, output / 8)
    guard isFIDO, (8...1024).contains(inBytes), (8...1024).contains(outBytes) else { return nil }
    inputSize = Int(inBytes)
    outputSize = Int(outBytes)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// What a HID report descriptor (HID 1.11 section 6.2.2) says about FIDO: whether it is there, and how its reports
/// look. Sizes are read, never assumed.
public struct FIDOReports: Sendable, Hashable {
  /// Bytes in a report from the key, without report id.
  public let inputSize: Int
  /// Bytes in a report to the key, without report id.
  public let outputSize: Int
  /// The report id, where the device numbers its reports.
  public let reportID: UInt8?

  /// How they look on a hidraw node: an id before each report written, and before each report read if they are numbered.
  public var shape: ReportChannel.Shape {
    ReportChannel.Shape(outputSize: outputSize, inputSize: inputSize, writesReportID: true, reportID: reportID)
  }

  /// The reports of the first top-level collection on usage page 0xF1D0; nil when there is none, when the descriptor
  /// is cut off before its reports are known, or when no CTAPHID packet fits into them.
  public init?(descriptor: [UInt8]) {
    var reader = DescriptorReader()
    guard let found = reader.read(descriptor) else { return nil }
    let allowed = CTAPHIDFraming.smallestReportSize...CTAPHIDFraming.largestReportSize
    guard allowed.contains(found.input), allowed.contains(found.output) else { return nil }
    inputSize = found.input
    outputSize = found.output
    reportID = found.reportID
  }
}

/// Walks the items of a report descriptor.
private struct DescriptorReader {
  static let fidoPage: UInt32 = 0xF1D0

  struct Globals {
    var usagePage: UInt32 = 0
    var reportSize: UInt64 = 0
    var reportCount: UInt64 = 0
    var reportID: UInt8?
  }

  private var globals = Globals()
  private var stack: [Globals] = []
  /// The page of the last usage, which a long usage may carry itself.
  private var usagePage: UInt32?
  private var depth = 0
  private var isFIDO = false
  private var inputBits: UInt64 = 0
  private var outputBits: UInt64 = 0
  private var reportID: UInt8?

  mutating func read(_ bytes: [UInt8]) -> (input: Int, output: Int, reportID: UInt8?)? {
    var at = 0
    while at < bytes.count {
      let prefix = bytes[at]
      if prefix == 0xFE {
        // A long item: its own length, and nothing that a standard uses.
        guard at + 1 < bytes.count else { return nil }
        at += 3 + Int(bytes[at + 1])
        continue
      }
      let size = [0, 1, 2, 4][Int(prefix & 0x03)]
      guard bytes.count - at > size else { return nil }
      let data = bytes[(at + 1)..<(at + 1 + size)].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      at += 1 + size
      if item(prefix & 0xFC, data, size) { break }
    }
    guard inputBits > 0, outputBits > 0, inputBits % 8 == 0, outputBits % 8 == 0, inputBits < 1 << 20,
      outputBits < 1 << 20
    else { return nil }
    return (Int(inputBits / 8), Int(outputBits / 8), reportID)
  }

  /// Takes one item; true when the FIDO collection has ended.
  private mutating func item(_ tag: UInt8, _ data: UInt32, _ size: Int) -> Bool {
    switch tag {
    // Global items.
    case 0x04: globals.usagePage = data
    case 0x74: globals.reportSize = UInt64(data)
    case 0x84: globals.reportID = UInt8(truncatingIfNeeded: data)
    case 0x94: globals.reportCount = UInt64(data)
    case 0xA4: stack.append(globals)
    case 0xB4: globals = stack.popLast() ?? globals
    // Usage.
    case 0x08: usagePage = size == 4 ? data >> 16 : globals.usagePage
    // Collection and its end.
    case 0xA0:
      if depth == 0 { isFIDO = (usagePage ?? globals.usagePage) == Self.fidoPage }
      depth += 1
      usagePage = nil
    case 0xC0:
      depth = max(0, depth - 1)
      usagePage = nil
      if depth == 0, isFIDO { return true }
    case 0x80, 0x90:
      usagePage = nil
      guard isFIDO, depth > 0 else { return false }
      let bits = globals.reportSize.multipliedReportingOverflow(by: globals.reportCount)
      let added = bits.overflow ? UInt64.max : min(bits.partialValue, 1 << 30)
      if tag == 0x80 { inputBits &+= min(added, 1 << 30) } else { outputBits &+= min(added, 1 << 30) }
      reportID = globals.reportID
    default: break
    }
    return false
  }
}

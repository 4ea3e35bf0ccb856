// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing

@testable import SecurityKeys

@Suite("HID report descriptors")
struct HIDReportDescriptorTests {
  /// Usage page F1D0, usage 1, one collection with an input and an output report of 64 bytes.
  static let usual = bytes(hex: "06d0f10901a1010920150026ff007508954081020921150026ff00750895409102c0")
  /// A keyboard.
  static let keyboard = bytes(
    hex:
      "05010906a101050719e029e71500250175019508810295017508810195057501050819012905910295017503910195067508150025650507190029658100c0"
  )

  @Test("the usual key has reports of 64 bytes and no report id")
  func usualKey() throws {
    let reports = try #require(FIDOReports(descriptor: Self.usual))
    #expect(reports.inputSize == 64)
    #expect(reports.outputSize == 64)
    #expect(reports.reportID == nil)
    #expect(reports.shape.writesReportID)
  }

  @Test("sizes are read, not assumed: 32 and 256 bytes, report id 5")
  func otherSizes() throws {
    let descriptor = bytes(
      hex: "06d0f10901a101850509201500" + "26ff00" + "7508" + "9520" + "8102" + "0921" + "960001" + "9102c0")
    let reports = try #require(FIDOReports(descriptor: descriptor))
    #expect(reports.inputSize == 32)
    #expect(reports.outputSize == 256)
    #expect(reports.reportID == 5)
  }

  @Test("FIDO is found behind another collection, and through a four-byte usage")
  func composite() throws {
    let behind = try #require(FIDOReports(descriptor: Self.keyboard + Self.usual))
    #expect(behind.inputSize == 64)
    let long = bytes(hex: "05010b0100d0f1a1010920150026ff007508954081020921954091" + "02c0")
    #expect(FIDOReports(descriptor: long)?.outputSize == 64)
  }

  @Test("pushed and popped globals count")
  func pushPop() throws {
    let descriptor = bytes(hex: "06d0f10901a10175089540a4951081" + "02b4" + "9102c0")
    let reports = try #require(FIDOReports(descriptor: descriptor))
    #expect(reports.inputSize == 16)
    #expect(reports.outputSize == 64)
  }

  @Test(
    "what is no FIDO device is none",
    arguments: [
      "", "06d0f1", "fe", "feff00", "06d0f10901a101c0", "06d0f10901a10175089540810" + "2c0",
      // Reports of 4 bytes, of 3 bits, and of 2^32 bits.
      "06d0f10901a10175089504810291" + "02c0", "06d0f10901a1017501950381029102c0",
      "06d0f10901a10177ffffffff97ffffffff81029102c0",
      // Another page.
      "0600ff0901a1017508954081029102c0",
    ])
  func notFIDO(hex: String) { #expect(FIDOReports(descriptor: bytes(hex: hex)) == nil) }

  @Test("no truncation and no changed byte traps")
  func robustness() {
    for end in 0..<Self.usual.count { _ = FIDOReports(descriptor: Array(Self.usual[..<end])) }
    for at in Self.usual.indices {
      for byte in UInt8.min...UInt8.max {
        var changed = Self.usual
        changed[at] = byte
        if let reports = FIDOReports(descriptor: changed) {
          #expect((8...1024).contains(reports.inputSize) && (8...1024).contains(reports.outputSize))
        }
      }
    }
    #expect(FIDOReports(descriptor: Self.keyboard) == nil)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing

@testable import CTAPWire

@Suite("CTAPHID framing", .arithmetic)
struct CTAPHIDFramingTests {
  static let sizes = [8, 16, 57, 64, 65, 128, 512, 1024]

  @Test("64-byte reports carry 7609 bytes and not one more")
  func limits() throws {
    #expect(CTAPHIDFraming.maximumPayload() == 7609)
    let most = CTAPHIDMessage(channel: 1, command: .cbor, payload: [UInt8](repeating: 1, count: 7609))
    #expect(try CTAPHIDFraming.reports(of: most).count == 129)
    var over = most
    over.payload.append(1)
    #expect(throws: CTAPHIDFault.messageTooLong(length: 7610, limit: 7609)) { try CTAPHIDFraming.reports(of: over) }
  }

  @Test("every message comes back as it was", arguments: sizes)
  func roundTrip(size: Int) throws {
    let most = CTAPHIDFraming.maximumPayload(reportSize: size)
    let edges = [0, 1, size - 8, size - 7, size - 6, 2 * size - 12, 2 * size - 11, most - 1, most].filter { $0 >= 0 }
    for length in edges {
      let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
      let message = CTAPHIDMessage(channel: 0xA1B2_C3D4, command: .cbor, payload: payload)
      let reports = try CTAPHIDFraming.reports(of: message, reportSize: size)
      #expect(reports.allSatisfy { $0.count == size })
      var assembler = CTAPHIDAssembler(channel: 0xA1B2_C3D4, reportSize: size)
      for report in reports.dropLast() { #expect(try assembler.add(report) == .incomplete) }
      let last = try #require(reports.last)
      #expect(try assembler.add(last) == .message(message))
    }
  }

  private func twoPackets(_ channel: UInt32 = 7) throws -> [[UInt8]] {
    try CTAPHIDFraming.reports(
      of: CTAPHIDMessage(channel: channel, command: .ping, payload: [UInt8](repeating: 9, count: 150)))
  }

  @Test("packets out of order, doubled or lost are named")
  func sequence() throws {
    let reports = try twoPackets()
    for (order, fault) in [
      ([0, 2], CTAPHIDFault.wrongSequence(expected: 0, actual: 1)),
      ([0, 1, 1], .wrongSequence(expected: 1, actual: 0)),
      ([0, 0], .interrupted(command: 1)),
    ] {
      var assembler = CTAPHIDAssembler()
      for i in order.dropLast() { #expect(try assembler.add(reports[i]) == .incomplete) }
      #expect(throws: fault) { try assembler.add(reports[order[order.count - 1]]) }
      #expect(assembler.channelInProgress == nil)
    }
  }

  @Test("strays and other channels are handed back")
  func channels() throws {
    let reports = try twoPackets()
    let other = try twoPackets(8)
    var key = CTAPHIDAssembler()
    #expect(try key.add(reports[1]) == .stray(CTAPHIDPacket(report: reports[1])))
    #expect(try key.add(reports[0]) == .incomplete)
    #expect(try key.add(other[0]) == .otherChannel(CTAPHIDPacket(report: other[0])))
    #expect(try key.add(other[1]) == .otherChannel(CTAPHIDPacket(report: other[1])))
    #expect(try key.add(reports[1]) == .incomplete)
    guard case .message(let message) = try key.add(reports[2]) else {
      Issue.record("the message is not complete")
      return
    }
    #expect(message.channel == 7)
    var host = CTAPHIDAssembler(channel: 8)
    #expect(try host.add(reports[0]) == .otherChannel(CTAPHIDPacket(report: reports[0])))
  }

  @Test("a length that no message can have is refused before anything is kept", arguments: [7610, 0x8000, 0xFFFF])
  func absurdLength(length: Int) throws {
    var report = [UInt8](repeating: 0, count: 64)
    report[4] = 0x90
    report[5] = UInt8(length >> 8)
    report[6] = UInt8(length & 0xFF)
    var assembler = CTAPHIDAssembler()
    #expect(throws: CTAPHIDFault.messageTooLong(length: length, limit: 7609)) { try assembler.add(report) }
    #expect(assembler.channelInProgress == nil)
  }

  @Test("reports of another size are refused", arguments: [0, 1, 7, 63, 65, 128])
  func wrongSize(count: Int) {
    var assembler = CTAPHIDAssembler()
    #expect(throws: CTAPHIDFault.wrongReportSize(expected: 64, actual: count)) {
      try assembler.add([UInt8](repeating: 0, count: count))
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import TestSupport
import Testing

@testable import CTAPWire

@Suite("APDU", .arithmetic)
struct APDUTests {
  static let lengths = [0, 1, 2, 240, 254, 255]
  static let longLengths = lengths + [256, 257, 1024, 7609, 65535]

  private func apdu(_ length: Int, le: Int?) -> CommandAPDU {
    CommandAPDU(cla: 0x80, ins: 0x10, p1: 1, p2: 2, data: [UInt8](repeating: 0, count: length), le: le)
  }

  @Test("short forms read back", arguments: lengths, [nil, 1, 255, 256])
  func short(length: Int, le: Int?) throws {
    let apdu = apdu(length, le: le)
    #expect(try CommandAPDU(parsing: apdu.shortForm()) == apdu)
  }

  @Test("extended forms read back", arguments: longLengths, [nil, 1, 255, 256, 65536])
  func extended(length: Int, le: Int?) throws {
    let apdu = apdu(length, le: le)
    #expect(try CommandAPDU(parsing: apdu.extendedForm()) == apdu)
  }

  @Test("what does not fit is refused")
  func tooLong() {
    #expect(throws: APDUError.dataTooLong(length: 256, limit: 255)) { try apdu(256, le: nil).shortForm() }
    #expect(throws: APDUError.dataTooLong(length: 65536, limit: 65535)) { try apdu(65536, le: nil).extendedForm() }
  }

  @Test("chains come together again, Le on the last only", arguments: longLengths, [1, 17, 240, 255])
  func chain(length: Int, segment: Int) throws {
    guard length / segment < 2000 else { return }
    var whole = apdu(length, le: 256)
    whole.data = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
    let parts = whole.chained(segment: segment)
    var chain = APDUChain()
    for part in parts.dropLast() {
      #expect(part.cla == 0x90 && part.le == nil)
      #expect(try chain.add(part) == nil)
    }
    let last = try #require(parts.last)
    #expect(try chain.add(last) == whole)
  }

  @Test("a foreign link breaks the chain, and the chain is forgotten")
  func brokenChain() throws {
    var chain = APDUChain()
    #expect(try chain.add(CommandAPDU(cla: 0x90, ins: 0x10, data: [1])) == nil)
    #expect(throws: APDUError.brokenChain) { try chain.add(CommandAPDU(cla: 0x80, ins: 0x11, data: [2])) }
    #expect(try chain.add(CommandAPDU(cla: 0x80, ins: 0x10, data: [3]))?.data == [3])
  }

  @Test("every truncation reads as another command or is refused, and never traps")
  func truncations() throws {
    for bytes in [try apdu(200, le: 256).shortForm(), try apdu(300, le: 65536).extendedForm()] {
      for count in 0..<bytes.count { _ = try? CommandAPDU(parsing: Array(bytes[..<count])) }
      for count in 0..<4 {
        #expect(throws: APDUError.malformed(length: count)) { try CommandAPDU(parsing: Array(bytes[..<count])) }
      }
    }
    #expect(throws: APDUError.malformed(length: 9)) { try CommandAPDU(parsing: [0, 1, 2, 3, 0, 0, 5, 1, 2]) }
  }

  @Test("U2F over USB writes a length of zero before Le")
  func zeroLength() throws {
    #expect(try CommandAPDU(parsing: [0, 3, 0, 0, 0, 0, 0, 0, 0]) == CommandAPDU(ins: 3, le: 65536))
  }

  @Test("long responses go out in parts", arguments: [0, 1, 255, 256, 257, 512, 1000], [1, 16, 255, 256])
  func responses(length: Int, le: Int) throws {
    let data = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
    var queue = APDUResponseQueue()
    var part = queue.begin(ResponseAPDU(data: data, status: .success), le: le)
    var read = part.data
    while let available = part.status.bytesAvailable {
      #expect(available == (length - read.count > 255 ? 0 : UInt8(length - read.count)))
      part = queue.next(le: min(le, 256))
      read += part.data
    }
    #expect(read == data)
    #expect(part.status == .success)
    #expect(queue.isEmpty)
  }
}

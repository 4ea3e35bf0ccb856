// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import WebAuthnCore

/// The key's end of a HID device that the kernel makes for us (Linux `uhid`): a real `/dev/hidrawN` appears, and every
/// program on the machine can use the virtual key.
///
/// Events are laid out as in linux/uhid.h: a 32-bit type, then the event's own packed record.
final class UHIDEndpoint: ReportEndpoint {
  let descriptor: Int32
  private let reportSize: Int

  private enum EventType {
    static let destroy: UInt32 = 1
    static let stop: UInt32 = 3
    static let output: UInt32 = 6
    static let getReport: UInt32 = 9
    static let getReportReply: UInt32 = 10
    static let create2: UInt32 = 11
    static let input2: UInt32 = 12
    static let setReport: UInt32 = 13
    static let setReportReply: UInt32 = 14
  }

  /// Bytes in a whole event: the type and the largest record, that of CREATE2.
  private static let eventSize = 4 + 4372
  private static let dataSize = 4096

  /// Makes the device. The bus is USB, or libfido2 lists nothing; the name says what it is.
  init(serial: String, reportSize: Int) throws(VirtualKeyHostError) {
    let fd = open("/dev/uhid", O_RDWR | O_CLOEXEC | O_NONBLOCK)
    guard fd >= 0 else { throw .last("open /dev/uhid") }
    descriptor = fd
    self.reportSize = reportSize
    let report = Self.reportDescriptor(reportSize)
    var event = Self.littleEndian(EventType.create2)
    event += Self.text(SimulatedKey.deviceName, 128) + Self.text("sealkey", 64) + Self.text(serial, 64)
    event += Self.littleEndian(UInt16(report.count)) + Self.littleEndian(UInt16(3))
    // pid.codes' number for tests, and a product number of our own.
    event += Self.littleEndian(UInt32(0x1209)) + Self.littleEndian(UInt32(0xF1D0))
    event += Self.littleEndian(UInt32(1)) + Self.littleEndian(UInt32(0)) + report
    event += [UInt8](repeating: 0, count: Self.eventSize - event.count)
    guard write(fd, event, event.count) == event.count else {
      let error = VirtualKeyHostError.last("write /dev/uhid")
      Glibc.close(fd)
      throw error
    }
  }

  func receive() -> ReportInput {
    var event = [UInt8](repeating: 0, count: Self.eventSize)
    let count = read(descriptor, &event, event.count)
    if count < 0 { return errno == EAGAIN || errno == EINTR ? .nothing : .closed }
    guard count >= 4 else { return .nothing }
    let type = event[..<4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    switch type {
    case EventType.output:
      guard count >= 4 + Self.dataSize + 2 else { return .nothing }
      let size = Int(event[4 + Self.dataSize]) | Int(event[4 + Self.dataSize + 1]) << 8
      guard size <= Self.dataSize else { return .nothing }
      // hidraw's leading report id 0 arrives here too.
      if size == reportSize + 1, event[4] == 0 { return .report(Array(event[5..<(5 + reportSize)])) }
      return .report(Array(event[4..<(4 + size)]))
    case EventType.getReport: reply(EventType.getReportReply, to: event)
    case EventType.setReport: reply(EventType.setReportReply, to: event)
    // STOP follows DESTROY, or a driver that is unbound: nothing more can come.
    case EventType.stop: return .closed
    default: break
    }
    return .nothing
  }

  /// A FIDO key has no feature reports: whoever asks is told so and does not wait.
  private func reply(_ type: UInt32, to event: [UInt8]) {
    var answer = Self.littleEndian(type) + event[4..<8] + Self.littleEndian(UInt16(truncatingIfNeeded: EIO))
    answer += [UInt8](repeating: 0, count: Self.eventSize - answer.count)
    _ = write(descriptor, answer, answer.count)
  }

  func send(_ report: [UInt8]) -> Bool {
    guard report.count <= Self.dataSize else { return true }
    let event = Self.littleEndian(EventType.input2) + Self.littleEndian(UInt16(report.count)) + report
    while write(descriptor, event, event.count) < 0 {
      switch errno {
      case EINTR: continue
      case EAGAIN: usleep(1000)
      default: return false
      }
    }
    return true
  }

  func close() {
    var event = Self.littleEndian(EventType.destroy)
    event += [UInt8](repeating: 0, count: Self.eventSize - event.count)
    _ = write(descriptor, event, event.count)
    Glibc.close(descriptor)
  }

  /// The report descriptor of every FIDO key (CTAP 2.1 section 11.2.8.1).
  static func reportDescriptor(_ size: Int) -> [UInt8] {
    // A count of more than 255 takes the two-byte item.
    let count: [UInt8] = size < 256 ? [0x95, UInt8(size)] : [0x96, UInt8(size & 0xFF), UInt8(size >> 8)]
    let range: [UInt8] = [0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08] + count
    return [0x06, 0xD0, 0xF1, 0x09, 0x01, 0xA1, 0x01, 0x09, 0x20] + range + [0x81, 0x02, 0x09, 0x21] + range
      + [0x91, 0x02, 0xC0]
  }

  private static func littleEndian<N: FixedWidthInteger>(_ n: N) -> [UInt8] {
    withUnsafeBytes(of: n.littleEndian) { Array($0) }
  }

  private static func text(_ text: String, _ size: Int) -> [UInt8] {
    let bytes = Array(text.utf8.prefix(size - 1))
    return bytes + [UInt8](repeating: 0, count: size - bytes.count)
  }
}

extension VirtualKeyHost {
  /// Serves the key as a HID device of the kernel; needs root and the module `uhid`.
  /// - Parameter serial: what the device gives as its serial number.
  /// - Throws: ``VirtualKeyHostError``.
  public static func uhid(
    _ key: VirtualAuthenticator, serial: String = "virtual", faults: FaultScript = FaultScript()
  ) throws(VirtualKeyHostError) -> VirtualKeyHost {
    let endpoint = try UHIDEndpoint(serial: serial, reportSize: key.profile.reportSize)
    return try serve(key, endpoint, faults: faults)
  }
}

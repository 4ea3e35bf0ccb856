// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// One CTAPHID message, whole (CTAP 2.1 section 11.2.4).
public struct CTAPHIDMessage: Sendable, Hashable {
  /// The channel it travels on.
  public var channel: UInt32
  /// The command byte, without the 0x80 bit: often a ``CTAPHIDCommand``.
  public var command: UInt8
  /// What it carries, 0 to 7609 bytes with 64-byte reports.
  public var payload: [UInt8]

  /// A message with any command byte; its top bit is dropped.
  public init(channel: UInt32, command: UInt8, payload: [UInt8]) {
    self.channel = channel
    self.command = command & 0x7F
    self.payload = payload
  }

  /// A message with a known command.
  public init(channel: UInt32, command: CTAPHIDCommand, payload: [UInt8] = []) {
    self.init(channel: channel, command: command.rawValue, payload: payload)
  }

  /// The command, when the standard knows it.
  public var knownCommand: CTAPHIDCommand? { CTAPHIDCommand(rawValue: command) }
}

/// How a message becomes reports. Both sides of the wire use it.
public enum CTAPHIDFraming {
  /// The channel on which a host asks for its own.
  public static let broadcastChannel: UInt32 = 0xFFFF_FFFF
  /// The report size of nearly every key, in bytes.
  public static let usualReportSize = 64
  /// The smallest report that can carry a packet with a byte of data, in bytes.
  public static let smallestReportSize = 8
  /// The largest report taken, in bytes.
  public static let largestReportSize = 1024

  /// Bytes of payload in an initialisation packet: after channel, command and length.
  static func initialCapacity(_ reportSize: Int) -> Int { reportSize - 7 }
  /// Bytes of payload in a continuation packet: after channel and sequence number.
  static func continuationCapacity(_ reportSize: Int) -> Int { reportSize - 5 }

  /// The longest payload, in bytes: one initialisation packet and 128 continuations, or what the 16-bit length
  /// can say. 7609 with 64-byte reports.
  public static func maximumPayload(reportSize: Int = usualReportSize) -> Int {
    let size = clamped(reportSize)
    return min(initialCapacity(size) + 128 * continuationCapacity(size), 0xFFFF)
  }

  /// The reports of a message, in order, each exactly `reportSize` bytes, zero padded, without a report id.
  /// - Throws: ``CTAPHIDFault/messageTooLong(length:limit:)``.
  public static func reports(
    of message: CTAPHIDMessage, reportSize: Int = usualReportSize
  ) throws(CTAPHIDFault) -> [[UInt8]] {
    let size = clamped(reportSize)
    let payload = message.payload
    let limit = maximumPayload(reportSize: size)
    guard payload.count <= limit else { throw .messageTooLong(length: payload.count, limit: limit) }
    let channel = bigEndian(message.channel)
    let length = payload.count
    var sent = min(initialCapacity(size), length)
    var reports = [
      padded(
        channel + [message.command | 0x80, UInt8(length >> 8), UInt8(length & 0xFF)] + payload[..<sent], to: size)
    ]
    var sequence: UInt8 = 0
    while sent < length {
      let end = min(sent + continuationCapacity(size), length)
      reports.append(padded(channel + [sequence] + payload[sent..<end], to: size))
      sent = end
      sequence += 1
    }
    return reports
  }

  private static func clamped(_ size: Int) -> Int { min(max(size, smallestReportSize), largestReportSize) }

  private static func bigEndian(_ n: UInt32) -> [UInt8] {
    [UInt8(n >> 24), UInt8(n >> 16 & 0xFF), UInt8(n >> 8 & 0xFF), UInt8(n & 0xFF)]
  }

  private static func padded(_ bytes: [UInt8], to size: Int) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: size - bytes.count)
  }
}

/// One report, read.
public struct CTAPHIDPacket: Sendable, Hashable {
  /// The two kinds of packet.
  public enum Kind: Sendable, Hashable {
    /// Starts a message: the command without its 0x80 bit, and the length of the whole payload in bytes.
    case initial(command: UInt8, length: Int)
    /// Goes on with one: 0 to 127.
    case continuation(sequence: UInt8)
  }

  /// The channel.
  public let channel: UInt32
  /// The kind.
  public let kind: Kind
  /// The bytes after the header, padding included.
  public let data: [UInt8]

  /// Reads a report without report id.
  /// - Throws: ``CTAPHIDFault/wrongReportSize(expected:actual:)``.
  public init(report: [UInt8], reportSize: Int = CTAPHIDFraming.usualReportSize) throws(CTAPHIDFault) {
    guard report.count == reportSize, report.count >= CTAPHIDFraming.smallestReportSize else {
      throw .wrongReportSize(expected: reportSize, actual: report.count)
    }
    channel = report[..<4].reduce(0) { $0 << 8 | UInt32($1) }
    if report[4] & 0x80 != 0 {
      kind = .initial(command: report[4] & 0x7F, length: Int(report[5]) << 8 | Int(report[6]))
      data = Array(report[7...])
    } else {
      kind = .continuation(sequence: report[4])
      data = Array(report[5...])
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// Puts reports together again, one message at a time (CTAP 2.1 section 11.2.4 and 11.2.5).
///
/// A host names its channel and hears nothing else. A key names none: the first packet of a message decides, and
/// packets of other channels are handed back until it is complete, so that the key can answer BUSY.
public struct CTAPHIDAssembler: Sendable {
  /// What one more report came to.
  public enum Outcome: Sendable, Hashable {
    /// A message is complete.
    case message(CTAPHIDMessage)
    /// More is to come.
    case incomplete
    /// A packet of another channel, not taken in.
    case otherChannel(CTAPHIDPacket)
    /// A continuation without a message to continue; the standard says to ignore it.
    case stray(CTAPHIDPacket)
  }

  private let channel: UInt32?
  private let reportSize: Int
  private let limit: Int
  private var partial: Partial?

  private struct Partial {
    var message: CTAPHIDMessage
    let length: Int
    var next: UInt8
  }

  /// An assembler with nothing in it.
  /// - Parameters:
  ///   - channel: the only channel to hear (a host), or nil (a key).
  ///   - reportSize: bytes in every report.
  ///   - limit: the longest payload to take, in bytes; never more than the wire can carry.
  public init(channel: UInt32? = nil, reportSize: Int = CTAPHIDFraming.usualReportSize, limit: Int? = nil) {
    self.channel = channel
    self.reportSize = reportSize
    let most = CTAPHIDFraming.maximumPayload(reportSize: reportSize)
    self.limit = min(limit ?? most, most)
  }

  /// The channel of the message that is under way.
  public var channelInProgress: UInt32? { partial?.message.channel }

  /// The command of the message that is under way.
  public var commandInProgress: UInt8? { partial?.message.command }

  /// Forgets the message that is under way.
  public mutating func reset() { partial = nil }

  /// Takes one report in.
  /// - Throws: ``CTAPHIDFault``. The message under way is forgotten then; after `interrupted`, the packet that
  ///   interrupted has not been taken in either and may be added again.
  public mutating func add(_ report: [UInt8]) throws(CTAPHIDFault) -> Outcome {
    try add(CTAPHIDPacket(report: report, reportSize: reportSize))
  }

  /// Takes one packet in; as ``add(_:)-([UInt8])``.
  public mutating func add(_ packet: CTAPHIDPacket) throws(CTAPHIDFault) -> Outcome {
    if let wanted = channel ?? partial?.message.channel, packet.channel != wanted { return .otherChannel(packet) }
    switch packet.kind {
    case .initial(let command, let length):
      guard partial == nil else {
        partial = nil
        throw .interrupted(command: command)
      }
      guard length <= limit else { throw .messageTooLong(length: length, limit: limit) }
      let message = CTAPHIDMessage(
        channel: packet.channel, command: command, payload: Array(packet.data.prefix(length)))
      return step(Partial(message: message, length: length, next: 0))
    case .continuation(let sequence):
      guard var current = partial else { return .stray(packet) }
      guard sequence == current.next else {
        partial = nil
        throw .wrongSequence(expected: current.next, actual: sequence)
      }
      current.message.payload += packet.data.prefix(current.length - current.message.payload.count)
      current.next += 1
      return step(current)
    }
  }

  private mutating func step(_ current: Partial) -> Outcome {
    guard current.message.payload.count < current.length else {
      partial = nil
      return .message(current.message)
    }
    partial = current
    return .incomplete
  }
}

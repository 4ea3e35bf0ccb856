// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore

/// The key's side of CTAPHID (CTAP 2.1 section 11.2), without a wire and without a clock of its own: reports and the
/// time go in, effects come out.
struct CTAPHIDDevice {
  enum Effect: Equatable {
    /// Answer.
    case send(CTAPHIDMessage)
    /// Do a CBOR or MSG command, then call ``finish()``.
    case execute(CTAPHIDMessage)
    /// The host cancels the command that is being done.
    case cancel
    /// The host has resynchronised the channel of the command that is being done: give it up, answer nothing.
    case abandon
    /// A channel starts afresh.
    case endSession(UInt32)
  }

  /// INIT's capability flags (section 11.2.9.1.3).
  struct Capabilities: OptionSet {
    let rawValue: UInt8
    static let wink = Capabilities(rawValue: 0x01)
    static let cbor = Capabilities(rawValue: 0x04)
    static let noMessage = Capabilities(rawValue: 0x08)
  }

  let reportSize: Int
  let capabilities: Capabilities
  /// Whether CBOR and MSG are really done.
  let acceptsCBOR: Bool
  let acceptsMessage: Bool
  let timing: KeyTiming
  let initAborts: Bool
  private static let channelLimit = 64
  private var assembler: CTAPHIDAssembler
  private var channels: [UInt32] = []
  private var lastPacketAt: Int64 = 0
  private var executing: UInt32?
  private var lock: (channel: UInt32, until: Int64)?
  private let newChannel: () -> UInt32

  init(profile: ModelProfile, timing: KeyTiming, newChannel: (() -> UInt32)? = nil) {
    reportSize = profile.reportSize
    var capabilities: Capabilities = [.wink]
    if profile.speaksCTAP2 { capabilities.insert(.cbor) }
    if !profile.speaksU2F { capabilities.insert(.noMessage) }
    self.capabilities = capabilities
    acceptsCBOR = profile.speaksCTAP2 && !profile.quirks.contains(.cborPromisedButRefused)
    acceptsMessage = profile.speaksU2F
    initAborts = !profile.quirks.contains(.initDoesNotAbort)
    self.timing = timing
    assembler = CTAPHIDAssembler(reportSize: profile.reportSize)
    self.newChannel = newChannel ?? { Random.bytes(4).reduce(0) { $0 << 8 | UInt32($1) } }
  }

  /// When ``tick(now:)`` is due.
  var deadline: Int64? { assembler.channelInProgress == nil ? nil : lastPacketAt + timing.messageTimeout }

  /// The command is done.
  mutating func finish() { executing = nil }

  /// Gives up a message whose rest does not come.
  mutating func tick(now: Int64) -> [Effect] {
    guard let channel = assembler.channelInProgress, now >= lastPacketAt + timing.messageTimeout else { return [] }
    assembler.reset()
    return [error(.messageTimeout, channel)]
  }

  /// Takes a report.
  mutating func receive(_ report: [UInt8], now: Int64) -> [Effect] {
    let late = tick(now: now)
    // A report of a wrong size cannot come over USB; over other wires it is dropped.
    guard let packet = try? CTAPHIDPacket(report: report, reportSize: reportSize) else { return late }
    if let held = lock, now >= held.until { lock = nil }
    return late + (executing.map { whileBusy(packet, $0) } ?? whileIdle(packet, now: now))
  }

  private mutating func whileBusy(_ packet: CTAPHIDPacket, _ busy: UInt32) -> [Effect] {
    guard case .initial(let command, let length) = packet.kind else { return [] }
    guard packet.channel == busy else { return [error(.channelBusy, packet.channel)] }
    switch CTAPHIDCommand(rawValue: command) {
    case .cancel: return [.cancel]
    case .initialise where initAborts && length == 8:
      return [.abandon, .endSession(busy), initReply(nonce: Array(packet.data.prefix(8)), on: busy, channel: busy)]
    default: return [error(.channelBusy, busy)]
    }
  }

  private mutating func whileIdle(_ packet: CTAPHIDPacket, now: Int64) -> [Effect] {
    if assembler.channelInProgress == nil, case .initial(let command, _) = packet.kind {
      let isInit = command == CTAPHIDCommand.initialise.rawValue
      let known = channels.contains(packet.channel)
      guard known || (packet.channel == CTAPHIDFraming.broadcastChannel && isInit) else {
        return [error(.invalidChannel, packet.channel)]
      }
      if let held = lock, held.channel != packet.channel { return [error(.channelBusy, packet.channel)] }
    }
    do {
      switch try assembler.add(packet) {
      case .message(let message): return dispatch(message, now: now)
      case .incomplete:
        lastPacketAt = now
        return []
      case .otherChannel(let other):
        if case .initial = other.kind { return [error(.channelBusy, other.channel)] }
        return []
      case .stray: return []
      }
    } catch {
      switch error {
      case .wrongSequence: return [self.error(.invalidSequence, packet.channel)]
      case .messageTooLong: return [self.error(.invalidLength, packet.channel)]
      case .interrupted(let command):
        // INIT resynchronises (section 11.2.9.1.3); anything else in mid-message is out of order.
        guard command == CTAPHIDCommand.initialise.rawValue else {
          return [self.error(.invalidSequence, packet.channel)]
        }
        return whileIdle(packet, now: now)
      case .wrongReportSize: return []
      }
    }
  }

  private mutating func dispatch(_ message: CTAPHIDMessage, now: Int64) -> [Effect] {
    let channel = message.channel
    func reply(_ payload: [UInt8] = []) -> [Effect] {
      [.send(CTAPHIDMessage(channel: channel, command: message.command, payload: payload))]
    }
    switch message.knownCommand {
    case .initialise:
      guard message.payload.count == 8 else { return [error(.invalidLength, channel)] }
      guard channel == CTAPHIDFraming.broadcastChannel else {
        return [.endSession(channel), initReply(nonce: message.payload, on: channel, channel: channel)]
      }
      let (fresh, effects) = allocate()
      return effects + [initReply(nonce: message.payload, on: channel, channel: fresh)]
    case .ping: return reply(message.payload)
    case .wink:
      guard message.payload.isEmpty else { return [error(.invalidLength, channel)] }
      return reply()
    case .lock:
      guard message.payload.count == 1 else { return [error(.invalidLength, channel)] }
      guard message.payload[0] <= 10 else { return [error(.invalidParameter, channel)] }
      lock = message.payload[0] == 0 ? nil : (channel, now + Int64(message.payload[0]) * 1000)
      return reply()
    case .cancel: return []
    case .cbor where acceptsCBOR, .message where acceptsMessage:
      guard !message.payload.isEmpty else { return [error(.invalidLength, channel)] }
      executing = channel
      return [.execute(message)]
    default: return [error(.invalidCommand, channel)]
    }
  }

  /// A channel nobody has; the oldest one makes room.
  private mutating func allocate() -> (UInt32, [Effect]) {
    var fresh = newChannel()
    while fresh == 0 || fresh == CTAPHIDFraming.broadcastChannel || channels.contains(fresh) { fresh = newChannel() }
    var effects: [Effect] = []
    if channels.count >= Self.channelLimit { effects = [.endSession(channels.removeFirst())] }
    channels.append(fresh)
    return (fresh, effects)
  }

  private func initReply(nonce: [UInt8], on wire: UInt32, channel: UInt32) -> Effect {
    let id = (0..<4).map { UInt8(channel >> (24 - 8 * UInt32($0)) & 0xFF) }
    // CTAPHID version 2, device version 1.0.0.
    return .send(
      CTAPHIDMessage(
        channel: wire, command: .initialise, payload: nonce + id + [2, 1, 0, 0, capabilities.rawValue]))
  }

  private func error(_ code: CTAPHIDErrorCode, _ channel: UInt32) -> Effect {
    .send(CTAPHIDMessage(channel: channel, command: .error, payload: [code.rawValue]))
  }
}

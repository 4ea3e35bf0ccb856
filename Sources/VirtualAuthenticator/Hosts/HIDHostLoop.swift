// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc

/// Serves a key on a wire that moves reports, on one thread: while the key waits for the person, the same thread keeps
/// the wire going.
// Used on the host's thread only.
final class HIDHostLoop: PresenceWaiter {
  private let key: VirtualAuthenticator
  private let endpoint: ReportEndpoint
  private let faults: FaultScript
  private let control: HostControl
  private let clock: KeyClock
  private let timing: KeyTiming
  private var device: CTAPHIDDevice
  private var isGone = false
  /// Of the command that is being done.
  private var current: CTAPHIDMessage?
  private var interruption: PresenceOutcome?
  private var ignoresCancel = false
  private var endedSessions: [UInt32] = []

  init(key: VirtualAuthenticator, endpoint: ReportEndpoint, faults: FaultScript, control: HostControl) {
    self.key = key
    self.endpoint = endpoint
    self.faults = faults
    self.control = control
    clock = key.clock
    timing = key.timing
    device = CTAPHIDDevice(profile: key.profile, timing: key.timing)
  }

  func run() {
    while !isGone {
      pump(until: device.deadline, alsoPoll: nil)
      perform(device.tick(now: clock.now()))
    }
    endpoint.close()
  }

  /// Waits for the wire, for `other`, for the end, or for the deadline, and takes in what came.
  private func pump(until deadline: Int64?, alsoPoll other: Int32?) {
    guard !control.isStopped else {
      isGone = true
      return
    }
    var wait: Int32 = -1
    if let deadline { wait = Int32(clamping: max(0, min(deadline - clock.now(), 1000))) }
    var polled = [
      pollfd(fd: endpoint.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: control.wake.readEnd, events: Int16(POLLIN), revents: 0),
      pollfd(fd: other ?? -1, events: Int16(POLLIN), revents: 0),
    ]
    guard poll(&polled, 3, wait) > 0 else { return }
    guard polled[1].revents == 0 else {
      isGone = true
      return
    }
    guard polled[0].revents != 0 else { return }
    switch endpoint.receive() {
    case .report(let report): take(report)
    case .nothing: break
    case .closed: isGone = true
    }
  }

  private func take(_ report: [UInt8]) {
    for report in faulty(report, .toKey) where !isGone {
      perform(device.receive(report, now: clock.now()))
    }
  }

  private func perform(_ effects: [CTAPHIDDevice.Effect]) {
    for effect in effects where !isGone {
      switch effect {
      case .send(let message): send(message)
      case .execute(let message): execute(message)
      case .cancel: if !ignoresCancel, interruption == nil { interruption = .cancelled }
      case .abandon: interruption = .abandoned
      case .endSession(let channel):
        // The key may be in the middle of a command: its mutex is held then.
        if current == nil { key.endSession(channel) } else { endedSessions.append(channel) }
      }
    }
  }

  // MARK: - Commands

  private func execute(_ message: CTAPHIDMessage) {
    let actions = faults.nextCommand()
    current = message
    interruption = nil
    ignoresCancel = actions.contains(.ignoreCancel) || key.profile.quirks.contains(.ignoresCancel)
    let reply = reply(to: message, actions)
    let isWanted = interruption != .abandoned && !isGone
    current = nil
    device.finish()
    for channel in endedSessions { key.endSession(channel) }
    endedSessions = []
    if isWanted, let reply { send(reply) }
  }

  private func reply(to message: CTAPHIDMessage, _ actions: [Fault.CommandAction]) -> CTAPHIDMessage? {
    func answer(_ payload: [UInt8]) -> CTAPHIDMessage {
      CTAPHIDMessage(channel: message.channel, command: message.command, payload: payload)
    }
    func failure(_ code: CTAPHIDErrorCode) -> CTAPHIDMessage {
      CTAPHIDMessage(channel: message.channel, command: .error, payload: [code.rawValue])
    }
    for action in actions {
      switch action {
      case .status(let status): return answer([status.rawValue])
      case .hidError(let code): return failure(code)
      case .unplug:
        isGone = true
        return nil
      default: break
      }
    }
    var payload: [UInt8]
    if message.knownCommand == .cbor {
      payload = key.handle(message.payload, session: message.channel, waiter: self)
    } else {
      if isLongHandle(message.payload), key.profile.quirks.contains(.u2fLongHandleHIDError) { return failure(.other) }
      payload = key.handleU2F(message.payload)
    }
    for action in actions {
      switch action {
      case .delay(let milliseconds): keepBusy(for: milliseconds)
      case .noReply: return nil
      case .truncateReply(let count): payload = Array(payload.prefix(max(0, count)))
      case .flipReplyBit(let bit): payload = Self.flipped(payload, bit)
      case .replaceReply(let bytes): payload = bytes
      default: break
      }
    }
    guard payload.count <= CTAPHIDFraming.maximumPayload(reportSize: key.profile.reportSize) else {
      return failure(.other)
    }
    return answer(payload)
  }

  private func isLongHandle(_ apdu: [UInt8]) -> Bool {
    guard let command = try? CommandAPDU(parsing: apdu), command.ins == 2, command.data.count > 64 else { return false }
    return command.data[64] > 128
  }

  // MARK: - Waiting

  func wait(for touch: TouchControl, until deadline: Int64) -> PresenceOutcome {
    var nextKeepalive = clock.now()
    let repeats = !key.profile.quirks.contains(.keepaliveOnChangeOnly)
    while true {
      if isGone { return .abandoned }
      if let interruption { return interruption }
      let now = clock.now()
      if now >= nextKeepalive {
        keepalive(.userPresenceNeeded)
        nextKeepalive = repeats ? now + timing.keepaliveInterval : .max
      }
      if let decision = touch.decision() { return decision }
      guard now < deadline else { return .timedOut }
      pump(until: min(deadline, nextKeepalive, touch.nextLook ?? .max), alsoPoll: touch.wake.readEnd)
    }
  }

  /// Pretends to work.
  private func keepBusy(for milliseconds: Int64) {
    let end = clock.now() + milliseconds
    var nextKeepalive = clock.now()
    while !isGone, interruption != .abandoned, clock.now() < end {
      if clock.now() >= nextKeepalive {
        keepalive(.processing)
        nextKeepalive = clock.now() + timing.keepaliveInterval
      }
      pump(until: min(end, nextKeepalive), alsoPoll: nil)
    }
  }

  private func keepalive(_ status: KeepaliveStatus) {
    guard let current, current.knownCommand == .cbor else { return }
    send(CTAPHIDMessage(channel: current.channel, command: .keepalive, payload: [status.rawValue]))
  }

  // MARK: - Packets

  private func send(_ message: CTAPHIDMessage) {
    guard let reports = try? CTAPHIDFraming.reports(of: message, reportSize: key.profile.reportSize) else { return }
    for report in reports {
      for report in faulty(report, .toHost) where !isGone {
        if !endpoint.send(report) { isGone = true }
      }
      if isGone { return }
    }
  }

  /// What the fault script makes of a report: none, one, or more.
  private func faulty(_ report: [UInt8], _ direction: Fault.Direction) -> [[UInt8]] {
    var report = report
    var copies = 1
    for action in faults.nextPacket(direction) {
      switch action {
      case .drop: copies = 0
      case .duplicate: copies = 2
      case .delay(let milliseconds): control.sleep(milliseconds)
      case .truncate(let count): report = Array(report.prefix(max(0, count)))
      case .flipBit(let bit): report = Self.flipped(report, bit)
      case .unplug: isGone = true
      }
    }
    return isGone ? [] : Array(repeating: report, count: copies)
  }

  private static func flipped(_ bytes: [UInt8], _ bit: Int) -> [UInt8] {
    guard bit >= 0, bit / 8 < bytes.count else { return bytes }
    var bytes = bytes
    bytes[bit / 8] ^= 1 << UInt8(bit % 8)
    return bytes
  }
}

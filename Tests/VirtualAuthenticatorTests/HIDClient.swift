// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import Testing

@testable import VirtualAuthenticator

/// A host at the other end of an in-process key: as blunt as a test needs it.
final class HIDClient {
  let fd: Int32
  let host: VirtualKeyHost
  var key: VirtualAuthenticator { host.key }
  private(set) var channel: UInt32 = 0
  private var assembler = CTAPHIDAssembler()
  /// The KEEPALIVEs seen since the last answer.
  private(set) var keepalives: [UInt8] = []

  init(_ key: VirtualAuthenticator, faults: [Fault] = [], opens: Bool = true) throws {
    (fd, host) = try VirtualKeyHost.inProcess(key, faults: FaultScript(faults))
    if opens { try open() }
  }

  convenience init(
    _ profile: ModelProfile = .virtual, touch: TouchControl.Policy = .automatic, timing: KeyTiming = KeyTiming(),
    faults: [Fault] = [], opens: Bool = true
  ) throws {
    try self.init(
      try VirtualAuthenticator(profile: profile, touch: touch, timing: timing), faults: faults, opens: opens)
  }

  deinit {
    host.stop()
    close(fd)
  }

  /// What came back.
  enum Answer: Equatable {
    case message(UInt8, [UInt8])
    case error(UInt8)
    case nothing
    case unplugged
  }

  func open() throws {
    let nonce = Random.bytes(8)
    guard case .message(0x06, let payload) = call(.initialise, nonce, on: CTAPHIDFraming.broadcastChannel),
      payload.count == 17, Array(payload.prefix(8)) == nonce
    else {
      Issue.record("INIT failed")
      return
    }
    channel = payload[8..<12].reduce(0) { $0 << 8 | UInt32($1) }
  }

  func send(_ command: CTAPHIDCommand, _ payload: [UInt8] = [], on other: UInt32? = nil) {
    let message = CTAPHIDMessage(channel: other ?? channel, command: command, payload: payload)
    for report in (try? CTAPHIDFraming.reports(of: message)) ?? [] { sendRaw(report) }
  }

  func sendRaw(_ report: [UInt8]) { _ = Glibc.send(fd, report, report.count, Int32(MSG_NOSIGNAL)) }

  /// The next report, or nil after `milliseconds`; empty when the key is gone.
  func report(_ milliseconds: Int32 = 2000) -> [UInt8]? {
    var polled = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
    guard poll(&polled, 1, milliseconds) > 0 else { return nil }
    var buffer = [UInt8](repeating: 0, count: 1100)
    let count = recv(fd, &buffer, buffer.count, 0)
    return count <= 0 ? [] : Array(buffer[..<count])
  }

  /// The next answer on the channel; keepalives are collected.
  func answer(on other: UInt32? = nil, _ milliseconds: Int32 = 2000) -> Answer {
    assembler = CTAPHIDAssembler(channel: other ?? channel)
    keepalives = []
    while let report = report(milliseconds) {
      guard !report.isEmpty else { return .unplugged }
      guard case .message(let message)? = try? assembler.add(report) else { continue }
      switch message.knownCommand {
      case .keepalive: keepalives += message.payload
      case .error: return .error(message.payload.first ?? 0)
      default: return .message(message.command, message.payload)
      }
    }
    return .nothing
  }

  func call(_ command: CTAPHIDCommand, _ payload: [UInt8] = [], on other: UInt32? = nil) -> Answer {
    send(command, payload, on: other)
    return answer(on: other)
  }

  /// A CTAP2 request; its status, or nil when something else came.
  func cbor(_ request: [UInt8]) -> CTAPStatus? {
    if case .message(0x10, let payload) = call(.cbor, request) {
      return CTAPStatus(rawValue: payload.first ?? 0xFF)
    }
    return nil
  }

  /// Reads until a KEEPALIVE says that a touch is needed.
  func awaitTouchRequest() -> Bool {
    while let report = report() {
      guard report.count > 7 else { return false }
      if report[4] == 0xBB, report[7] == 2 { return true }
    }
    return false
  }
}

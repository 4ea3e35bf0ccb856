// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import Testing

@testable import SecurityKeys

/// A key at the other end of a wire that says what a closure makes of each message.
private final class ScriptedKey: Sendable {
  static let channel: UInt32 = 0x0102_0304
  let heard = Locked<[CTAPHIDCommand]>([])
  let hasEnded = Locked(false)
  private let descriptor: Int32

  /// - Parameter answer: the reports that answer a message; how many messages of that command came before it.
  init(_ answer: @escaping @Sendable (CTAPHIDMessage, _ before: Int) -> [[UInt8]]) throws {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
    let (host, key) = (ends[0], ends[1])
    descriptor = host
    let (heard, hasEnded) = (heard, hasEnded)
    let started = DetachedThread.start {
      var assembler = CTAPHIDAssembler()
      var report = [UInt8](repeating: 0, count: 64)
      while read(key, &report, report.count) == report.count {
        guard case .message(let message)? = try? assembler.add(report), let command = message.knownCommand else {
          continue
        }
        let before = heard.withLock { list in
          list.append(command)
          return list.count { $0 == command } - 1
        }
        for reply in answer(message, before) { _ = write(key, reply, reply.count) }
      }
      close(key)
      hasEnded.withLock { $0 = true }
    }
    try #require(started)
  }

  func transport() -> HIDTransport {
    HIDTransport(
      reports: ReportChannel(owning: descriptor), cancel: CancelSwitch(), kindName: "virtual", isSimulated: true)
  }

  static func reply(_ message: CTAPHIDMessage, _ command: CTAPHIDCommand, _ payload: [UInt8]) -> [[UInt8]] {
    let answer = CTAPHIDMessage(channel: message.channel, command: command, payload: payload)
    return (try? CTAPHIDFraming.reports(of: answer, reportSize: 64)) ?? []
  }

  /// A key without faults: INIT, and the same answer to whatever is asked.
  static func plain(_ message: CTAPHIDMessage) -> [[UInt8]] {
    switch message.knownCommand {
    case .initialise: reply(message, .initialise, message.payload + [1, 2, 3, 4, 2, 1, 0, 0, 4])
    case .cbor: reply(message, .cbor, [0])
    case .message: reply(message, .message, [0x90, 0x00])
    default: []
    }
  }

  static func error(_ message: CTAPHIDMessage, _ code: CTAPHIDErrorCode) -> [[UInt8]] {
    reply(message, .error, [code.rawValue])
  }
}

/// The host's side of CTAPHID against keys that do one thing wrong.
@Suite("The host's side of CTAPHID")
struct HIDTransportTests {
  static func terms(_ duration: Duration = .seconds(60)) -> WaitTerms {
    WaitTerms(deadline: .after(duration), drain: .milliseconds(100))
  }

  @Test("a key that is busy to the end is called busy")
  func busy() throws {
    let key = try ScriptedKey { message, _ in ScriptedKey.error(message, .channelBusy) }
    let transport = key.transport()
    #expect(throws: TransportError.busy) { try transport.initialise(Self.terms(.milliseconds(200))) }
    transport.close()
  }

  @Test("busy on our own channel is ended by CANCEL, once")
  func ownChannel() throws {
    let isFree = Locked(false)
    let key = try ScriptedKey { message, before in
      if message.knownCommand == .cancel { isFree.withLock { $0 = true } }
      if message.knownCommand == .initialise, before > 0, !isFree.withLock({ $0 }) {
        return ScriptedKey.error(message, .channelBusy)
      }
      return ScriptedKey.plain(message)
    }
    let transport = key.transport()
    _ = try transport.initialise(Self.terms())
    transport.distrust()
    #expect(try transport.exchange(.cbor, [4], Self.terms()) == [0])
    #expect(key.heard.withLock { $0 } == [.initialise, .initialise, .cancel, .initialise, .cbor])
    transport.close()
  }

  @Test("an answer that cannot be read: the key is told to stop, and the channel is begun afresh")
  func framing() async throws {
    let key = try ScriptedKey { message, before in
      message.knownCommand == .cbor && before == 0 ? [[1, 2, 3]] : ScriptedKey.plain(message)
    }
    let transport = key.transport()
    _ = try transport.initialise(Self.terms())
    #expect(throws: TransportError.framing(.wrongReportSize(expected: 64, actual: 3))) {
      try transport.exchange(.cbor, [4], Self.terms())
    }
    #expect(try transport.exchange(.cbor, [4], Self.terms()) == [0])
    #expect(key.heard.withLock { $0 } == [.initialise, .cbor, .cancel, .initialise, .cbor])
    transport.close()
  }

  @Test("a conversation that ends in mid-command ends with CANCEL, and no other", arguments: [false, true])
  func closing(inMidCommand: Bool) async throws {
    let key = try ScriptedKey { message, _ in ScriptedKey.plain(message) }
    let transport = key.transport()
    _ = try transport.initialise(Self.terms())
    if inMidCommand { transport.distrust() }
    transport.close()
    try await eventually { key.hasEnded.withLock { $0 } }
    #expect(key.heard.withLock { $0 } == (inMidCommand ? [.initialise, .cancel] : [.initialise]))
  }

  @Test(
    "Q57: after an error of the wire the channel is begun afresh, unless the command is not known",
    arguments: [CTAPHIDErrorCode.other, .invalidLength, .invalidParameter, .lockRequired, .invalidCommand])
  func afresh(code: CTAPHIDErrorCode) throws {
    let key = try ScriptedKey { message, before in
      message.knownCommand == .message && before == 0
        ? ScriptedKey.error(message, code) : ScriptedKey.plain(message)
    }
    let transport = key.transport()
    _ = try transport.initialise(Self.terms())
    #expect(throws: TransportError.hid(code, raw: code.rawValue)) {
      try transport.exchange(.message, [0, 3, 0, 0], Self.terms())
    }
    #expect(try transport.exchange(.message, [0, 3, 0, 0], Self.terms()) == [0x90, 0x00])
    let expected: [CTAPHIDCommand] =
      code == .invalidCommand ? [.initialise, .message, .message] : [.initialise, .message, .initialise, .message]
    #expect(key.heard.withLock { $0 } == expected)
    transport.close()
  }
}

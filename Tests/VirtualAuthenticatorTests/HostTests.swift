// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import Testing
import WebAuthnCore

@testable import VirtualAuthenticator

/// A key on a wire: what happens while it waits for the person, and when things go wrong.
@Suite("Host")
struct HostTests {
  static let getInfo: [UInt8] = [0x04]
  static var makeCredential: [UInt8] { [0x01] + CBORValue.encode(.intMap(Platform.registration())) }

  private static var quick: KeyTiming {
    var timing = KeyTiming()
    timing.touchTimeout = 60
    timing.keepaliveInterval = 5
    timing.messageTimeout = 30
    return timing
  }

  @Test("PING of every length comes back", arguments: [0, 1, 56, 57, 58, 116, 117, 7608, 7609])
  func ping(length: Int) throws {
    let client = try HIDClient()
    let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
    #expect(client.call(.ping, payload) == .message(0x01, payload))
  }

  @Test("a report may begin with the report id 0, as on hidraw")
  func reportId() throws {
    let client = try HIDClient()
    let reports = try CTAPHIDFraming.reports(
      of: CTAPHIDMessage(channel: client.channel, command: .ping, payload: [UInt8](repeating: 1, count: 99)))
    for report in reports { client.sendRaw([0] + report) }
    #expect(client.answer() == .message(0x01, [UInt8](repeating: 1, count: 99)))
  }

  @Test("keepalives go out until the touch comes")
  func keepalive() throws {
    let client = try HIDClient(
      touch: .after(milliseconds: 400),
      timing: {
        var t = KeyTiming(); t.keepaliveInterval = 5; return t
      }())
    #expect(client.cbor(Self.makeCredential) == .success)
    #expect(client.keepalives.count >= 3 && Set(client.keepalives) == [2])
    client.key.touch.setPolicy(.automatic)
    #expect(client.cbor(Self.makeCredential) == .success)
    #expect(client.keepalives == [2], "even the quickest touch is asked for")
    #expect(client.cbor(Self.getInfo) == .success)
    #expect(client.keepalives.isEmpty)
  }

  @Test("the button, a prompt and a refusal", arguments: [true, false])
  func prompt(approves: Bool) throws {
    let client = try HIDClient()
    client.key.touch.setPolicy(
      .prompt { pending in
        guard pending.isPending, pending.request.rpId == Platform.rpId else { return }
        if approves { pending.approve() } else { pending.refuse() }
      })
    #expect(client.cbor(Self.makeCredential) == (approves ? .success : .operationDenied))
    client.key.touch.setPolicy(.never)
    client.send(.cbor, Self.makeCredential)
    #expect(client.awaitTouchRequest())
    #expect(client.key.touch.pending?.command == .makeCredential)
    if approves { client.key.touch.touch() } else { client.key.touch.refuse() }
    guard case .message(0x10, let reply) = client.answer() else {
      Issue.record("no answer")
      return
    }
    #expect(reply.first == (approves ? 0x00 : CTAPStatus.operationDenied.rawValue))
    #expect(client.key.touch.pending == nil)
  }

  @Test("nobody touches: the profile's status", arguments: [nil, CTAPStatus.userActionTimeout, .actionTimeout])
  func timeout(status: CTAPStatus?) throws {
    let profile = ModelProfile.virtual.varied("x") { $0.touchTimeoutStatus = status }
    let client = try HIDClient(profile, touch: .never, timing: Self.quick)
    #expect(client.cbor(Self.makeCredential) == (status ?? .operationDenied))
    #expect(client.cbor(Self.getInfo) == .success)
  }

  @Test(
    "CANCEL ends every wait with 0x2D and leaves the key ready",
    arguments: [
      [0x01] + CBORValue.encode(.intMap(Platform.registration())), [0x0B], [0x07],
    ])
  func cancel(request: [UInt8]) throws {
    let client = try HIDClient(touch: .never)
    for _ in 0..<5 {
      client.send(.cbor, request)
      #expect(client.awaitTouchRequest())
      client.send(.cancel)
      #expect(client.answer() == .message(0x10, [CTAPStatus.keepaliveCancel.rawValue]))
      #expect(client.cbor(Self.getInfo) == .success)
    }
    client.send(.cancel)
    #expect(client.cbor(Self.getInfo) == .success, "a late CANCEL has no answer and no effect")
  }

  @Test("while one channel waits, another is told that the key is busy")
  func busy() throws {
    let client = try HIDClient(touch: .never)
    let first = client.channel
    try client.open()
    let second = client.channel
    client.send(.cbor, Self.makeCredential, on: first)
    #expect(client.awaitTouchRequest())
    #expect(client.call(.ping, [1], on: second) == .error(CTAPHIDErrorCode.channelBusy.rawValue))
    client.send(.cancel, on: second)
    #expect(client.answer(on: second) == .error(CTAPHIDErrorCode.channelBusy.rawValue))
    client.send(.cancel, on: first)
    #expect(client.answer(on: first) == .message(0x10, [CTAPStatus.keepaliveCancel.rawValue]))
    #expect(client.call(.ping, [1], on: second) == .message(0x01, [1]))
  }

  @Test("INIT on the waiting channel gives the command up without an answer")
  func abandon() throws {
    let client = try HIDClient(touch: .never)
    client.send(.cbor, Self.makeCredential)
    #expect(client.awaitTouchRequest())
    let nonce = [UInt8](repeating: 4, count: 8)
    client.send(.initialise, nonce)
    guard case .message(0x06, let payload) = client.answer() else {
      Issue.record("INIT was not answered")
      return
    }
    #expect(Array(payload.prefix(8)) == nonce)
    #expect(client.call(.ping, [1]) == .message(0x01, [1]), "nothing else was left on the wire")
  }

  @Test("a message whose rest does not come is given up")
  func messageTimeout() throws {
    let client = try HIDClient(timing: Self.quick)
    let message = CTAPHIDMessage(channel: client.channel, command: .ping, payload: [UInt8](repeating: 1, count: 100))
    client.sendRaw(try CTAPHIDFraming.reports(of: message)[0])
    #expect(client.answer() == .error(CTAPHIDErrorCode.messageTimeout.rawValue))
    #expect(client.call(.ping, [1]) == .message(0x01, [1]))
  }

  @Test("pulled out in mid-wait, and plugged in again")
  func unplug() throws {
    let client = try HIDClient(touch: .never)
    client.send(.cbor, Self.makeCredential)
    #expect(client.awaitTouchRequest())
    client.host.stop()
    #expect(!client.host.isRunning)
    #expect(client.answer() == .unplugged)
    client.key.powerCycle()
    client.key.touch.setPolicy(.automatic)
    let again = try HIDClient(client.key)
    #expect(again.cbor(Self.makeCredential) == .success)
  }

  @Test("closing the other end ends the host")
  func closed() throws {
    let (fd, host) = try VirtualKeyHost.inProcess(try VirtualAuthenticator())
    #expect(host.isRunning)
    close(fd)
    host.waitUntilDone()
    #expect(!host.isRunning)
  }

  @Test("every command is in the key's own log")
  func log() throws {
    let client = try HIDClient()
    _ = client.cbor(Self.getInfo)
    _ = client.cbor(Self.makeCredential)
    _ = client.cbor([0x06] + CBORValue.encode(.intMap([(2, .int(1))])))
    _ = client.call(.message, try CommandAPDU(ins: 3, le: 65536).extendedForm())
    let entries = client.key.log.entries
    #expect(
      entries.map(\.kind) == [.ctap2(.getInfo), .ctap2(.makeCredential), .ctap2(.clientPIN), .u2f(instruction: 3)])
    #expect(entries.map(\.subcommand) == [nil, nil, 1, nil])
    #expect(entries.map(\.waits) == [0, 1, 0, 0])
    #expect(entries[1].request == Self.makeCredential)
    #expect(entries[3].statusWord == .success && entries[0].status == .success)
    #expect(client.key.log.count(.getInfo) == 1)
  }

  @Test("two keys, one touched, do not disturb each other")
  func twoKeys() throws {
    let first = try HIDClient(touch: .never)
    let second = try HIDClient(touch: .never)
    first.send(.cbor, [0x0B])
    second.send(.cbor, [0x0B])
    #expect(first.awaitTouchRequest() && second.awaitTouchRequest())
    second.key.touch.touch()
    #expect(second.answer() == .message(0x10, [0]))
    first.send(.cancel)
    #expect(first.answer() == .message(0x10, [CTAPStatus.keepaliveCancel.rawValue]))
  }

  @Test("UDP: a port of its own, and replies to where they are wanted")
  func udp() throws {
    let key = try VirtualAuthenticator()
    let host = try VirtualKeyHost.udp(key)
    let port = try #require(host.port)
    #expect(throws: VirtualKeyHostError.portInUse(port: port)) { try VirtualKeyHost.udp(key, port: port) }
    host.stop()
    // A port that is given back is free, unless another program of this computer was given it at once.
    let isFreeAgain = try (0..<16).contains { _ in
      let host = try VirtualKeyHost.udp(key)
      let port = try #require(host.port)
      host.stop()
      do { try VirtualKeyHost.udp(key, port: port).stop() } catch VirtualKeyHostError.portInUse { return false }
      return true
    }
    #expect(isFreeAgain)
  }

  // MARK: - Faults

  /// The answer to getInfo, the first command after INIT, under one fault.
  static let faults: [(String, Fault, HIDClient.Answer?)] = [
    ("request lost", .packet(.toKey, 1, .drop), .nothing),
    ("reply's first packet lost", .packet(.toHost, 1, .drop), .nothing),
    ("request cut", .packet(.toKey, 1, .truncate(to: 20)), .nothing),
    ("request doubled", .packet(.toKey, 1, .duplicate), nil),
    ("request late", .packet(.toKey, 1, .delay(milliseconds: 20)), nil),
    ("channel bit wrong", .packet(.toKey, 1, .flipBit(0)), .nothing),
    ("command bit wrong", .packet(.toKey, 1, .flipBit(33)), .error(0x01)),
    ("unplugged before the request", .packet(.toKey, 1, .unplug), .unplugged),
    ("unplugged before the reply", .packet(.toHost, 1, .unplug), .unplugged),
    ("status", .command(0, .status(.operationPending)), .message(0x10, [0x24])),
    ("HID error", .command(0, .hidError(.other)), .error(0x7F)),
    ("BUSY", .command(0, .hidError(.channelBusy)), .error(0x06)),
    ("no reply", .command(0, .noReply), .nothing),
    ("reply cut", .command(0, .truncateReply(to: 1)), .message(0x10, [0x00])),
    ("reply empty", .command(0, .truncateReply(to: 0)), .message(0x10, [])),
    ("reply bit wrong", .command(0, .flipReplyBit(0)), nil),
    ("reply replaced", .command(0, .replaceReply([0x00, 0xA0])), .message(0x10, [0x00, 0xA0])),
    ("unplugged at the command", .command(0, .unplug), .unplugged),
    ("slow", .command(0, .delay(milliseconds: 20)), nil),
    ("not yet", .command(1, .noReply), nil),
  ]

  @Test("each fault does what it says, once", arguments: faults)
  func fault(name: String, fault: Fault, expected: HIDClient.Answer?) throws {
    let client = try HIDClient(faults: [fault])
    client.send(.cbor, Self.getInfo)
    let answer = client.answer(expected == .nothing ? 60 : 2000)
    if let expected {
      #expect(answer == expected, "\(name)")
    } else {
      guard case .message(0x10, let payload) = answer else {
        Issue.record("\(name): \(answer)")
        return
      }
      #expect(payload.first == (name == "reply bit wrong" ? 1 : 0))
    }
    #expect(client.host.faults.fired == (name == "not yet" ? 0 : 1))
    #expect(client.host.faults.commands <= 2)
    if name == "slow" { #expect(client.keepalives.first == 1) }
    if answer == .unplugged {
      client.host.waitUntilDone()
      return
    }
    // Whatever went wrong, INIT repairs it.
    let nonce = [UInt8](repeating: 8, count: 8)
    client.send(.initialise, nonce)
    while true {
      let answer = client.answer()
      if case .message(0x06, let payload) = answer, Array(payload.prefix(8)) == nonce { break }
      guard case .message = answer else {
        Issue.record("\(name): no way back, \(answer)")
        return
      }
    }
  }

  @Test("a key that ignores CANCEL goes on until its own end")
  func ignoresCancel() throws {
    for (profile, faults) in [
      (ModelProfile.virtual.varied("x") { $0.quirks = [.ignoresCancel] }, [Fault]()),
      (.virtual, [.command(0, .ignoreCancel)]),
    ] {
      let client = try HIDClient(profile, touch: .never, timing: Self.quick, faults: faults)
      client.send(.cbor, Self.makeCredential)
      #expect(client.awaitTouchRequest())
      client.send(.cancel)
      #expect(client.answer() == .message(0x10, [CTAPStatus.operationDenied.rawValue]))
    }
  }
}

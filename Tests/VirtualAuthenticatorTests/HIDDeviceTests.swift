// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Testing

@testable import VirtualAuthenticator

/// The transaction rules of CTAPHID (CTAP 2.1 section 11.2), without a wire.
@Suite("CTAPHID rules")
struct HIDDeviceTests {
  /// A device with two channels, 1 and 2.
  struct Bench {
    var device: CTAPHIDDevice
    var now: Int64 = 0

    init(_ profile: ModelProfile = .virtual) {
      var next: UInt32 = 0
      device = CTAPHIDDevice(profile: profile, timing: KeyTiming()) {
        next += 1
        return next
      }
      for _ in 0..<2 { _ = send(.broadcast, .initialise, [UInt8](repeating: 7, count: 8)) }
    }

    mutating func send(_ channel: UInt32, _ command: CTAPHIDCommand, _ payload: [UInt8] = []) -> [CTAPHIDDevice.Effect]
    {
      let message = CTAPHIDMessage(channel: channel, command: command, payload: payload)
      let reports = (try? CTAPHIDFraming.reports(of: message, reportSize: device.reportSize)) ?? []
      return reports.flatMap { device.receive($0, now: now) }
    }

    mutating func raw(_ channel: UInt32, _ bytes: [UInt8]) -> [CTAPHIDDevice.Effect] {
      let head = (0..<4).map { UInt8(channel >> (24 - 8 * UInt32($0)) & 0xFF) } + bytes
      return device.receive(head + [UInt8](repeating: 0, count: device.reportSize - head.count), now: now)
    }
  }

  private static func error(_ code: CTAPHIDErrorCode, _ channel: UInt32 = 1) -> CTAPHIDDevice.Effect {
    .send(CTAPHIDMessage(channel: channel, command: .error, payload: [code.rawValue]))
  }

  @Test(
    "INIT on broadcast gives a fresh channel, its nonce, versions and capabilities",
    arguments: [
      ("virtual", UInt8(0x05)), ("u2f", 0x01), ("ctap20", 0x05),
    ])
  func initialise(profile: String, capabilities: UInt8) throws {
    var bench = Bench(try #require(ModelProfile.named(profile)))
    let nonce: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    #expect(
      bench.send(.broadcast, .initialise, nonce) == [
        .send(
          CTAPHIDMessage(
            channel: .broadcast, command: .initialise, payload: nonce + [0, 0, 0, 3, 2, 1, 0, 0, capabilities]))
      ])
    let ctap2Only = ModelProfile.virtual.varied("ctap2") { $0.info.versions.removeAll { $0 == "U2F_V2" } }
    var other = Bench(ctap2Only)
    guard case .send(let reply) = other.send(.broadcast, .initialise, nonce).first else {
      Issue.record("no reply")
      return
    }
    #expect(reply.payload.last == 0x0D)
  }

  @Test("INIT on an own channel resynchronises it")
  func resynchronise() {
    var bench = Bench()
    _ = bench.raw(1, [0x90, 0x01, 0x00])
    let nonce: [UInt8] = [9, 9, 9, 9, 9, 9, 9, 9]
    #expect(
      bench.send(1, .initialise, nonce) == [
        .endSession(1),
        .send(CTAPHIDMessage(channel: 1, command: .initialise, payload: nonce + [0, 0, 0, 1, 2, 1, 0, 0, 5])),
      ])
    #expect(bench.raw(1, [0x00]) == [], "what was under way is forgotten")
  }

  /// What one message to an idle key gives.
  struct Idle: Sendable, CustomTestStringConvertible {
    let name: String
    let channel: UInt32
    let command: UInt8
    let payload: [UInt8]
    let effect: CTAPHIDDevice.Effect?
    var testDescription: String { name }
    init(_ name: String, _ channel: UInt32, _ command: UInt8, _ payload: [UInt8], _ effect: CTAPHIDDevice.Effect?) {
      (self.name, self.channel, self.command, self.payload, self.effect) = (name, channel, command, payload, effect)
    }
  }

  private static func echo(_ command: UInt8, _ payload: [UInt8] = []) -> CTAPHIDDevice.Effect {
    .send(CTAPHIDMessage(channel: 1, command: command, payload: payload))
  }

  static let idle: [Idle] = [
    .init("PING", 1, 0x01, [1, 2, 3], echo(0x01, [1, 2, 3])), .init("PING of nothing", 1, 0x01, [], echo(0x01)),
    .init("WINK", 1, 0x08, [], echo(0x08)), .init("WINK with data", 1, 0x08, [1], error(.invalidLength)),
    .init("LOCK", 1, 0x04, [10], echo(0x04)), .init("LOCK for 11 s", 1, 0x04, [11], error(.invalidParameter)),
    .init("LOCK without time", 1, 0x04, [], error(.invalidLength)),
    .init("CANCEL of nothing", 1, 0x11, [], nil),
    .init("CBOR", 1, 0x10, [4], .execute(CTAPHIDMessage(channel: 1, command: 0x10, payload: [4]))),
    .init("CBOR of nothing", 1, 0x10, [], error(.invalidLength)),
    .init("MSG", 1, 0x03, [0, 3, 0, 0], .execute(CTAPHIDMessage(channel: 1, command: 0x03, payload: [0, 3, 0, 0]))),
    .init("MSG of nothing", 1, 0x03, [], error(.invalidLength)),
    .init("INIT of 7 bytes", 1, 0x06, [UInt8](repeating: 0, count: 7), error(.invalidLength)),
    .init("INIT of 9 bytes", 1, 0x06, [UInt8](repeating: 0, count: 9), error(.invalidLength)),
    .init("KEEPALIVE from a host", 1, 0x3B, [1], error(.invalidCommand)),
    .init("ERROR from a host", 1, 0x3F, [1], error(.invalidCommand)),
    .init("unknown command", 1, 0x20, [], error(.invalidCommand)),
    .init("vendor command", 1, 0x40, [], error(.invalidCommand)),
    .init("channel 0", 0, 0x01, [1], error(.invalidChannel, 0)),
    .init("channel nobody has", 77, 0x01, [1], error(.invalidChannel, 77)),
    .init("INIT on a channel nobody has", 77, 0x06, [UInt8](repeating: 0, count: 8), error(.invalidChannel, 77)),
    .init("PING on broadcast", .broadcast, 0x01, [1], error(.invalidChannel, .broadcast)),
    .init("CBOR on broadcast", .broadcast, 0x10, [4], error(.invalidChannel, .broadcast)),
  ]

  @Test("an idle key", arguments: idle)
  func whenIdle(row: Idle) {
    var bench = Bench()
    let length = row.payload.count
    let got = bench.raw(row.channel, [row.command | 0x80, 0, UInt8(length)] + row.payload)
    #expect(got == (row.effect.map { [$0] } ?? []))
  }

  @Test("CBOR and MSG are refused by keys that do not know them")
  func capabilities() {
    var u2f = Bench(.u2f)
    #expect(u2f.send(1, .cbor, [4]) == [Self.error(.invalidCommand)])
    var ctap2 = Bench(ModelProfile.virtual.varied("x") { $0.info.versions.removeAll { $0 == "U2F_V2" } })
    #expect(ctap2.send(1, .message, [0, 3, 0, 0]) == [Self.error(.invalidCommand)])
  }

  @Test("packets out of order, and a second message in mid-message")
  func sequence() {
    for (second, code) in [
      ([UInt8(0x01)], CTAPHIDErrorCode.invalidSequence), ([0x81, 0, 1], .invalidSequence),
      ([0x90, 0, 1], .invalidSequence), ([0x91, 0, 0], .invalidSequence),
    ] {
      var bench = Bench()
      #expect(bench.raw(1, [0x81, 0x00, 0x80]) == [])
      #expect(bench.raw(1, second) == [Self.error(code)])
      #expect(bench.send(1, .ping, [5]) == [Self.echo(0x01, [5])], "the key goes on")
    }
  }

  @Test("a continuation out of nowhere is ignored")
  func stray() {
    var bench = Bench()
    for channel in [1, 2, 77, 0, .broadcast] as [UInt32] { #expect(bench.raw(channel, [0x00, 1, 2]) == []) }
  }

  @Test("lengths that no message can have", arguments: [7610, 0x7FFF, 0xFFFF])
  func tooLong(length: Int) {
    var bench = Bench()
    #expect(bench.raw(1, [0x90, UInt8(length >> 8), UInt8(length & 0xFF)]) == [Self.error(.invalidLength)])
    #expect(bench.raw(1, [0x00]) == [])
  }

  @Test("a message whose rest does not come")
  func timeout() {
    var bench = Bench()
    #expect(bench.device.deadline == nil)
    _ = bench.raw(1, [0x81, 0x00, 0x80])
    #expect(bench.device.deadline == 500)
    #expect(bench.device.tick(now: 499) == [])
    bench.now = 400
    _ = bench.raw(1, [0x00])
    #expect(bench.device.deadline == 900, "every packet gives it new time")
    #expect(bench.device.tick(now: 900) == [Self.error(.messageTimeout)])
    #expect(bench.device.deadline == nil)
    // A late packet finds nothing to continue.
    bench.now = 1000
    #expect(bench.raw(1, [0x01]) == [])
  }

  @Test("another channel in mid-message is told that the key is busy")
  func busyAssembling() {
    var bench = Bench()
    _ = bench.raw(1, [0x81, 0x00, 0x64])
    #expect(bench.send(2, .ping, [1]) == [Self.error(.channelBusy, 2)])
    #expect(bench.raw(2, [0x00]) == [])
    #expect(
      bench.send(.broadcast, .initialise, [UInt8](repeating: 0, count: 8)) == [Self.error(.channelBusy, .broadcast)])
    guard case .send(let reply)? = bench.raw(1, [0x00]).first else {
      Issue.record("the message did not survive")
      return
    }
    #expect(reply.payload.count == 100)
  }

  @Test("while a command is being done")
  func busyExecuting() {
    var bench = Bench()
    let nonce = [UInt8](repeating: 3, count: 8)
    guard case .execute? = bench.send(1, .cbor, [1]).first else {
      Issue.record("not executed")
      return
    }
    #expect(bench.send(2, .ping, [1]) == [Self.error(.channelBusy, 2)])
    #expect(bench.send(2, .cancel) == [Self.error(.channelBusy, 2)], "one channel cannot cancel another's command")
    #expect(bench.send(.broadcast, .initialise, nonce) == [Self.error(.channelBusy, .broadcast)])
    #expect(bench.send(1, .ping, [1]) == [Self.error(.channelBusy)])
    #expect(bench.send(1, .cbor, [4]) == [Self.error(.channelBusy)])
    #expect(bench.raw(1, [0x00]) == [])
    #expect(bench.send(1, .cancel) == [.cancel])
    #expect(
      bench.send(1, .initialise, nonce) == [
        .abandon, .endSession(1),
        .send(CTAPHIDMessage(channel: 1, command: .initialise, payload: nonce + [0, 0, 0, 1, 2, 1, 0, 0, 5])),
      ])
    bench.device.finish()
    #expect(bench.send(2, .ping, [1]) == [.send(CTAPHIDMessage(channel: 2, command: .ping, payload: [1]))])
    var stubborn = Bench(ModelProfile.virtual.varied("x") { $0.quirks = [.initDoesNotAbort] })
    _ = stubborn.send(1, .cbor, [1])
    #expect(stubborn.send(1, .initialise, nonce) == [Self.error(.channelBusy)])
  }

  @Test("a lock keeps others out until it is lifted or over")
  func lock() {
    var bench = Bench()
    #expect(bench.send(1, .lock, [2]) == [Self.echo(0x04)])
    #expect(bench.send(2, .ping) == [Self.error(.channelBusy, 2)])
    #expect(bench.send(1, .ping) == [Self.echo(0x01)])
    bench.now = 2000
    #expect(bench.send(2, .ping) == [.send(CTAPHIDMessage(channel: 2, command: .ping))])
    _ = bench.send(1, .lock, [2])
    _ = bench.send(1, .lock, [0])
    #expect(bench.send(2, .ping) == [.send(CTAPHIDMessage(channel: 2, command: .ping))])
  }

  @Test("the 65th channel takes the place of the first")
  func channels() {
    var bench = Bench()
    var ended: [UInt32] = []
    for _ in 2..<66 {
      for effect in bench.send(.broadcast, .initialise, [UInt8](repeating: 0, count: 8)) {
        if case .endSession(let channel) = effect { ended.append(channel) }
      }
    }
    #expect(ended == [1, 2])
    #expect(bench.send(1, .ping) == [Self.error(.invalidChannel)])
  }

  @Test("reports of another size are dropped", arguments: [0, 1, 7, 63, 65])
  func reportSize(count: Int) {
    var bench = Bench()
    #expect(bench.device.receive([UInt8](repeating: 0xFF, count: count), now: 0) == [])
  }

  @Test("other report sizes", arguments: [16, 32, 512])
  func sizes(size: Int) {
    var bench = Bench(ModelProfile.virtual.varied("x") { $0.reportSize = size })
    let payload = [UInt8](repeating: 6, count: 300)
    #expect(bench.send(1, .ping, payload) == [Self.echo(0x01, payload)])
  }
}

extension UInt32 {
  fileprivate static let broadcast = CTAPHIDFraming.broadcastChannel
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import TestSupport
import Testing

@testable import VirtualAuthenticator

/// The card behind pcscd's virtual reader.
@Suite("vpcd")
struct CardHostTests {
  private func card() throws -> VirtualCard {
    let card = VirtualCard(try VirtualAuthenticator(profile: .virtual, touch: .automatic), traits: CardTraits())
    card.reset()
    return card
  }

  /// What the driver does: connects, asks for the ATR, sends APDUs.
  private final class Driver {
    let fd: Int32
    init(descriptor: Int32) { fd = descriptor }
    init(_ port: UInt16) {
      fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let done = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      #expect(done == 0)
    }
    deinit { close(fd) }

    func send(_ payload: [UInt8]) {
      let bytes = [UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
      #expect(Glibc.send(fd, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    }

    func receive() -> [UInt8]? {
      func read(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
          var buffer = [UInt8](repeating: 0, count: count - bytes.count)
          let n = recv(fd, &buffer, buffer.count, 0)
          guard n > 0 else { return nil }
          bytes += buffer[..<n]
        }
        return bytes
      }
      guard let head = read(2) else { return nil }
      return read(Int(head[0]) << 8 | Int(head[1]))
    }
  }

  @Test("two slots, ATR, power and APDUs, again and again")
  func vpcd() throws {
    let card = try self.card()
    let host = try VPCDHost(card)
    for _ in 0..<2 {
      let driver = Driver(host.port)
      let other = Driver(host.port + 1)
      for d in [driver, other] {
        d.send([4])
        #expect(d.receive() == VirtualCard.usualAnswerToReset)
        d.send([1])
      }
      driver.send(CardTests.select)
      #expect(driver.receive() == Array("U2F_V2".utf8) + [0x90, 0x00])
      other.send(CardTests.select)
      #expect(other.receive() == [0x6D, 0x00])
      driver.send([0])
      driver.send([1])
      driver.send([0x80, 0x10, 0, 0, 1, 4, 0])
      #expect(driver.receive() == [0x6D, 0x00], "power took the selection away")
    }
    #expect(throws: VirtualKeyHostError.portInUse(port: host.port)) { try VPCDHost(card, port: host.port) }
    host.stop()
  }

  @Test("we connect to a driver that listens, whenever there is a card")
  func vpcdConnecting() throws {
    let (listener, port) = try LoopbackListener.open(0)
    defer { close(listener) }
    let card = LiftableCard(try self.card())
    let host = try VPCDHost(card, connectingTo: port)
    func accepted() throws -> Driver {
      var polled = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
      try #require(poll(&polled, 1, 60_000) == 1)
      return Driver(descriptor: accept(listener, nil, nil))
    }
    for _ in 0..<2 {
      let driver = try accepted()
      driver.send([4])
      #expect(driver.receive() == VirtualCard.usualAnswerToReset)
      driver.send([1])
      driver.send(CardTests.select)
      #expect(driver.receive()?.suffix(2) == [0x90, 0x00])
      card.lift()
      driver.send([4])
      #expect(driver.receive() == nil, "a card that is gone hangs up")
      card.lay()
    }
    host.stop()
  }

  @Test("a card that is taken away ends the connection")
  func vpcdRemoval() throws {
    let host = try VPCDHost(ScriptedCard([.remove]))
    let driver = Driver(host.port)
    driver.send(CardTests.select)
    #expect(driver.receive() == nil)
    host.stop()
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc

/// Puts a card on the virtual reader of vpcd (Debian package `vsmartcard-vpcd`), so that pcscd and every PC/SC program see
/// it.
///
/// Either the driver connects to us: name `127.0.0.1:0xPORT` in pcscd's configuration. The driver has two slots, on two
/// ports in a row, and pcscd does not start before both have answered; the second one holds a card without applications.
/// A driver of this kind does not outlive a card that is taken away.
///
/// Or we connect to the driver, as vpcd comes configured (`/dev/null:0xPORT`); such a card can come and go. The driver
/// then listens on every address of the computer.
public final class VPCDHost: Sendable {
  /// The card in the first slot.
  public let card: any SmartCard
  /// The first of the two ports.
  public let port: UInt16
  private let control = HostControl()
  private let running = Locked(0)
  private let finished = WakePipe()

  /// Listens on the loopback interface.
  /// - Parameter port: the first of two ports in a row; 0 for any two free ones.
  /// - Throws: ``VirtualKeyHostError``.
  public init(_ card: any SmartCard, port: UInt16 = 0) throws(VirtualKeyHostError) {
    self.card = card
    let (first, second, found) = try Self.listen(port)
    self.port = found
    running.withLock { $0 = 2 }
    let empty = ScriptedCard([])
    for (listener, card) in [(first, card), (second, empty as any SmartCard)] {
      let (control, running, finished) = (control, running, finished)
      let started = BackgroundThread.start {
        VPCDSlot(listener: listener, card: card, control: control).run()
        close(listener)
        running.withLock { $0 -= 1 }
        finished.wake()
      }
      guard started else {
        close(listener)
        running.withLock { $0 -= 1 }
        control.stop()
        throw .system(call: "pthread_create", errno: EAGAIN)
      }
    }
  }

  /// Connects to a driver on this computer, again and again, whenever there is a card.
  /// - Parameter port: where the driver listens.
  /// - Throws: ``VirtualKeyHostError``.
  public init(_ card: any SmartCard, connectingTo port: UInt16) throws(VirtualKeyHostError) {
    self.card = card
    self.port = port
    running.withLock { $0 = 1 }
    let (control, running, finished) = (control, running, finished)
    let started = BackgroundThread.start {
      VPCDSlot(listener: -1, card: card, control: control).run(connectingTo: port)
      running.withLock { $0 -= 1 }
      finished.wake()
    }
    guard started else { throw .system(call: "pthread_create", errno: EAGAIN) }
  }

  deinit { control.stop() }

  /// Takes the reader away, and waits until that is done.
  public func stop() {
    control.stop()
    while running.withLock({ $0 }) > 0 {
      var polled = pollfd(fd: finished.readEnd, events: Int16(POLLIN), revents: 0)
      poll(&polled, 1, 100)
      finished.drain()
    }
  }

  private static func listen(_ port: UInt16) throws(VirtualKeyHostError) -> (Int32, Int32, UInt16) {
    // Any two free ports in a row: not the first free one, but soon one.
    for _ in 0..<(port == 0 ? 64 : 1) {
      let (first, found) = try LoopbackListener.open(port)
      guard found < .max, let (second, _) = try? LoopbackListener.open(found + 1) else {
        close(first)
        guard port == 0 else { throw .portInUse(port: port + 1) }
        continue
      }
      return (first, second, found)
    }
    throw .system(call: "bind", errno: EADDRINUSE)
  }
}

/// A TCP socket that listens on 127.0.0.1.
enum LoopbackListener {
  static func open(_ port: UInt16) throws(VirtualKeyHostError) -> (fd: Int32, port: UInt16) {
    let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard fd >= 0 else { throw .last("socket") }
    var on: Int32 = 1
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let done = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(fd, $0, length) == 0 && Glibc.listen(fd, 1) == 0 && getsockname(fd, $0, &length) == 0
      }
    }
    guard done else {
      let error: VirtualKeyHostError = errno == EADDRINUSE ? .portInUse(port: port) : .last("bind")
      close(fd)
      throw error
    }
    return (fd, UInt16(bigEndian: address.sin_port))
  }

  /// A connection to 127.0.0.1; nil when nobody listens there.
  static func connect(_ port: UInt16) -> Int32? {
    let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard fd >= 0 else { return nil }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let done = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(fd, $0, length) }
    }
    if done == 0 { return fd }
    close(fd)
    return nil
  }
}

/// One slot of vpcd: two bytes of length, then a control byte or an APDU.
final class VPCDSlot {
  private let listener: Int32
  private let card: any SmartCard
  private let control: HostControl

  init(listener: Int32, card: any SmartCard, control: HostControl) {
    self.listener = listener
    self.card = card
    self.control = control
  }

  func run() {
    while wait(for: listener) {
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else { continue }
      _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
      serve(connection)
      close(connection)
      card.powerOff()
    }
  }

  func run(connectingTo port: UInt16) {
    while rest() {
      guard !card.answerToReset.isEmpty, let connection = LoopbackListener.connect(port) else { continue }
      serve(connection)
      close(connection)
      card.powerOff()
    }
  }

  /// A short rest; false when the host is to end.
  private func rest() -> Bool {
    var polled = pollfd(fd: control.wake.readEnd, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, 50) <= 0
  }

  /// False when the host is to end.
  private func wait(for descriptor: Int32) -> Bool {
    var polled = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: control.wake.readEnd, events: Int16(POLLIN), revents: 0),
    ]
    while poll(&polled, 2, -1) < 0 { guard errno == EINTR else { return false } }
    return polled[1].revents == 0
  }

  private func serve(_ connection: Int32) {
    while let head = read(connection, 2), let payload = read(connection, Int(head[0]) << 8 | Int(head[1])) {
      let answer: [UInt8]
      if payload.count == 1 {
        switch payload[0] {
        case 0:
          card.powerOff()
          continue
        case 1, 2:
          card.reset()
          continue
        case 4:
          // A card that is gone: the reader loses the connection. An empty answer would make the driver wait for more.
          answer = card.answerToReset
          if answer.isEmpty { return }
        default: continue
        }
      } else {
        guard let response = card.transmit(payload) else { return }
        answer = response
      }
      let message = [UInt8(answer.count >> 8 & 0xFF), UInt8(answer.count & 0xFF)] + answer
      guard write(connection, message) else { return }
    }
  }

  private func read(_ connection: Int32, _ count: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    while bytes.count < count {
      // Without it the kernel puts off acknowledging, and every APDU costs 40 ms.
      var on: Int32 = 1
      setsockopt(connection, Int32(IPPROTO_TCP), TCP_QUICKACK, &on, socklen_t(MemoryLayout<Int32>.size))
      guard wait(for: connection) else { return nil }
      var buffer = [UInt8](repeating: 0, count: count - bytes.count)
      let got = recv(connection, &buffer, buffer.count, 0)
      if got < 0, errno == EINTR || errno == EAGAIN { continue }
      guard got > 0 else { return nil }
      bytes += buffer[..<got]
    }
    return bytes
  }

  private func write(_ connection: Int32, _ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let rest = Array(bytes[sent...])
      let n = send(connection, rest, rest.count, Int32(MSG_NOSIGNAL))
      if n < 0, errno == EINTR { continue }
      guard n > 0 else { return false }
      sent += n
    }
    return true
  }
}

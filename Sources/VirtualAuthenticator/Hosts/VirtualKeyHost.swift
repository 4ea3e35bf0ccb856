// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc

/// Tells a host's thread to end, from any other.
final class HostControl: Sendable {
  let wake = WakePipe()
  private let stopped = Locked(false)

  var isStopped: Bool { stopped.withLock { $0 } }

  func stop() {
    stopped.withLock { $0 = true }
    wake.wake()
  }

  /// Sleeps, unless told to end.
  func sleep(_ milliseconds: Int64) {
    var polled = pollfd(fd: wake.readEnd, events: Int16(POLLIN), revents: 0)
    poll(&polled, 1, Int32(clamping: max(0, milliseconds)))
  }
}

/// A virtual key, plugged in somewhere: serves it on a wire, on a thread of its own, until it is stopped or the other
/// end goes.
///
///     let key = try VirtualAuthenticator()
///     let (fd, host) = try VirtualKeyHost.inProcess(key)
///     // fd moves whole reports, as /dev/hidraw does; close it when done
///     host.stop()
public final class VirtualKeyHost: Sendable {
  /// The key it serves.
  public let key: VirtualAuthenticator
  /// What goes wrong, and how far it has come.
  public let faults: FaultScript
  /// The UDP port, when it is one.
  public let port: UInt16?
  private let control = HostControl()
  private let done = Locked(false)
  private let finished = WakePipe()

  private init(
    key: VirtualAuthenticator, faults: FaultScript, port: UInt16? = nil
  ) {
    self.key = key
    self.faults = faults
    self.port = port
  }

  deinit { control.stop() }

  /// Serves the key on one end of a pair and returns the other: a descriptor that reads and writes whole reports of the
  /// profile's size, and takes a leading report id 0 as hidraw does. The caller closes it.
  ///
  /// When the host ends, reading the descriptor gives 0 bytes, as an unplugged key does.
  /// - Throws: ``VirtualKeyHostError/system(call:errno:)``.
  public static func inProcess(
    _ key: VirtualAuthenticator, faults: FaultScript = FaultScript()
  ) throws(VirtualKeyHostError) -> (fd: Int32, host: VirtualKeyHost) {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .last("socketpair") }
    let host = VirtualKeyHost(key: key, faults: faults)
    do {
      try host.start(serving: ends[1], reportSize: key.profile.reportSize)
    } catch {
      close(ends[0])
      throw error
    }
    return (ends[0], host)
  }

  private func start(serving descriptor: Int32, reportSize: Int) throws(VirtualKeyHostError) {
    try start { PairEndpoint(descriptor, reportSize: reportSize) }
  }

  /// Serves the key over UDP on the loopback interface, one report a datagram.
  /// - Parameters:
  ///   - port: 0 for any free one; ``port`` then says which.
  ///   - replyPort: where replies go; nil for where the request came from.
  /// - Throws: ``VirtualKeyHostError``.
  public static func udp(
    _ key: VirtualAuthenticator, port: UInt16 = 0, replyPort: UInt16? = nil, faults: FaultScript = FaultScript()
  ) throws(VirtualKeyHostError) -> VirtualKeyHost {
    let endpoint = try UDPEndpoint(port: port, replyPort: replyPort, reportSize: key.profile.reportSize)
    return try serve(key, endpoint, port: endpoint.port, faults: faults)
  }

  /// Serves the key on an endpoint that is open.
  static func serve(
    _ key: VirtualAuthenticator, _ endpoint: any ReportEndpoint, port: UInt16? = nil, faults: FaultScript
  ) throws(VirtualKeyHostError) -> VirtualKeyHost {
    let host = VirtualKeyHost(key: key, faults: faults, port: port)
    // Handed over to the thread: nobody else uses it from here on.
    nonisolated(unsafe) let handed = endpoint
    try host.start { handed }
    return host
  }

  /// Starts the thread with an endpoint that is made on it.
  func start(_ endpoint: @escaping @Sendable () -> ReportEndpoint) throws(VirtualKeyHostError) {
    let (key, faults, control, done, finished) = (key, faults, control, done, finished)
    let started = BackgroundThread.start {
      HIDHostLoop(key: key, endpoint: endpoint(), faults: faults, control: control).run()
      done.withLock { $0 = true }
      finished.wake()
    }
    guard started else {
      endpoint().close()
      throw .system(call: "pthread_create", errno: EAGAIN)
    }
  }

  /// Pulls the key out and waits until its thread has let go of the wire. The key itself stays as it is: host it again
  /// after ``VirtualAuthenticator/powerCycle()``.
  public func stop() {
    control.stop()
    waitUntilDone()
  }

  /// Pulls the key out, and takes its power with it.
  public func unplug() {
    stop()
    key.powerCycle()
  }

  /// Whether the key is still plugged in.
  public var isRunning: Bool { !done.withLock { $0 } }

  /// Waits until the host has ended by itself or by ``stop()``.
  public func waitUntilDone() {
    while isRunning {
      var polled = pollfd(fd: finished.readEnd, events: Int16(POLLIN), revents: 0)
      poll(&polled, 1, 1000)
    }
  }
}

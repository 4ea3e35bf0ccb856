// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// A file descriptor that moves whole reports: a hidraw node, a datagram socket, one end of a socket pair.
public final class ReportChannel {
  /// How reports look on this descriptor.
  public struct Shape: Sendable {
    /// Bytes in a report to the key, without report id.
    public var outputSize: Int
    /// Bytes in a report from the key.
    public var inputSize: Int
    /// Whether a report id goes before each report that is written (hidraw).
    public var writesReportID: Bool
    /// The id, where the device numbers its reports: it then stands before each report that is read, too.
    public var reportID: UInt8?
    /// What almost every key has.
    public static let usual = Shape(outputSize: 64, inputSize: 64, writesReportID: false)
    /// Any shape.
    public init(outputSize: Int, inputSize: Int, writesReportID: Bool, reportID: UInt8? = nil) {
      self.outputSize = outputSize
      self.inputSize = inputSize
      self.writesReportID = writesReportID
      self.reportID = reportID
    }
  }

  /// How a wait ended.
  enum Wait: Equatable {
    case report([UInt8])
    case timedOut
    case cancelled
  }

  private var descriptor: Int32
  let shape: Shape
  /// What it means that the first report was refused; after the first answer it means that the key went away.
  private let refusal: TransportError
  private var hasHeard = false

  /// Takes ownership of `descriptor`.
  /// - Parameter refusal: what is thrown when nobody is there to take the first report.
  public init(owning descriptor: Int32, shape: Shape = .usual, refusal: TransportError = .unplugged) {
    self.descriptor = descriptor
    self.shape = shape
    self.refusal = refusal
    // A blocked write to a stuck key must not hold the thread.
    let flags = fcntl(descriptor, F_GETFL)
    _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  deinit { shut() }

  /// Closes the descriptor. May be called twice.
  func shut() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  /// Writes one report.
  func write(_ report: [UInt8], until deadline: Deadline) throws(TransportError) {
    let bytes = shape.writesReportID ? [shape.reportID ?? 0] + report : report
    while true {
      let written = Glibc.write(descriptor, bytes, bytes.count)
      if written == bytes.count { return }
      if written >= 0 { throw .system(call: "write", errno: EIO) }
      switch errno {
      case EINTR: continue
      case EAGAIN:
        var waits = [pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)]
        let left = deadline.millisecondsLeft
        guard left > 0 else { throw .noAnswer(command: 0) }
        poll(&waits, 1, left)
      case let code: throw failure("write", code)
      }
    }
  }

  /// Waits for one report. `cancel` nil means that a cancel has been seen already.
  func read(until deadline: Deadline, cancel: CancelSwitch?) throws(TransportError) -> Wait {
    while true {
      // A negative descriptor is passed over by poll.
      var waits = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: cancel?.eventDescriptor ?? -1, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&waits, 2, deadline.millisecondsLeft)
      if ready < 0 {
        if errno == EINTR { continue }
        throw .system(call: "poll", errno: errno)
      }
      // What the key said before the cancel counts.
      if waits[0].revents & Int16(POLLIN) != 0 {
        var buffer = [UInt8](repeating: 0, count: shape.inputSize + 1)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count < 0 {
          if errno == EINTR || errno == EAGAIN { continue }
          throw failure("read", errno)
        }
        if count == 0 { throw .unplugged }
        hasHeard = true
        guard let id = shape.reportID else { return .report(Array(buffer.prefix(count))) }
        // Another report of the same device is none of ours.
        guard buffer[0] == id else { continue }
        return .report(Array(buffer.prefix(count).dropFirst()))
      }
      if waits[0].revents != 0 { throw failure("poll", socketError() ?? ENODEV) }
      if waits[1].revents != 0 { return .cancelled }
      if ready == 0 { return .timedOut }
    }
  }

  /// Reads and drops everything that is already there.
  /// - Returns: how many reports that were.
  @discardableResult
  func drop() -> Int {
    var buffer = [UInt8](repeating: 0, count: shape.inputSize + 1)
    // A key that never stops talking does not hold us here.
    for count in 0..<4096 where Glibc.read(descriptor, &buffer, buffer.count) <= 0 { return count }
    return 4096
  }

  /// The error that a socket has kept; nil when it is none, or has none.
  private func socketError() -> Int32? {
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 && code != 0 ? code : nil
  }

  private func failure(_ call: String, _ code: Int32) -> TransportError {
    switch code {
    case ECONNREFUSED where !hasHeard: refusal
    case ENODEV, EIO, ENXIO, EPIPE, ECONNRESET, ECONNREFUSED, EBADF, ESHUTDOWN: .unplugged
    default: .system(call: call, errno: code)
    }
  }
}

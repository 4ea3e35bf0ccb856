// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc

/// The key's end of a wire that moves whole reports.
protocol ReportEndpoint: AnyObject {
  /// Poll this for reading.
  var descriptor: Int32 { get }
  /// The next report, without report id.
  func receive() -> ReportInput
  /// Sends a report, without report id; false when the other end is gone for good.
  func send(_ report: [UInt8]) -> Bool
  /// Lets go of the wire.
  func close()
}

/// What a wire gave.
enum ReportInput {
  case report([UInt8])
  /// Nothing just now, or something that is no report.
  case nothing
  /// The other end is gone.
  case closed
}

/// Why a host cannot be started.
public enum VirtualKeyHostError: NamedError, Hashable {
  /// The system refused; the call and its errno.
  case system(call: String, errno: Int32)
  /// The port is taken.
  case portInUse(port: UInt16)

  public var name: String {
    switch self {
    case .system: "virtualHostFailed"
    case .portInUse: "virtualHostPortInUse"
    }
  }

  public var message: String {
    switch self {
    case .system(let call, let code):
      "The virtual key cannot be offered: \(call) failed (\(strerror(code).map { String(cString: $0) } ?? "?"))."
    case .portInUse(let port): "The virtual key cannot be offered: port \(port) is in use."
    }
  }

  public var next: String {
    switch self {
    case .system: "Check that you may do this here; it can need root or a kernel module."
    case .portInUse: "End the program that uses the port, or name another one."
    }
  }

  public var kind: FaultKind { .file }

  static func last(_ call: String) -> VirtualKeyHostError { .system(call: call, errno: errno) }
}

/// One end of an AF_UNIX SOCK_SEQPACKET pair: what a host in the same process uses in place of hidraw.
final class PairEndpoint: ReportEndpoint {
  let descriptor: Int32
  private let reportSize: Int

  init(_ descriptor: Int32, reportSize: Int) {
    self.descriptor = descriptor
    self.reportSize = reportSize
  }

  func receive() -> ReportInput {
    var buffer = [UInt8](repeating: 0, count: reportSize + 2)
    let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    if count < 0 { return errno == EAGAIN || errno == EINTR ? .nothing : .closed }
    guard count > 0 else { return .closed }
    // As on hidraw, a write may begin with the report id 0.
    if count == reportSize + 1, buffer[0] == 0 { return .report(Array(buffer[1...reportSize])) }
    return .report(Array(buffer[..<count]))
  }

  func send(_ report: [UInt8]) -> Bool {
    while Glibc.send(descriptor, report, report.count, Int32(MSG_NOSIGNAL)) < 0 {
      guard errno == EINTR else { return false }
    }
    return true
  }

  func close() { Glibc.close(descriptor) }
}

/// Reports as datagrams on the loopback interface: how firmware simulators offer a key.
final class UDPEndpoint: ReportEndpoint {
  let descriptor: Int32
  /// The port in use.
  let port: UInt16
  private let reportSize: Int
  private let replyPort: UInt16?
  private var peer: sockaddr_in?

  /// - Parameters:
  ///   - port: 0 for any free one.
  ///   - replyPort: where to send; nil for where the last report came from.
  init(port: UInt16, replyPort: UInt16?, reportSize: Int) throws(VirtualKeyHostError) {
    let fd = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard fd >= 0 else { throw .last("socket") }
    var address = Self.loopback(port)
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
    guard bound == 0 else {
      let error: VirtualKeyHostError = errno == EADDRINUSE ? .portInUse(port: port) : .last("bind")
      Glibc.close(fd)
      throw error
    }
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(fd, $0, &length) }
    }
    descriptor = fd
    self.port = UInt16(bigEndian: address.sin_port)
    self.replyPort = replyPort
    self.reportSize = reportSize
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  func receive() -> ReportInput {
    var buffer = [UInt8](repeating: 0, count: reportSize + 2)
    var from = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let count = withUnsafeMutablePointer(to: &from) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        recvfrom(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT), $0, &length)
      }
    }
    // Also what an earlier reply ran into, when its receiver had gone: not an end of this wire.
    guard count > 0 else { return .nothing }
    peer = from
    return .report(Array(buffer[..<count]))
  }

  func send(_ report: [UInt8]) -> Bool {
    guard var address = replyPort.map(Self.loopback) ?? peer else { return true }
    _ = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(
          descriptor, report, report.count, Int32(MSG_NOSIGNAL), $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return true
  }

  func close() { Glibc.close(descriptor) }
}

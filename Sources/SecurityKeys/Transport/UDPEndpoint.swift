// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CUdev
import Glibc

extension KeyEndpoint {
  /// A firmware simulator that exchanges 64-byte CTAPHID reports over UDP, on this computer only.
  /// - Parameters:
  ///   - port: where the simulator listens.
  ///   - replyPort: where it sends its reports, when that is a fixed port; nil when it answers whoever asked.
  public static func udp(port: UInt16, replyPort: UInt16? = nil) -> KeyEndpoint {
    let place = replyPort.map { "\(port):\($0)" } ?? "\(port)"
    return reports(
      id: "udp:\(place)", name: "simulator on UDP \(place)", kindName: "udp", isSimulated: true,
      refusal: .nobodyAnswers(port: port)
    ) {
      () throws(TransportError) in try loopbackSocket(port: port, replyPort: replyPort)
    }
  }

  /// A datagram socket that speaks with the loopback address and nobody else.
  private static func loopbackSocket(port: UInt16, replyPort: UInt16?) throws(TransportError) -> Int32 {
    let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(AF_INET, type, 0)
    guard descriptor >= 0 else { throw .system(call: "socket", errno: errno) }
    do throws(TransportError) {
      if let replyPort { try attach(descriptor, replyPort, "bind", Glibc.bind) }
      try attach(descriptor, port, "connect", Glibc.connect)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func attach(
    _ descriptor: Int32, _ port: UInt16, _ name: String,
    _ call: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32
  ) throws(TransportError) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, size) }
    }
    guard result == 0 else { throw .system(call: name, errno: errno) }
  }
}

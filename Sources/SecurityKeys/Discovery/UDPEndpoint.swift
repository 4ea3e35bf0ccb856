// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

extension KeyEndpoint {
  /// A firmware simulator that exchanges 64-byte CTAPHID reports over UDP, as SoloKeys' and CanoKey's do. Loopback only.
  /// - Parameters:
  ///   - port: where the simulator listens.
  ///   - replyPort: the port it answers to; nil lets the system choose.
  public static func udp(port: UInt16, replyPort: UInt16? = nil) -> KeyEndpoint {
    .reports(id: "udp:\(port)", name: "UDP port \(port)", kindName: "udp", isSimulated: true) {
      () throws(TransportError) in
      let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { throw .system(call: "socket", errno: errno) }
      func call(_ port: UInt16, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: address) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
          }
        }
      }
      let bound = replyPort.map { call($0) { Glibc.bind($0, $1, $2) } } ?? true
      guard bound, call(port, { Glibc.connect($0, $1, $2) }) else {
        let code = errno
        close(descriptor)
        throw .system(call: "connect", errno: code)
      }
      return descriptor
    }
  }
}

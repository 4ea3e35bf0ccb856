// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import TestSupport
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

/// What carries reports between a virtual key and the code under test.
enum Wire: Sendable {
  /// A pair of sockets in this process.
  case pair
  /// The kernel: uhid on the key's side, hidraw on ours.
  case uhid
  /// The kernel: a USB gadget on the key's side, usbhid and hidraw on ours.
  case gadget
}

/// A virtual key on a wire of the kernel. It stays plugged in from the first use on; when it was pulled out, the next use
/// plugs it in again.
final class KernelSocket: Sendable {
  private let virtual: VirtualAuthenticator
  private let faults: FaultScript
  private let wire: Wire
  /// Tells this key's node from all others.
  private let serial = Hex.encode(Random.bytes(6))
  private let host = Locked<VirtualKeyHost?>(nil)

  init(_ virtual: VirtualAuthenticator, _ faults: FaultScript, _ wire: Wire) {
    self.virtual = virtual
    self.faults = faults
    self.wire = wire
  }

  deinit { host.withLock { $0 }?.stop() }

  var endpoint: KeyEndpoint {
    KeyEndpoint(id: "kernel|\(serial)", name: "bench", kindName: "hidraw", isSimulated: true) {
      [self] cancel throws(TransportError) in try node().endpoint().connect(cancel)
    }
  }

  /// The key's node, plugged in anew when it is not there.
  private func node() throws(TransportError) -> FoundKey {
    do {
      if host.withLock({ $0 })?.isRunning != true {
        let new =
          try wire == .gadget
          ? VirtualKeyHost.usbGadget(virtual, serial: serial, faults: faults)
          : VirtualKeyHost.uhid(virtual, serial: serial, faults: faults)
        host.withLock { $0 = new }
      }
    } catch { throw .system(call: error.message, errno: EIO) }
    let end = Deadline.after(.seconds(60))
    while !end.isOver {
      if let node = SystemNodes.all().first(where: { $0.unique == serial }), let key = FoundKey(node),
        access(node.path, R_OK | W_OK) == 0
      {
        return key
      }
      usleep(2000)
    }
    throw .absent("kernel|\(serial)")
  }
}

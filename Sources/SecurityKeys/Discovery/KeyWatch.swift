// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CUdev
import Glibc

/// A key came or went.
public enum KeyChange: Sendable, Hashable {
  /// It is there now.
  case appeared(FoundKey)
  /// It is there no more.
  case gone(FoundKey)
}

/// Watches keys come and go.
public enum KeyWatch {
  /// First every key that is there, then each change as it happens, until the reader of the stream stops reading.
  public static func changes() -> AsyncStream<KeyChange> {
    let (stream, continuation) = AsyncStream.makeStream(of: KeyChange.self)
    // Pulled when nobody reads any more.
    let stop = CancelSwitch()
    continuation.onTermination = { _ in stop.pull() }
    let started = DetachedThread.start {
      watch(stop) { continuation.yield($0) }
      continuation.finish()
    }
    if !started { continuation.finish() }
    return stream
  }

  private static func watch(_ stop: CancelSwitch, _ tell: (KeyChange) -> Void) {
    // Listening begins before the first look, so that nothing falls between the two.
    let monitor = NodeMonitor()
    var present: [FoundKey] = []
    while !stop.isPulled {
      let now = KeyDiscovery.list()
      for change in changes(from: present, to: now) { tell(change) }
      present = now
      monitor.wait(stop)
    }
  }

  /// What happened between two looks: first what went, then what came. A key in the same place with another identity
  /// is another key.
  static func changes(from old: [FoundKey], to new: [FoundKey]) -> [KeyChange] {
    func isSame(_ a: FoundKey, _ b: FoundKey) -> Bool { a.place == b.place && a.identity == b.identity }
    return old.filter { a in !new.contains { isSame(a, $0) } }.map { .gone($0) }
      + new.filter { a in !old.contains { isSame(a, $0) } }.map { .appeared($0) }
  }
}

/// Wakes when a hidraw node comes or goes. Without a monitor it wakes every second, so that watching still works.
final class NodeMonitor {
  private let udev: OpaquePointer?
  private let monitor: OpaquePointer?

  init() {
    udev = udev_new()
    // Where udevd runs, its word comes after the node's permissions are set; elsewhere only the kernel speaks.
    let source = access("/run/udev/control", F_OK) == 0 ? "udev" : "kernel"
    let monitor = udev.flatMap { udev_monitor_new_from_netlink($0, source) }
    if let monitor {
      udev_monitor_filter_add_match_subsystem_devtype(monitor, "hidraw", nil)
      udev_monitor_enable_receiving(monitor)
    }
    self.monitor = monitor
  }

  deinit {
    if let monitor { udev_monitor_unref(monitor) }
    if let udev { udev_unref(udev) }
  }

  /// Waits for the next change, or for `stop`.
  func wait(_ stop: CancelSwitch) {
    var waits = [
      pollfd(fd: monitor.map { udev_monitor_get_fd($0) } ?? -1, events: Int16(POLLIN), revents: 0),
      pollfd(fd: stop.eventDescriptor, events: Int16(POLLIN), revents: 0),
    ]
    while true {
      let ready = poll(&waits, 2, monitor == nil ? 1000 : -1)
      if ready < 0, errno == EINTR { continue }
      break
    }
    guard let monitor, waits[0].revents != 0 else { return }
    // Composite keys bring several nodes at once: one look for all of them.
    repeat {
      while let device = udev_monitor_receive_device(monitor) { udev_device_unref(device) }
      waits[0].revents = 0
    } while poll(&waits, 1, 30) > 0
  }
}

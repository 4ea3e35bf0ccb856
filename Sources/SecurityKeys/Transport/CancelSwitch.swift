// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CUdev
import Glibc
import Synchronization

/// Stops whatever a key is doing, from any thread.
///
/// A flag for code that is between two commands, and an eventfd that wakes a blocked wait. Waiting code polls the
/// eventfd and never reads it, so a cancel can be neither lost nor seen twice.
public final class CancelSwitch: Sendable {
  private let flag = Atomic<Bool>(false)
  let eventDescriptor: Int32

  /// Not pulled.
  public init() { eventDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) }

  deinit { close(eventDescriptor) }

  /// Whether it has been pulled since it was last armed.
  public var isPulled: Bool { flag.load(ordering: .acquiring) }

  /// Pulls it.
  public func pull() {
    flag.store(true, ordering: .releasing)
    eventfd_write(eventDescriptor, 1)
  }

  /// Makes it ready for the next act.
  func arm() {
    var count: eventfd_t = 0
    eventfd_read(eventDescriptor, &count)
    flag.store(false, ordering: .releasing)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// Who waits for the person while a command is half done: the host, which meanwhile keeps its wire going.
protocol PresenceWaiter: AnyObject {
  /// Returns when the button has decided, the deadline has passed, or the host has cancelled.
  func wait(for touch: TouchControl, until deadline: Int64) -> PresenceOutcome
}

/// Waits where there is no wire.
final class DirectWaiter: PresenceWaiter {
  private let clock: KeyClock

  init(clock: KeyClock) { self.clock = clock }

  func wait(for touch: TouchControl, until deadline: Int64) -> PresenceOutcome {
    while true {
      if let decision = touch.decision() { return decision }
      let now = clock.now()
      guard now < deadline else { return .timedOut }
      // Short enough for clocks that run at another speed.
      let pause = min(max(1, min(deadline, touch.nextLook ?? deadline) - now), 20)
      var wake = pollfd(fd: touch.wake.readEnd, events: Int16(POLLIN), revents: 0)
      poll(&wake, 1, Int32(pause))
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// A moment on the monotonic clock.
public struct Deadline: Sendable, Hashable, Comparable {
  /// Nanoseconds on CLOCK_MONOTONIC.
  let nanoseconds: Int64

  /// The moment `duration` from now.
  public static func after(_ duration: Duration) -> Deadline {
    let (seconds, attoseconds) = duration.components
    return Deadline(nanoseconds: now.nanoseconds &+ seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
  }

  /// This moment.
  public static var now: Deadline {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Deadline(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  /// Whether the moment is over.
  public var isOver: Bool { Deadline.now >= self }

  /// Milliseconds left, rounded up, 0 when over: what poll takes.
  var millisecondsLeft: Int32 {
    let left = nanoseconds - Deadline.now.nanoseconds
    return left <= 0 ? 0 : Int32(clamping: (left + 999_999) / 1_000_000)
  }

  public static func < (a: Deadline, b: Deadline) -> Bool { a.nanoseconds < b.nanoseconds }
}

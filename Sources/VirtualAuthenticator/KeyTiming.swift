// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// A clock that never runs backwards, in milliseconds. Tests bring their own.
public struct KeyClock: Sendable {
  /// Milliseconds since some fixed moment.
  public let now: @Sendable () -> Int64

  /// A clock that asks `now`.
  public init(now: @escaping @Sendable () -> Int64) { self.now = now }

  /// The machine's monotonic clock.
  public static let system = KeyClock {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}

/// How long things may take, all in milliseconds.
public struct KeyTiming: Sendable, Hashable {
  /// How long a touch is waited for (CTAP 2.1 section 6.1.2 names 30 s as a sensible value).
  public var touchTimeout: Int64 = 30_000
  /// How long after power-up a reset is allowed (section 6.6); nil for always.
  public var resetWindow: Int64? = 10_000
  /// How long getNextAssertion and its kin may be put off (section 6, stateful commands).
  public var statefulTimeout: Int64 = 30_000
  /// How long a fresh pinUvAuthToken may lie unused, and how long a touch counts as present (section 6.5.2.1).
  public var tokenInitialUse: Int64 = 30_000
  /// How long a pinUvAuthToken lives in all (section 6.5.2.1).
  public var tokenMaximumUse: Int64 = 600_000
  /// The time between two KEEPALIVEs (section 11.2.9.1.8).
  public var keepaliveInterval: Int64 = 100
  /// How long the packets of one message may be apart.
  public var messageTimeout: Int64 = 500

  /// What the standard says.
  public init() {}

  /// Everything times `factor`, at least 1 ms each: for tests that let things run out.
  public func scaled(by factor: Double) -> KeyTiming {
    func scale(_ t: Int64) -> Int64 { max(1, Int64(Double(t) * factor)) }
    var scaled = self
    scaled.touchTimeout = scale(touchTimeout)
    scaled.resetWindow = resetWindow.map(scale)
    scaled.statefulTimeout = scale(statefulTimeout)
    scaled.tokenInitialUse = scale(tokenInitialUse)
    scaled.tokenMaximumUse = scale(tokenMaximumUse)
    scaled.keepaliveInterval = scale(keepaliveInterval)
    scaled.messageTimeout = scale(messageTimeout)
    return scaled
  }
}

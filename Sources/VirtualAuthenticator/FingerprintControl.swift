// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// The finger on a virtual key's sensor: whose it is.
public final class FingerprintControl: Sendable {
  /// What the sensor says of the next finger.
  public enum Result: Sendable, Hashable {
    /// An enrolled finger.
    case match
    /// Another finger.
    case mismatch
  }

  private struct State {
    var script: [Result] = []
    var then = Result.match
  }

  private let state = Locked(State())

  /// A finger that is always recognised.
  public init() {}

  /// One result for each finger in turn, and `then` for all that follow.
  public func set(_ script: [Result] = [], then: Result = .match) {
    state.withLock { $0 = State(script: script, then: then) }
  }

  func next() -> Result {
    state.withLock { $0.script.isEmpty ? $0.then : $0.script.removeFirst() }
  }
}

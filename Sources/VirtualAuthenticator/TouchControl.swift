// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc

/// What the key asks of the person.
public struct PresenceRequest: Sendable, Hashable {
  /// A touch, or a finger on the sensor.
  public enum Kind: Sendable, Hashable {
    /// A touch proves that somebody is there.
    case touch
    /// A touch that also recognises the finger.
    case fingerprint
  }

  /// What kind.
  public let kind: Kind
  /// The command that waits; nil for U2F.
  public let command: CTAPCommand?
  /// Whom it is for, when the command says so.
  public let rpId: String?
}

/// How a wait for the person ended.
public enum PresenceOutcome: Sendable, Hashable {
  /// Touched.
  case given
  /// Refused on the key.
  case refused
  /// The host cancelled.
  case cancelled
  /// Nobody came.
  case timedOut
  /// The key was unplugged, or the host resynchronised its channel: nobody waits for an answer.
  case abandoned
}

/// The button of a virtual key: who presses it, and when.
public final class TouchControl: Sendable {
  /// How waits are answered.
  public indirect enum Policy: Sendable {
    /// At once.
    case automatic
    /// After so many milliseconds.
    case after(milliseconds: Int64)
    /// Only by ``TouchControl/touch()``.
    case never
    /// Refused at once.
    case refuse
    /// One policy for each wait in turn, the last one for all that follow.
    case script([Policy], then: Policy)
    /// The closure is called on a thread of its own, and answers through the request it is given.
    case prompt(@Sendable (PendingTouch) -> Void)
  }

  private struct State {
    var policy: Policy
    var serial = 0
    var request: PresenceRequest?
    var dueAt: Int64?
    var decision: PresenceOutcome?
    var asked: [PresenceRequest] = []
  }

  private let state: Locked<State>
  private let clock: KeyClock
  /// Becomes readable when a decision has been made: a host polls it beside its wire.
  let wake = WakePipe()

  /// A button with a policy.
  public init(_ policy: Policy = .automatic, clock: KeyClock = .system) {
    state = Locked(State(policy: policy))
    self.clock = clock
  }

  /// How the waits are answered now.
  public var policy: Policy { state.withLock { $0.policy } }

  /// Changes how the waits from now on are answered.
  public func setPolicy(_ policy: Policy) { state.withLock { $0.policy = policy } }

  /// Presses the button. Does nothing when nobody waits.
  public func touch() { decide(.given) }

  /// Refuses what waits.
  public func refuse() { decide(.refused) }

  /// What the key has asked of the person so far.
  public var requests: [PresenceRequest] { state.withLock { $0.asked } }

  /// What the key waits for now.
  public var pending: PresenceRequest? { state.withLock { $0.request } }

  private func decide(_ outcome: PresenceOutcome, serial: Int? = nil) {
    let decided = state.withLock { s -> Bool in
      guard s.request != nil, s.decision == nil, serial == nil || serial == s.serial else { return false }
      s.decision = outcome
      return true
    }
    if decided { wake.wake() }
  }

  /// Starts to wait.
  func begin(_ request: PresenceRequest) {
    let now = clock.now()
    let prompt = state.withLock { s -> (Int, @Sendable (PendingTouch) -> Void)? in
      s.serial += 1
      s.request = request
      s.dueAt = nil
      s.decision = nil
      s.asked.append(request)
      switch Self.next(&s.policy) {
      case .automatic: s.decision = .given
      case .after(let milliseconds): s.dueAt = now + max(0, milliseconds)
      case .refuse: s.decision = .refused
      case .never, .script: break
      case .prompt(let closure): return (s.serial, closure)
      }
      return nil
    }
    guard let (serial, closure) = prompt else { return }
    let pending = PendingTouch(request: request, serial: serial, control: self)
    // Nobody waits for this thread: it ends when the person has answered, or with the process.
    BackgroundThread.start { closure(pending) }
  }

  /// The policy for this wait, taken off the script.
  private static func next(_ policy: inout Policy) -> Policy {
    guard case .script(var list, let then) = policy else { return policy }
    guard !list.isEmpty else {
      policy = then
      return next(&policy)
    }
    let first = list.removeFirst()
    policy = list.isEmpty ? then : .script(list, then: then)
    return first
  }

  /// The decision, once there is one; nil while the wait goes on.
  func decision() -> PresenceOutcome? {
    let now = clock.now()
    return state.withLock { s in
      if s.decision == nil, let due = s.dueAt, now >= due { s.decision = .given }
      return s.decision
    }
  }

  /// When to look again without being woken.
  var nextLook: Int64? { state.withLock { $0.dueAt } }

  /// Stops waiting.
  func end() {
    wake.drain()
    state.withLock { s in
      s.request = nil
      s.decision = nil
      s.dueAt = nil
    }
  }

  /// A wait that a prompt answers.
  public struct PendingTouch: Sendable {
    /// What is asked.
    public let request: PresenceRequest
    fileprivate let serial: Int
    fileprivate let control: TouchControl

    /// Touches the key, when the wait is still on.
    public func approve() { control.decide(.given, serial: serial) }
    /// Refuses, when the wait is still on.
    public func refuse() { control.decide(.refused, serial: serial) }
    /// False once it was answered, cancelled or timed out.
    public var isPending: Bool {
      control.state.withLock { $0.serial == serial && $0.request != nil && $0.decision == nil }
    }
  }
}

/// A detached thread with a closure.
enum BackgroundThread {
  private final class Box {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Starts the thread; false when the system has none left.
  @discardableResult
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Box(body))
    let result = pthread_create(
      &thread, nil,
      { raw in
        if let raw { Unmanaged<Box>.fromOpaque(raw).takeRetainedValue().body() }
        return nil
      }, box.toOpaque())
    guard result == 0 else {
      box.release()
      return false
    }
    pthread_detach(thread)
    return true
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc

/// One CTAP2 command of a card, on its own thread when the host polls.
final class CardJob: Sendable {
  private struct State {
    var reply: [UInt8]?
    var interruption: PresenceOutcome?
  }

  private let key: VirtualAuthenticator
  private let request: [UInt8]
  private let state = Locked(State())
  private let interrupted = WakePipe()
  private let done = WakePipe()

  init(key: VirtualAuthenticator, request: [UInt8]) {
    self.key = key
    self.request = request
  }

  /// What the key said, once it has.
  var reply: [UInt8]? { state.withLock { $0.reply } }

  func run() {
    let reply = key.handle(request, session: VirtualCard.session, waiter: Waiter(job: self, clock: key.clock))
    state.withLock { $0.reply = reply }
    done.wake()
  }

  func start() -> Bool { BackgroundThread.start { self.run() } }

  func cancel(_ outcome: PresenceOutcome) {
    state.withLock { $0.interruption = $0.interruption ?? outcome }
    interrupted.wake()
  }

  func waitUntilDone(milliseconds: Int32 = -1) {
    guard reply == nil else { return }
    var polled = pollfd(fd: done.readEnd, events: Int16(POLLIN), revents: 0)
    poll(&polled, 1, milliseconds)
  }

  private final class Waiter: PresenceWaiter {
    private let job: CardJob
    private let clock: KeyClock

    init(job: CardJob, clock: KeyClock) {
      self.job = job
      self.clock = clock
    }

    func wait(for touch: TouchControl, until deadline: Int64) -> PresenceOutcome {
      while true {
        if let interruption = job.state.withLock({ $0.interruption }) { return interruption }
        if let decision = touch.decision() { return decision }
        let now = clock.now()
        guard now < deadline else { return .timedOut }
        var polled = [
          pollfd(fd: touch.wake.readEnd, events: Int16(POLLIN), revents: 0),
          pollfd(fd: job.interrupted.readEnd, events: Int16(POLLIN), revents: 0),
        ]
        poll(&polled, 2, Int32(clamping: min(max(1, min(deadline, touch.nextLook ?? deadline) - now), 1000)))
      }
    }
  }
}

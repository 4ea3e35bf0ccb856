// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import Synchronization

/// Ctrl-C and SIGTERM end the act, not the process: the key is told, its answer is waited for, then the program ends with
/// 130. A second signal ends it at once.
final class Interrupts: Sendable {
  private let seen = Atomic<Bool>(false)

  /// Blocks the signals; every thread that is made later inherits that.
  init() {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGINT)
    sigaddset(&set, SIGTERM)
    pthread_sigmask(SIG_BLOCK, &set, nil)
    // A closed pipe is an error of write, not the end.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Runs `body` as a task that the signals cancel. 130 when one came.
  func run(_ body: @escaping @Sendable () async -> Int32) async -> Int32 {
    let task = Task { await body() }
    let box = Unmanaged.passRetained(Waiter(self, task))
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { pointer in
        guard let pointer else { return nil }
        Unmanaged<Waiter>.fromOpaque(pointer).takeRetainedValue().wait()
        return nil
      }, box.toOpaque())
    pthread_detach(thread)
    let code = await task.value
    return seen.load(ordering: .acquiring) ? 130 : code
  }

  private final class Waiter: Sendable {
    private let interrupts: Interrupts
    private let task: Task<Int32, Never>
    init(_ interrupts: Interrupts, _ task: Task<Int32, Never>) {
      self.interrupts = interrupts
      self.task = task
    }

    func wait() {
      var set = sigset_t()
      sigemptyset(&set)
      sigaddset(&set, SIGINT)
      sigaddset(&set, SIGTERM)
      var number: Int32 = 0
      while true {
        guard sigwait(&set, &number) == 0 else { continue }
        if interrupts.seen.exchange(true, ordering: .acquiringAndReleasing) { _exit(130) }
        task.cancel()
      }
    }
  }
}

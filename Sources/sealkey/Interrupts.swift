// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import Synchronization

/// Where the signal handler writes: one byte a signal. -1 until there is a pipe.
private let signalPipe = Atomic<Int32>(-1)

/// Whether one of the signals that end a run has come.
private let interruptCame = Atomic<Bool>(false)

/// Ctrl-C, Ctrl-\\, SIGTERM and a terminal that goes away end the act, not the process: the key is told, its answer is
/// waited for, then the program ends with 130. A second signal ends it at once.
///
/// A handler and a pipe, not blocked signals and sigwait: the runtime parks the first thread with nothing blocked.
final class Interrupts: Sendable {
  private let readEnd: Int32

  init() {
    var ends: [Int32] = [-1, -1]
    if pipe(&ends) != 0 { ends = [-1, -1] }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    readEnd = ends[0]
    signalPipe.store(ends[1], ordering: .sequentiallyConsistent)
    // Whoever started this program may have them blocked, and a child inherits that.
    let numbers = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    var all = sigset_t()
    sigemptyset(&all)
    for number in numbers { sigaddset(&all, number) }
    pthread_sigmask(SIG_UNBLOCK, &all, nil)
    for number in numbers {
      var before = sigaction()
      sigaction(number, nil, &before)
      // Under nohup (SIG_IGN is 1) a terminal that goes away is no reason to end.
      if number == SIGHUP, unsafeBitCast(before.__sigaction_handler.sa_handler, to: Int.self) == 1 { continue }
      signal(number) { _ in
        // Only write may be called here.
        var byte: UInt8 = 1
        let before = errno
        _ = write(signalPipe.load(ordering: .relaxed), &byte, 1)
        errno = before
      }
    }
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
    return Self.came ? 130 : code
  }

  /// Whether one has come. Questions at the terminal end when it has.
  static var came: Bool { interruptCame.load(ordering: .acquiring) }

  private final class Waiter: Sendable {
    private let interrupts: Interrupts
    private let task: Task<Int32, Never>
    init(_ interrupts: Interrupts, _ task: Task<Int32, Never>) {
      self.interrupts = interrupts
      self.task = task
    }

    func wait() {
      var byte: UInt8 = 0
      while true {
        let count = read(interrupts.readEnd, &byte, 1)
        if count < 0, errno == EINTR { continue }
        guard count == 1 else { return }
        if interruptCame.exchange(true, ordering: .acquiringAndReleasing) {
          Terminal.showAgain()
          _exit(130)
        }
        task.cancel()
      }
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import Testing

/// Runs what it marks on polite threads of its own.
///
/// Tests share a pool with one thread a core. Long arithmetic on it would hold up those that wait for a key's answer
/// in real time, so everything that computes for long stands aside: other threads, lower priority.
public struct Arithmetic: TestTrait, SuiteTrait, TestScoping {
  public let isRecursive = true

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(PoliteThreads.shared) { try await function() }
  }
}

extension Trait where Self == Arithmetic {
  /// Long arithmetic: off the pool that the tests with keys wait on.
  public static var arithmetic: Arithmetic { Arithmetic() }
}

/// As many threads as cores, below everybody else's priority.
///
/// Unchecked: `jobs` is only touched under `mutex`, and both pthread objects live as long as the process.
private final class PoliteThreads: TaskExecutor, @unchecked Sendable {
  static let shared = PoliteThreads()

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var jobs: [UnownedJob] = []

  private init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
    for _ in 0..<max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) {
      var thread = pthread_t()
      let unmanaged = Unmanaged.passRetained(self).toOpaque()
      pthread_create(
        &thread, nil,
        { pointer in
          // On Linux a thread's niceness is its own (setpriority(2), "C library/kernel differences").
          setpriority(0, 0, 10)  // PRIO_PROCESS, this thread
          if let pointer { Unmanaged<PoliteThreads>.fromOpaque(pointer).takeUnretainedValue().work() }
          return nil
        }, unmanaged)
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    pthread_mutex_lock(mutex)
    jobs.append(job)
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  private func work() -> Never {
    while true {
      pthread_mutex_lock(mutex)
      while jobs.isEmpty { pthread_cond_wait(condition, mutex) }
      let job = jobs.removeFirst()
      pthread_mutex_unlock(mutex)
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}

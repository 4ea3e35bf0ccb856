// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import Testing

/// Runs what it marks on threads of its own.
///
/// Tests share a pool with one thread a core. Long arithmetic on it, or waiting for another program, would hold up
/// those that wait for a key's answer in real time, so both stand aside.
public struct OwnThreads: TestTrait, SuiteTrait, TestScoping {
  public let isRecursive = true
  fileprivate let threads: Threads

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(threads) { try await function() }
  }
}

extension Trait where Self == OwnThreads {
  /// Long arithmetic: off the pool that the tests with keys wait on, and below its priority.
  public static var arithmetic: OwnThreads { OwnThreads(threads: .polite) }
  /// Runs other programs, and blocks a thread until each has ended.
  public static var programs: OwnThreads { OwnThreads(threads: .waiting) }
}

/// A few threads that take jobs in the order they come.
///
/// Unchecked: `jobs` is only touched under `mutex`, and both pthread objects live as long as the process.
private final class Threads: TaskExecutor, @unchecked Sendable {
  /// As many as cores, below everybody else's priority.
  static let polite = Threads(count: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))), niceness: 10)
  /// Their programs do the work; more at once would only starve each other.
  static let waiting = Threads(count: 3, niceness: 0)

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private let niceness: Int32
  private var jobs: [UnownedJob] = []

  private init(count: Int, niceness: Int32) {
    self.niceness = niceness
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
    for _ in 0..<count {
      var thread = pthread_t()
      let unmanaged = Unmanaged.passRetained(self).toOpaque()
      pthread_create(
        &thread, nil,
        { pointer in
          if let pointer { Unmanaged<Threads>.fromOpaque(pointer).takeUnretainedValue().work() }
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
    // On Linux a thread's niceness is its own (setpriority(2), "C library/kernel differences").
    if niceness != 0 { setpriority(0, 0, niceness) }  // PRIO_PROCESS, this thread
    while true {
      pthread_mutex_lock(mutex)
      while jobs.isEmpty { pthread_cond_wait(condition, mutex) }
      let job = jobs.removeFirst()
      pthread_mutex_unlock(mutex)
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}

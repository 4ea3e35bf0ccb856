// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CFido2
import CTAPWire
import CUdev
import CryptoCore
import Glibc
import Synchronization

/// One thread for one key, as an actor's executor: libfido2's calls block for as long as a person takes to touch.
final class KeyThread: SerialExecutor {
  private let jobs = Locked<[UnownedJob]>([])
  private let wakeDescriptor: Int32
  private let stopped = Atomic<Bool>(false)

  init() {
    wakeDescriptor = eventfd(0, Int32(EFD_CLOEXEC))
    // The thread keeps its executor alive until it is stopped.
    let box = Unmanaged.passRetained(self)
    var thread = pthread_t()
    let failed = pthread_create(
      &thread, nil,
      { pointer in
        guard let pointer else { return nil }
        Unmanaged<KeyThread>.fromOpaque(pointer).takeRetainedValue().run()
        return nil
      }, box.toOpaque())
    if failed != 0 { Exhaustion.end("pthread_create") }
    pthread_detach(thread)
  }

  deinit { close(wakeDescriptor) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    eventfd_write(wakeDescriptor, 1)
  }

  /// Ends the thread after what is queued.
  func stop() {
    stopped.store(true, ordering: .releasing)
    eventfd_write(wakeDescriptor, 1)
  }

  private func run() {
    // libfido2 keeps its flags per thread. Without this one, a lost getInfo reply turns a FIDO2 key into a U2F key that
    // then says "not on this key".
    fido_init(FIDO_DISABLE_U2F_FALLBACK)
    // With FIDO_DEBUG in the environment libfido2 prints every frame, PIN blocks among them: it has nowhere to print to.
    fido_set_log_handler { _ in }
    while true {
      let batch = jobs.withLock { queued in
        defer { queued.removeAll() }
        return queued
      }
      for job in batch { job.runSynchronously(on: asUnownedSerialExecutor()) }
      if batch.isEmpty {
        if stopped.load(ordering: .acquiring) { return }
        var count: eventfd_t = 0
        eventfd_read(wakeDescriptor, &count)
      }
    }
  }
}

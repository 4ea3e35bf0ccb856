// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import FuzzTargets
import Glibc
import Synchronization

/// The target that `$SEALKEY_FUZZ` names. Ends the program when there is none.
private let chosen: FuzzTarget = {
  let name = getenv("SEALKEY_FUZZ").map { String(cString: $0) } ?? ""
  if let target = FuzzTarget.named(name) { return target }
  print("SEALKEY_FUZZ must be one of: " + FuzzTarget.all.map(\.name).joined(separator: " "))
  exit(2)
}()

/// Before the first input. Writes the seeds of every target into folders under `$SEALKEY_FUZZ_SEEDS` and ends the
/// program, when that is set.
@_cdecl("sealkey_fuzz_begin")
public func begin() {
  if let folder = getenv("SEALKEY_FUZZ_SEEDS").map({ String(cString: $0) }) {
    Task {
      do { try await SeedFolder.write(SeedStock.made(), to: folder) } catch {
        print("seeds: \(error)")
        exit(1)
      }
      exit(0)
    }
    while true { pause() }
  }
  guard chosen.needsRun else { return }
  // libFuzzer's main thread waits for what is made once.
  let isDone = Atomic<Bool>(false)
  Task {
    _ = try? await SeedStock.made()
    isDone.store(true, ordering: .releasing)
  }
  while !isDone.load(ordering: .acquiring) { usleep(10_000) }
}

/// One input.
@_cdecl("sealkey_fuzz_one")
public func one(_ bytes: UnsafePointer<UInt8>?, _ count: Int) {
  guard count <= chosen.limit else { return }
  chosen.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
}

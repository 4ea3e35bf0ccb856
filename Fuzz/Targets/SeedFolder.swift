// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import SealCeremonies

/// Seeds as files, as libFuzzer wants them.
public enum SeedFolder {
  /// Writes the seeds of every target to `folder/<target>/seed-<number>`.
  public static func write(_ stock: SeedStock, to folder: String) throws {
    mkdir(folder, 0o755)
    for target in FuzzTarget.all {
      mkdir("\(folder)/\(target.name)", 0o755)
      let seeds = try target.seeds(stock)
      print("\(target.name): \(seeds.count) seeds, the longest of \(seeds.map(\.count).max() ?? 0) bytes")
      for (number, seed) in seeds.enumerated() {
        try AtomicFile.write(seed, to: "\(folder)/\(target.name)/seed-\(number)")
      }
    }
  }
}

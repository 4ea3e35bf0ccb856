// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import FuzzTargets
import Glibc
import TestSupport
import Testing

/// Every fuzz target meets its seeds, parts of them, changed ones, and everything that a fuzzer ever found.
@Suite("Fuzz targets", .arithmetic) struct ReplayTests {
  @Test("seeds, cut and changed")
  func seeds() async throws {
    let stock = try await SeedStock.made()
    // For a fuzzer that is built by other means.
    if let folder = getenv("SEALKEY_FUZZ_SEEDS") { try SeedFolder.write(stock, to: String(cString: folder)) }
    for target in FuzzTarget.all {
      let seeds = try target.seeds(stock)
      #expect(!seeds.isEmpty, "\(target.name)")
      var generator = SeededGenerator(seed: 6)
      for seed in seeds {
        target.run(seed)
        for end in Pace.sample(Array(stride(from: 0, to: seed.count, by: max(1, seed.count / 16)))) {
          target.run(Array(seed[..<end]))
        }
        await Task.yield()
        for _ in 0..<(seed.count > 8192 ? 4 : 32) where !seed.isEmpty {
          var changed = seed
          let place = Int.random(in: 0..<seed.count, using: &generator)
          switch Int.random(in: 0..<3, using: &generator) {
          case 0: changed[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
          case 1: changed[place] = .random(in: 0...255, using: &generator)
          default: changed.insert(.random(in: 0...255, using: &generator), at: place)
          }
          target.run(changed)
        }
      }
    }
  }

  @Test("what fuzzers found") func findings() throws {
    let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    for target in FuzzTarget.all {
      let folder = "\(root)/Fuzz/Findings/\(target.name)"
      guard let directory = opendir(folder) else { continue }
      defer { closedir(directory) }
      while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        guard !name.hasPrefix("."), let file = fopen("\(folder)/\(name)", "r") else { continue }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 17)
        let count = fread(&bytes, 1, bytes.count, file)
        target.run(Array(bytes[..<count]))
      }
    }
  }

  @Test("names are told apart, and every target names what it covers") func names() {
    #expect(Set(FuzzTarget.all.map(\.name)).count == FuzzTarget.all.count)
    for target in FuzzTarget.all { #expect(!target.sources.isEmpty && target.limit > 0) }
    #expect(FuzzTarget.named("cbor") != nil && FuzzTarget.named("nothing") == nil)
  }
}

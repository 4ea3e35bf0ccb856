// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SecurityKeys
import TestSupport
import Testing
import VirtualAuthenticator
import WebAuthnCore

@testable import InteropMatrix

/// A key that is pulled out in the middle of a run.
@Suite("Matrix run interrupted") struct PulledTests {
  /// Runs until it is done; the key is pulled out wherever `faults` says.
  private func run(_ bench: MatrixBench, _ faults: FaultScript) async throws -> (record: RunRecord, pulled: Int) {
    let place = RunPlace.virtual(bench.virtual, faults: faults)
    let kept = Locked<RunRecord?>(nil)
    var pulled = 0
    while pulled < 100 {
      do {
        let record = try await bench.runner(place: place, save: { record in kept.withLock { $0 = record } }).run(
          continuing: kept.withLock { $0 }, at: 1_800_000_000)
        return (record, pulled)
      } catch let error as any NamedError {
        #expect(error.name == "unplugged")
        pulled += 1
        bench.virtual.powerCycle()
      }
    }
    throw SecurityKeyError.transport(.unplugged)
  }

  @Test("at each command of the whole run: it goes on, and its end is that of a run without it")
  func everywhere() async throws {
    let calm = FaultScript()
    let (whole, none) = try await run(try await MatrixBench(), calm)
    #expect(none == 0 && calm.commands > 30)
    let wanted = MatrixBench.end(whole)
    for index in stride(from: 0, to: calm.commands, by: Extent.isFull ? 1 : 13) {
      let bench = try await MatrixBench()
      let faults = FaultScript([.command(index, .unplug)])
      let (record, pulled) = try await run(bench, faults)
      #expect(pulled == 1 && faults.fired == 1, "command \(index)")
      #expect(MatrixBench.end(record) == wanted, "command \(index)")
      #expect(bench.virtual.storedCredentials == 0 && bench.virtual.pinRetries == 8, "command \(index)")
      #expect(RunRecord.verify(record.encoded()).isGood, "command \(index)")
    }
  }

  @Test("again and again: every 30th command")
  func again() async throws {
    let bench = try await MatrixBench()
    let faults = FaultScript((1...20).map { .command($0 * 30, .unplug) })
    let (record, pulled) = try await run(bench, faults)
    #expect(pulled >= 2)
    #expect(MatrixBench.end(record) == MatrixBench.end(try await MatrixBench().run()))
    #expect(bench.virtual.storedCredentials == 0 && bench.virtual.pinRetries == 8)
  }
}

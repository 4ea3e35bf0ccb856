// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// One parser under a fuzzer: bytes in; what parses is written and read again, and must stay the same.
///
/// Any bytes may come, nothing may trap. A promise that is broken traps on purpose: that is how a fuzzer hears of it.
public struct FuzzTarget: Sendable {
  /// Its name, as `make fuzz TARGETS=` takes it.
  public let name: String
  /// The source files that it is for: their coverage is what counts.
  public let sources: [String]
  /// The longest input that makes sense, in bytes.
  public let limit: Int
  /// Whether a made run must be there first.
  public var needsRun: Bool { ["matrix-sheet", "metadata"].contains(name) }
  /// Tries one input.
  public let run: @Sendable (_ input: [UInt8]) -> Void
  /// Good inputs to begin with.
  public let seeds: @Sendable (SeedStock) throws -> [[UInt8]]

  init(
    _ name: String, _ sources: [String], limit: Int = 4096, seeds: @escaping @Sendable (SeedStock) throws -> [[UInt8]],
    run: @escaping @Sendable ([UInt8]) -> Void
  ) {
    self.name = name
    self.sources = sources
    self.limit = limit
    self.seeds = seeds
    self.run = run
  }

  /// All of them.
  public static let all = dataTargets + attestationTargets + wireTargets + sealTargets + recordTargets

  /// The one of that name.
  public static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// A promise about what was read.
func must(_ holds: Bool, _ promise: @autoclosure () -> String) {
  if !holds { fatalError("finding: \(promise())") }
}

/// What `read` returns, or nil when it throws: refusing is always allowed.
func attempt<T, E: Error>(_ read: () throws(E) -> T) -> T? { do { return try read() } catch { return nil } }

/// What was written by us must be read by us.
func again<T, E: Error>(_ what: String, _ read: () throws(E) -> T) -> T {
  do { return try read() } catch { fatalError("finding: \(what) refuses what it wrote: \(error)") }
}

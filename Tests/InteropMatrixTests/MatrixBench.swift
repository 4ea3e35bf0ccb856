// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SecurityKeys
import TestSupport
import VirtualAuthenticator
import WebAuthnCore

@testable import InteropMatrix

/// A virtual key, and runs on it.
struct MatrixBench: Sendable {
  static let pin = Array("2468".utf8)
  let virtual: VirtualAuthenticator
  let place: RunPlace
  let typed: [UInt8]

  init(_ profile: ModelProfile = .virtual, hasPIN: Bool = true, typed: [UInt8] = MatrixBench.pin) async throws {
    virtual = try VirtualAuthenticator(profile: profile)
    place = .virtual(virtual)
    self.typed = typed
    if hasPIN {
      let key = SecurityKey(place.endpoint)
      try await key.setPIN(SecretBytes(Self.pin))
      await key.close()
    }
  }

  func runner(
    _ change: (inout MatrixRunner.Options) -> Void = { _ in }, place: RunPlace? = nil,
    typed: [UInt8]? = nil, refused: RefusedPINs = RefusedPINs(), drain: Duration = .seconds(60),
    touch: Duration = .seconds(60), progress: @escaping @Sendable (MatrixRunner.Progress) -> Void = { _ in },
    save: @escaping @Sendable (RunRecord) throws -> Void = { _ in }
  ) -> MatrixRunner {
    var options = MatrixRunner.Options()
    change(&options)
    let typed = typed ?? self.typed
    return MatrixRunner(
      place ?? self.place, pin: { _ in SecretBytes(typed) }, refusedPINs: refused,
      timings: KeyTimings(touch: touch, command: .seconds(60), drain: drain), options: options,
      tool: "sealkey test", progress: progress, save: save)
  }

  func run() async throws -> RunRecord { try await runner().run(at: 1_800_000_000) }

  /// What two runs must agree in: everything but times and touches.
  static func end(_ record: RunRecord) -> [String] {
    let cells = record.cells
    let evaluation = Evaluation(record)
    return evaluation.findings.map { "\($0.step): \($0.cell) \($0.telemetry ?? "") \($0.notes)" } + cells.sheet
      + cells.sponsored + cells.further.dropFirst(2)
  }
}

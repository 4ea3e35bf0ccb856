// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Synchronization
import WebAuthnCore

/// What a run has done and could not write down. A key that was touched is not touched again for a full disk: everything
/// that can be written is, what could not be is said, and the run ends with the code for files.
final class Losses: Sendable {
  private struct Loss {
    let what: String
    let problem: any NamedError
  }

  private let all = Mutex<[Loss]>([])

  /// Whether nothing was lost.
  var isEmpty: Bool { all.withLock { $0.isEmpty } }

  /// Says what could not be written, whatever --quiet says, and remembers it.
  func add(_ what: String, _ problem: any NamedError) {
    all.withLock { $0.append(Loss(what: what, problem: problem)) }
    Console.note("NOT written, \(what): \(problem.message) [\(problem.name)]")
  }

  /// The outcome with what was lost in it.
  func told(in outcome: Outcome) -> Outcome {
    let lost = all.withLock { $0 }
    guard !lost.isEmpty else { return outcome }
    var told = outcome
    if told.code == 0 { told.code = FaultKind.file.rawValue }
    let list = lost.map { loss -> JSONValue in
      .object([
        ("what", .string(loss.what)), ("name", .string(loss.problem.name)), ("message", .string(loss.problem.message)),
      ])
    }
    told.json = .object((outcome.json.object ?? []).map { ($0.name, $0.value) } + [("notWritten", .array(list))])
    return told
  }
}

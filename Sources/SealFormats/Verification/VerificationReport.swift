// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// What was checked, one line a check, and whether all of it is good.
public struct VerificationReport: Sendable, Hashable {
  /// One check and how it went.
  public struct Check: Sendable, Hashable {
    /// How a check went.
    public enum Outcome: String, Sendable, Hashable {
      /// Checked and good.
      case good
      /// Checked and bad: the whole is not good.
      case bad
      /// Not bad, and worth knowing before relying on the whole.
      case warning
      /// A fact, said for completeness.
      case note
    }

    /// The stable name of the check or, when it failed, of what is wrong.
    public var name: String
    /// What was checked: a person's name, an event's ID.
    public var subject: String
    /// How it went.
    public var outcome: Outcome
    /// One plain sentence.
    public var explanation: String
  }

  /// Every check, in the order it was made.
  public private(set) var checks: [Check] = []

  /// An empty report.
  public init() {}

  /// Whether nothing is bad, and something was checked.
  public var isGood: Bool { !checks.isEmpty && !checks.contains { $0.outcome == .bad } }

  /// What is bad.
  public var failures: [Check] { checks.filter { $0.outcome == .bad } }

  /// What is worth knowing.
  public var warnings: [Check] { checks.filter { $0.outcome == .warning } }

  /// Adds a check.
  public mutating func add(
    _ outcome: Check.Outcome, _ name: String, _ subject: String = "", _ explanation: String
  ) {
    checks.append(Check(name: name, subject: subject, outcome: outcome, explanation: explanation))
  }

  /// Adds a failure under its own name.
  public mutating func add(_ error: some NamedError, _ subject: String, _ context: String = "") {
    let lead = context.isEmpty ? "" : context + " "
    add(.bad, error.name, subject, lead + error.message)
  }

  /// Adds what an assertion's check found: one bad line for each problem, or one good line.
  public mutating func add(
    _ problems: [VerificationProblem], _ name: String, _ subject: String, good: String
  ) {
    for problem in problems {
      add(problem.isWarning ? .warning : .bad, problem.name, subject, problem.message)
    }
    if !problems.contains(where: { !$0.isWarning }) { add(.good, name, subject, good) }
  }

  /// Adds all checks of another report.
  public mutating func append(_ other: VerificationReport) { checks += other.checks }

  /// `{"ok":...,"checks":[{"name","subject","outcome","explanation"}]}`
  public var json: JSONValue {
    .object([
      ("ok", .bool(isGood)),
      (
        "checks",
        .array(
          checks.map {
            .object([
              ("name", .string($0.name)), ("subject", .string($0.subject)),
              ("outcome", .string($0.outcome.rawValue)), ("explanation", .string($0.explanation)),
            ])
          })
      ),
    ])
  }
}

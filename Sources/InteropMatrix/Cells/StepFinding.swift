// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// How a step went.
public enum Mark: String, Sendable, Hashable {
  /// Every try.
  case works
  /// Some tries.
  case sometimes
  /// No try.
  case fails
  /// Nothing was tried.
  case notDone

  /// The sheet's sign.
  public var sign: String {
    switch self {
    case .works: "✅"
    case .sometimes: "⚠️"
    case .fails: "❌"
    case .notDone: "–"
    }
  }

  /// The sign in a word, for whoever does not see it.
  public var word: String {
    switch self {
    case .works: "works"
    case .sometimes: "sometimes"
    case .fails: "fails"
    case .notDone: "not done"
    }
  }
}

/// What a step's evidence says.
public struct StepFinding: Sendable, Hashable {
  /// Which step.
  public let step: MatrixStep
  /// How it went.
  public var mark: Mark
  /// The name of the failure, or why nothing was done.
  public var reason: String?
  /// The raw status of the failure.
  public var status: Int?
  /// The line that Seal's log has for the same bytes: of the first try that failed, else of the last.
  public var telemetry: String?
  /// What the failure points to.
  public var explanation: String?
  /// What is worth knowing although it works.
  public var notes: [String] = []
  /// Whether the secret of the try that is shown opens the lock; nil without a secret.
  var opensLock: Bool?
  /// Touches that the key was seen asking for in the last try.
  public var touches: Int?
  /// Milliseconds to the first sign that a touch is wanted.
  public var firstKeepalive: Int?
  /// Milliseconds to the answer.
  public var duration: Int?

  init(_ step: MatrixStep, _ mark: Mark) {
    self.step = step
    self.mark = mark
  }

  /// The cell: the sign, and in words why where there is a why.
  public var cell: String { reason.map { "\(mark.sign) \($0)" } ?? mark.sign }
}

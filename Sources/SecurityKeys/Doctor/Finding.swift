// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// One thing that was looked at, and what it means for a person who wants to use a key.
public struct Finding: Sendable, Hashable {
  /// How it stands.
  public enum Verdict: String, Sendable, Hashable {
    /// As it should be.
    case good
    /// Worth knowing; nothing is stopped by it.
    case note
    /// Something does not work, or does not work safely.
    case bad
  }

  /// A stable name, in lowerCamelCase.
  public let name: String
  /// How it stands.
  public let verdict: Verdict
  /// What it is about: a node, a reader, a file; nil for the whole computer.
  public let subject: String?
  /// One plain sentence, or two.
  public let message: String
  /// What to do about it, where something can be done.
  public let next: String?

  /// All parts at once.
  public init(_ verdict: Verdict, _ name: String, _ message: String, about subject: String? = nil, next: String? = nil)
  {
    self.verdict = verdict
    self.name = name
    self.subject = subject
    self.message = message
    self.next = next
  }
}

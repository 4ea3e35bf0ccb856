// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// An error that a person can act on and a program can match.
///
/// The `name` is stable across versions and is what `--json` prints; everything else is for the person.
/// Seal's own names are used where Seal has one.
public protocol NamedError: Error, Sendable, CustomStringConvertible {
  /// The stable name, in lowerCamelCase.
  var name: String { get }
  /// One plain sentence that says what happened.
  var message: String { get }
  /// What the person can do next.
  var next: String { get }
  /// The raw status behind it (a CTAP status byte or an APDU status word), where there is one.
  var status: Int? { get }
  /// The byte offset at fault in the input, where there is one.
  var offset: Int? { get }
  /// What kind of failure it is; decides the exit code.
  var kind: FaultKind { get }
}

extension NamedError {
  public var status: Int? { nil }
  public var offset: Int? { nil }
  public var kind: FaultKind { .bad }
  public var description: String {
    var text = "\(name): \(message)"
    if let offset { text += " (at byte \(offset))" }
    if let status { text += " (status 0x\(String(status, radix: 16)))" }
    return text
  }
}

/// The kinds of failure, with the exit code each gives the command line.
public enum FaultKind: Int32, Sendable, Hashable, CaseIterable {
  /// Something was checked and is bad.
  case bad = 1
  /// The command was used wrongly.
  case usage = 2
  /// No suitable key is present.
  case noKey = 3
  /// A PIN or user verification failed, is blocked or is missing.
  case userVerification = 4
  /// Cancelled by the person, or timed out.
  case cancelled = 5
  /// Refused by a rule of Seal or of this tool.
  case refused = 6
  /// A file or the local store could not be read or written.
  case file = 7
  /// The key reported an error, or could not be spoken to.
  case key = 8
}

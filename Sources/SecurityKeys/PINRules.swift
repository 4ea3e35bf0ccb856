// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// What a key demands of a new PIN, for telling a person before anything is typed.
public struct PINRules: Sendable, Hashable {
  /// The fewest characters, in Unicode code points.
  public let minimumLength: Int
  /// The most characters, in Unicode code points.
  public let maximumLength: Int
  /// The fewest characters that the PIN of now can have: one that must be changed may be from before the minimum was raised.
  public let presentMinimumLength: Int
  /// Whether the key refuses PINs that are easy to guess.
  public let refusesSimplePINs: Bool
  /// Where the maker describes that rule.
  public let policyURL: String?

  /// The rules in a key's getInfo; those of CTAP 2.1 section 6.5.1 where it says nothing.
  public init(_ info: AuthenticatorInfo?) {
    minimumLength = max(4, info?.minPINLength ?? 4)
    presentMinimumLength = info?.forcePINChange == true ? 4 : minimumLength
    maximumLength = min(63, max(minimumLength, info?.maxPINLength ?? 63))
    refusesSimplePINs = info?.pinComplexityPolicy == true
    policyURL = info?.pinComplexityPolicyURL.flatMap { HIDNode.cleaned(String(decoding: $0, as: UTF8.self)) }
  }

  /// The rules in plain sentences.
  public var lines: [String] {
    var lines = [
      "A PIN of this key has \(minimumLength) to \(maximumLength) characters, digits and letters as you like; "
        + "letters beyond plain English take more room."
    ]
    if refusesSimplePINs {
      lines.append(
        "The key refuses PINs that are easy to guess, such as 123456 or aaaaaa."
          + (policyURL.map { " Its rules: \($0)" } ?? ""))
    }
    return lines
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// Why text is no trait of a card.
public struct CardTraitTextError: NamedError, Hashable {
  /// The text.
  public let text: String

  public var name: String { "badCardTrait" }
  public var message: String { "\"\(text)\" is not a trait of a card." }
  public var next: String {
    "Write select-61xx, select-refuses-le, select-needs-le, no-extended, no-chaining, le-on-last, response:BYTES, "
      + "no-polling, polls:N, usb-face, tap-for-each or restricted."
  }
  public var kind: FaultKind { .usage }
}

extension CardTraits {
  /// Reads traits as the command line writes them: `no-extended,response:255`.
  /// - Throws: ``CardTraitTextError``.
  public init(parsing text: String) throws(CardTraitTextError) {
    self.init()
    for word in text.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
      let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let number = parts.count == 2 ? Int(parts[1]).flatMap { (1...65536).contains($0) ? $0 : nil } : nil
      switch (parts[0], number, parts.count) {
      case ("select-61xx", nil, 1): selectNeedsGetResponse = true
      case ("select-refuses-le", nil, 1): selectRefusesLe = true
      case ("select-needs-le", nil, 1): selectNeedsLe = true
      case ("no-extended", nil, 1): refusesExtended = true
      case ("no-chaining", nil, 1): refusesChaining = true
      case ("le-on-last", nil, 1): leOnlyOnLast = true
      case ("response", let bytes?, 2): responseLimit = bytes
      case ("no-polling", nil, 1): refusesPolling = true
      case ("polls", let count?, 2): pollsBeforeAnswer = count
      case ("usb-face", nil, 1): isFaceOfUSBKey = true
      case ("tap-for-each", nil, 1): oneCeremonyPerTap = true
      case ("restricted", nil, 1): isRestricted = true
      default: throw CardTraitTextError(text: word)
      }
    }
  }
}

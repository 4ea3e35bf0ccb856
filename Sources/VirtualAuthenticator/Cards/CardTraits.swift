// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// How a virtual card departs from the plainest one: what real cards, and readers before them, do to a host.
public struct CardTraits: Sendable, Hashable {
  /// Q67: SELECT answers 61xx, and GET RESPONSE brings the version.
  public var selectNeedsGetResponse = false
  /// Q69: SELECT with Le gives 6700.
  public var selectRefusesLe = false
  /// Q69: SELECT without Le gives 6700.
  public var selectNeedsLe = false
  /// Q69: extended APDUs give 6700.
  public var refusesExtended = false
  /// Command chaining gives 6884.
  public var refusesChaining = false
  /// Le on any but the last APDU of a chain gives 6700.
  public var leOnlyOnLast = false
  /// The most bytes of data in one response; the rest waits for GET RESPONSE. Nil: as many as Le asks for.
  public var responseLimit: Int?
  /// Q68: NFCCTAP_MSG with P1 0x80 is refused with 6A86.
  public var refusesPolling = false
  /// Q68: so many 9100 before an answer that was asked for with P1 0x80, ready or not.
  public var pollsBeforeAnswer = 0
  /// Q70: a USB key's card face: SELECT is answered, and everything after gives 6985.
  public var isFaceOfUSBKey = false
  /// Q71: the second ceremony without lifting the card gives UP_REQUIRED.
  public var oneCeremonyPerTap = false
  /// Q72: nothing can be selected.
  public var isRestricted = false

  /// The plainest card.
  public init() {}

  /// A changed copy.
  public func with(_ change: (inout CardTraits) -> Void) -> CardTraits {
    var copy = self
    change(&copy)
    return copy
  }
}

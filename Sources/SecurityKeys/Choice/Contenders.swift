// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// Which keys may be meant when nobody named one.
public enum Contenders: Sendable, Hashable {
  /// There is no key.
  case none
  /// There is one, and nobody need be asked.
  case one(FoundKey)
  /// There are several, and ``KeyChoice`` tells which: the keys that can be touched, and every reader on which one can
  /// be laid.
  case several([FoundKey])

  /// Looks. A card that lies on a reader beside other keys is asked whether it is a key at all, so that a bank's card
  /// makes nobody touch a key twice.
  /// - Parameter patience: how long pcscd may take to say what readers there are.
  public static func now(patience: Duration = .seconds(1)) async -> Contenders {
    let usb = KeyDiscovery.list()
    let readers = (try? CardDiscovery.list(patience: patience)) ?? []
    return await among(usb, readers) { await isKey($0.endpoint(patience: .zero)) }
  }

  static func among(
    _ usb: [FoundKey], _ readers: [(key: FoundKey, access: FoundKey.Access)], isKey: (FoundKey) async -> Bool
  ) async -> Contenders {
    let ready = readers.filter { $0.access == .ready }.map(\.key)
    // The only thing that could be meant: what is wrong with it shows when it is used.
    if usb.isEmpty, ready.count == 1 { return .one(ready[0]) }
    var cards: [FoundKey] = []
    for card in ready where await isKey(card) { cards.append(card) }
    let there = usb + (usb.isEmpty && cards.isEmpty ? ready : cards)
    guard let first = there.first else { return .none }
    guard there.count > 1, !(usb.isEmpty && cards.isEmpty) else { return .one(first) }
    return .several(usb + readers.filter { $0.access != .useUSB && $0.access != .gone }.map(\.key))
  }

  /// Whether what lies on a reader is a security key.
  static func isKey(_ card: KeyEndpoint) async -> Bool {
    let key = SecurityKey(
      card, timings: KeyTimings(touch: .seconds(1), command: .seconds(2), drain: .milliseconds(200)))
    let isKey = (try? await key.open()) != nil
    await key.close()
    return isKey
  }
}

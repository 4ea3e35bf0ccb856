// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// The PINs that keys have refused in this run. None of them is sent to the same key a second time: whatever answers by
/// itself (a pinentry program, a file, a program of somebody else's) would else spend one try after the other.
///
/// A key is told by where it is and by its AAGUID. The PINs lie in locked memory and are wiped with this object, or by
/// ``forgetAll()``.
public final class RefusedPINs: Sendable {
  private struct Refusal {
    let key: KeyMark
    let pin: CheckedPIN
  }
  private let refusals = Locked<[Refusal]>([])

  /// None yet.
  public init() {}

  /// The key has refused it.
  func note(_ pin: CheckedPIN, by key: KeyMark) {
    refusals.withLock { list in
      if !list.contains(where: { $0.key == key && $0.pin.isEqual(to: pin) }) {
        list.append(Refusal(key: key, pin: pin))
      }
    }
  }

  /// Whether the key has refused it before.
  func contains(_ pin: CheckedPIN, by key: KeyMark) -> Bool {
    refusals.withLock { list in
      // Every one is compared: how long it takes tells nothing of which it was.
      list.reduce(false) { found, refusal in
        let isSame = refusal.pin.isEqual(to: pin)
        return found || (isSame && refusal.key == key)
      }
    }
  }

  /// The key has another PIN from now on.
  func forget(_ key: KeyMark) { refusals.withLock { $0.removeAll { $0.key == key } } }

  /// The run is over.
  public func forgetAll() { refusals.withLock { $0 = [] } }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// A card that can be lifted off its reader and laid on again, by hand or at given APDUs.
public final class LiftableCard: SmartCard {
  private struct State {
    var isLifted = false
    var apdus = 0
    var lifts: Set<Int>
  }

  private let card: any SmartCard
  private let state: Locked<State>

  /// - Parameter lifts: the APDUs, counted from 0, at which the card is lifted before it hears them.
  public init(_ card: any SmartCard, lifts: Set<Int> = []) {
    self.card = card
    state = Locked(State(lifts: lifts))
  }

  /// APDUs so far, the unheard ones too.
  public var apduCount: Int { state.withLock { $0.apdus } }

  /// Empty while it is lifted.
  public var answerToReset: [UInt8] { state.withLock { $0.isLifted } ? [] : card.answerToReset }

  /// Takes it off the reader.
  public func lift() {
    state.withLock { $0.isLifted = true }
    card.powerOff()
  }

  /// Lays it on again.
  public func lay() { state.withLock { $0.isLifted = false } }

  public func reset() { card.reset() }
  public func powerOff() { card.powerOff() }

  public func transmit(_ apdu: [UInt8]) -> [UInt8]? {
    let (isLifted, falls) = state.withLock { s -> (Bool, Bool) in
      defer { s.apdus += 1 }
      return (s.isLifted, s.lifts.contains(s.apdus))
    }
    if falls { lift() }
    guard !isLifted, !falls, let answer = card.transmit(apdu) else { return nil }
    // What a card says while it is being lifted does not arrive.
    return state.withLock { $0.isLifted } ? nil : answer
  }
}

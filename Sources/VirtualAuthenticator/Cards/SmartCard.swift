// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// A card on a reader, as the reader sees it.
public protocol SmartCard: AnyObject, Sendable {
  /// What it says when power comes; empty when it is not there.
  var answerToReset: [UInt8] { get }
  /// Power comes, or the reader resets it.
  func reset()
  /// Power goes.
  func powerOff()
  /// Answers an APDU; nil when the card is no longer there.
  func transmit(_ apdu: [UInt8]) -> [UInt8]?
}

/// A card that answers by a script: for what no key of ours would say.
public final class ScriptedCard: SmartCard {
  /// One answer.
  public enum Step: Sendable, Hashable {
    /// These bytes, status word included, whatever was asked.
    case answer([UInt8])
    /// This status word and no data.
    case status(StatusWord)
    /// Whatever the card behind it says.
    case pass
    /// The card is taken away.
    case remove
  }

  private struct State {
    var steps: [Step]
    var received: [[UInt8]] = []
    var isGone = false
  }

  private let state: Locked<State>
  private let behind: (any SmartCard)?
  public let answerToReset: [UInt8]

  /// - Parameters:
  ///   - steps: one for each APDU in turn; afterwards everything passes.
  ///   - behind: the card that answers what passes; without one that is 6D00.
  public init(
    _ steps: [Step], behind: (any SmartCard)? = nil, answerToReset: [UInt8] = VirtualCard.usualAnswerToReset
  ) {
    state = Locked(State(steps: steps))
    self.behind = behind
    self.answerToReset = answerToReset
  }

  /// Every APDU so far.
  public var received: [[UInt8]] { state.withLock { $0.received } }

  public func reset() {
    state.withLock { $0.isGone = false }
    behind?.reset()
  }

  public func powerOff() { behind?.powerOff() }

  public func transmit(_ apdu: [UInt8]) -> [UInt8]? {
    let step = state.withLock { s -> Step? in
      s.received.append(apdu)
      if s.isGone { return .remove }
      let step = s.steps.isEmpty ? nil : s.steps.removeFirst()
      if step == .remove { s.isGone = true }
      return step
    }
    switch step {
    case .answer(let bytes): return bytes
    case .status(let word): return word.bytes
    case .remove: return nil
    case .pass, nil: return behind.map { $0.transmit(apdu) } ?? StatusWord.instructionNotSupported.bytes
    }
  }
}

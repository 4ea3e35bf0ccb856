// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import SecurityKeys
import WebAuthnCore

/// What went over the wire in one try, and when.
final class WireLog: Sendable {
  private struct State {
    var began = ContinuousClock.now
    var exchanges: [StepRecord.Exchange] = []
    var isWaiting = false
    var touches = 0
    var asksForFinger = false
    var firstKeepalive: Int?
    var onTouch: (@Sendable () -> Void)?
  }
  private let state = Locked(State())

  /// For the key's endpoint.
  var observer: KeyObserver {
    KeyObserver(event: { [self] in saw($0) }, exchange: { [self] in took($0, $1) })
  }

  /// Forgets the try before.
  func begin(onTouch: (@Sendable () -> Void)? = nil) {
    state.withLock {
      $0 = State()
      $0.onTouch = onTouch
    }
  }

  /// Puts what was seen into `attempt`.
  func fill(_ attempt: inout StepRecord.Attempt) {
    state.withLock {
      attempt.exchanges = $0.exchanges
      attempt.touches = $0.touches
      attempt.firstKeepalive = $0.firstKeepalive
      attempt.duration = Self.milliseconds(since: $0.began)
    }
  }

  /// Whether the key waited for the person in this try.
  var askedThePerson: Bool { state.withLock { $0.touches > 0 || $0.asksForFinger } }

  private func saw(_ event: KeyEvent) {
    if case .userVerificationNeeded = event { state.withLock { $0.asksForFinger = true } }
    guard event == .touchNeeded else { return }
    let action = state.withLock { state -> (@Sendable () -> Void)? in
      if !state.isWaiting { state.touches += 1 }
      state.isWaiting = true
      if state.firstKeepalive == nil { state.firstKeepalive = Self.milliseconds(since: state.began) }
      defer { state.onTouch = nil }
      return state.onTouch
    }
    action?()
  }

  private func took(_ request: [UInt8], _ reply: [UInt8]) {
    state.withLock {
      $0.isWaiting = false
      guard Self.isEvidence(request, reply) else { return }
      $0.exchanges.append(.init(request: request, reply: reply))
    }
  }

  /// Only what makes or uses a credential is kept: nothing that carries a PIN, and no silent question.
  private static func isEvidence(_ request: [UInt8], _ reply: [UInt8]) -> Bool {
    switch request.first {
    case 0x01: return true
    case 0x02:
      let map = try? CBORDecoder.decodeAll(Array(request.dropFirst()))
      return map?[5]?["up"]?.bool != false
    case 0x00:
      // U2F: a class byte of 0. Registrations and signatures that were answered.
      guard request.count > 2, request[1] == 0x01 || (request[1] == 0x02 && request[2] == 0x03) else { return false }
      return reply.suffix(2).elementsEqual([0x90, 0x00])
    default: return false
    }
  }

  private static func milliseconds(since began: ContinuousClock.Instant) -> Int {
    let duration = ContinuousClock.now - began
    let (seconds, attoseconds) = duration.components
    return Int(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// Several keys and nobody named one: all of them wait, and the one that is touched is used. To lay a key on a card
/// reader is to touch it; one that lay there before has to be lifted and laid on again.
///
/// Every key has a thread of its own, so a locked, slow or broken key never delays another. What follows, the PIN above
/// all, is for the chosen key alone.
public enum KeyChoice {
  /// The key that was touched.
  public struct Chosen: Sendable {
    /// Which of the endpoints it is. It is closed again.
    public let index: Int
    /// Ends when the other keys have been told to stop waiting and are closed. A program that ends before may leave them
    /// blinking.
    public let others: Task<Void, Never>
  }

  private enum Outcome: Sendable {
    case touched
    case notUsable(any Error)
  }

  /// Waits for a touch on any of `endpoints`.
  /// - Parameter objection: why a key will not do, before it is asked for anything; nil when it will.
  /// - Throws: ``TransportError/cancelled`` or ``TransportError/timedOut`` as a ``SecurityKeyError``; when no key can
  ///   wait, the reason of the first.
  public static func touched(
    among endpoints: [KeyEndpoint], timings: KeyTimings = .standard, pinTriesFloor: Int = 3,
    objection: @escaping @Sendable (KeyFacts) -> SecurityKeyError? = { _ in nil }
  ) async throws -> Chosen {
    guard !endpoints.isEmpty else { throw SecurityKeyError.transport(.absent("any port")) }
    let (outcomes, sink) = AsyncStream<(index: Int, outcome: Outcome)>.makeStream()
    let waits = endpoints.enumerated().map { index, endpoint in
      Task {
        let key = SecurityKey(endpoint.forNewCard, timings: timings, pinTriesFloor: pinTriesFloor)
        let outcome = await wait(key, objection)
        await key.close()
        sink.yield((index, outcome))
      }
    }
    let others = Task { for wait in waits { await wait.value } }
    return try await withTaskCancellationHandler {
      var reasons: [Int: any Error] = [:]
      for await (index, outcome) in outcomes {
        switch outcome {
        case .touched:
          for wait in waits { wait.cancel() }
          return Chosen(index: index, others: others)
        case .notUsable(let reason): reasons[index] = reason
        }
        if reasons.count == endpoints.count { break }
      }
      await others.value
      if Task.isCancelled { throw SecurityKeyError.transport(.cancelled) }
      // A key that nobody touched could have been used; the others could not.
      let missed = reasons.values.contains { $0 as? SecurityKeyError == .transport(.timedOut) }
      if missed { throw SecurityKeyError.transport(.timedOut) }
      throw endpoints.indices.lazy.compactMap { reasons[$0] }.first ?? SecurityKeyError.transport(.absent("any port"))
    } onCancel: {
      for wait in waits { wait.cancel() }
    }
  }

  private static func wait(
    _ key: SecurityKey, _ objection: @Sendable (KeyFacts) -> SecurityKeyError?
  ) async -> Outcome {
    do {
      let facts = try await key.open()
      if let reason = objection(facts) { return .notUsable(reason) }
      guard try await key.waitForTouch() else { return .notUsable(SecurityKeyError.notOffered("a touch to choose it")) }
      return .touched
    } catch { return .notUsable(error) }
  }
}

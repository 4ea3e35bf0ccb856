// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// What can be said of one event by itself, given who its actor is: the costly part, done on all cores.
struct EventFacts: Sendable {
  /// The digest of the fields as they are.
  var digest: [UInt8] = []
  /// Whether the device that it names signed it.
  var isSigned = false
  /// Whether that device is a live device of the actor's.
  var isEndorsed = false
  /// Why the payload does not read as its kind's.
  var payloadError: FormatError?
  /// The tap inside, and what is wrong with it; nil for kinds without one.
  var tap: [VerificationProblem]?
  /// The token, when there is one.
  var token: Result<TimestampToken, TimestampError>?

  /// - Parameter isKnown: it was admitted here before, and an entry that is stored stays: its device may be revoked by
  ///   now, or left out of the file.
  init(
    _ event: EstateEvent, actor: VerifiedIdentity?, pins: Set<[UInt8]>, relyingPartyID: String, isKnown: Bool = false
  ) {
    digest = event.digest
    if isKnown {
      isEndorsed = true
      isSigned = event.hasValidSignature
    } else if let device = actor?.device(event.terms.actorDevicePublicKey) {
      isEndorsed = true
      isSigned = device.key.isValidSignature(event.signature, for: digest)
    } else {
      isSigned = event.hasValidSignature
    }
    if let token = event.timestampToken {
      do throws(TimestampError) {
        self.token = .success(
          try TimestampToken(verifying: token, digest: digest, pins: pins, demandsPin: false))
      } catch { self.token = .failure(error) }
    }
    readPayload(event, actor, relyingPartyID)
    if isKnown, tap != nil { tap = [] }
  }

  private mutating func readPayload(_ event: EstateEvent, _ actor: VerifiedIdentity?, _ relyingPartyID: String) {
    let body = event.terms.payload
    do throws(FormatError) {
      switch event.kind {
      case .estateCreated: _ = try EstateCreatedPayload(parsing: body)
      case .epochPublished: _ = try EpochPublishedPayload(parsing: body)
      case .policyChanged: _ = try PolicyChangedPayload(parsing: body)
      case .vaultUpdated: _ = try VaultUpdatedPayload(parsing: body)
      case .cancellation: _ = try CancellationPayload(parsing: body)
      case .ownerDeparted: _ = try OwnerDepartedPayload(parsing: body)
      case .silenceObserved: _ = try SilenceObservedPayload(parsing: body)
      case .releaseClaimed: _ = try ReleaseClaimedPayload(parsing: body)
      case .objection, .objectionWithdrawn: _ = try ObjectionPayload(parsing: body)
      case .released: _ = try ReleasedPayload(parsing: body)
      case .authorization:
        let read = try AuthorizationPayload(parsing: body)
        tap = problems(
          read.assertion, read.statement(estateID: event.terms.estateID), actor, relyingPartyID)
      case .custodyConfirmed:
        let read = try CustodyConfirmedPayload(parsing: body)
        tap = problems(
          read.assertion, read.statement(estateID: event.terms.estateID), actor, relyingPartyID)
      case .heartbeat, nil: break
      }
    } catch { payloadError = error }
  }

  private func problems(
    _ assertion: StoredAssertion, _ statement: Statement, _ actor: VerifiedIdentity?, _ relyingPartyID: String
  ) -> [VerificationProblem] {
    guard let actor, let commitment = try? statement.commitment() else { return [.challengeMismatch] }
    return assertion.problems(under: actor.rootKey, for: commitment, relyingPartyID: relyingPartyID)
      .filter { !$0.isWarning }
  }

  /// The facts of all events, in their order, worked out on all cores. The first `known` of them were admitted before.
  static func all(
    _ events: [EstateEvent], known: Int, identities: [String: VerifiedIdentity], pins: Set<[UInt8]>,
    relyingPartyID: String
  ) async -> [EventFacts] {
    let size = 256
    return await withTaskGroup(of: (Int, [EventFacts]).self) { group in
      for start in stride(from: 0, to: events.count, by: size) {
        group.addTask {
          let part = start..<min(start + size, events.count)
          return (
            start,
            part.map {
              EventFacts(
                events[$0], actor: identities[events[$0].terms.actorHash], pins: pins, relyingPartyID: relyingPartyID,
                isKnown: $0 < known)
            }
          )
        }
      }
      var parts: [(Int, [EventFacts])] = []
      for await part in group { parts.append(part) }
      return parts.sorted { $0.0 < $1.0 }.flatMap(\.1)
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealFormats
import TestSupport
import Testing

struct ReleaseScenarios: Decodable {
  let scenarios: [Scenario]

  struct Scenario: Decodable {
    let name: String
    let firstSeenClamp: Bool
    let fallbackPolicy: Policy
    let owner: String
    let events: [Event]
    let checks: [Check]
  }

  struct Policy: Decodable {
    let graceDays: Int64
    let objectionBehavior: String
    let silenceDays: Int64
    let threshold: Int64
    let warningDays: Int64

    var policy: ReleasePolicy {
      ReleasePolicy(
        silenceDays: silenceDays, warningDays: warningDays, graceDays: graceDays, threshold: threshold,
        objectionBehavior: ReleasePolicy.ObjectionBehavior(rawValue: objectionBehavior) ?? .pause)
    }
  }

  struct Event: Decodable {
    let id: String
    let kind: String
    let actor: String
    let at: Int64
    let arrives: Int64
    let seen: Int64?
    let token: Int64?
    let createdAt: Int64?
    let policy: Policy?
    let epoch: UInt64?
    let holders: [String]?
    let keyCommitment: String?
    let threshold: Int64?
    let claim: String?
    let withdrawn: Bool?
    let key: String?
    let keep: Bool?
  }

  struct Check: Decodable {
    let now: Int64
    let state: String
    let void: String?
    let claim: String?
    let claimOpenedAt: Int64?
    let timeline: Timeline?
    let validTaps: [String]
    let appMayTap: [String: Bool]
    let strictMayTap: [String: Gate]
    let silenceAnchor: Int64?
    let threshold: Int64
    let holderCanClaim: Bool
    let ownerCanCancel: Bool
    let claimantCanRelease: Bool
    let keyPublishedAt: Int64?
    let releasedAt: Int64?
    let releaseEvent: String?
    let nextChange: Int64?
    let departure: Departed?
  }

  struct Timeline: Decodable {
    let openedAt: Int64
    let opensAt: Int64
    let paused: Int64
    let warningEndsAt: Int64
  }

  struct Departed: Decodable {
    let at: Int64
    let keep: Bool
  }

  /// True, or the reason refused.
  enum Gate: Decodable, Equatable {
    case open
    case refused(String)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let flag = try? container.decode(Bool.self) {
        self = flag ? .open : .refused("")
      } else {
        self = .refused(try container.decode(String.self))
      }
    }
  }
}

extension ReleaseScenarios.Event {
  /// The entry, by way of the event's own payload, so that the payloads' decoding is under test too.
  func entry() throws -> RecordEntry {
    let body: [UInt8]
    switch kind {
    case "estateCreated":
      let policy = try #require(policy).policy
      body = EstateCreatedPayload(policy: policy, createdAtEpoch: createdAt ?? at).encoded()
    case "policyChanged": body = PolicyChangedPayload(policy: try #require(policy).policy).encoded()
    case "epochPublished":
      body = EpochPublishedPayload(
        epoch: try #require(epoch), threshold: try #require(threshold), custodianHashes: try #require(holders),
        custodianPublicKeys: [], shareCommitments: [], estateKeyCommitment: bytes(hex: try #require(keyCommitment)),
        materialDigest: []
      ).encoded()
    case "releaseClaimed":
      body = ReleaseClaimedPayload(
        claimID: try #require(claim), epoch: try #require(epoch), lastHeartbeatAtEpoch: nil, reason: ""
      ).encoded()
    case "objection", "objectionWithdrawn":
      body = ObjectionPayload(claimID: try #require(claim), withdrawn: try #require(withdrawn as Bool?)).encoded()
    case "authorization":
      body = AuthorizationPayload(
        claimID: try #require(claim), epoch: try #require(epoch), recordHeadDigest: [],
        assertion: StoredAssertion(credentialID: [], clientDataJSON: [], authenticatorData: [], signature: []),
        shareForClaimant: []
      ).encoded()
    case "released":
      body = ReleasedPayload(
        claimID: try #require(claim), epoch: try #require(epoch), shareIndexes: [],
        estateKey: bytes(hex: try #require(key))
      ).encoded()
    case "ownerDeparted":
      body = OwnerDepartedPayload(keepEnvelopes: try #require(keep as Bool?), departedAtEpoch: at).encoded()
    case "cancellation": body = CancellationPayload(claimID: claim).encoded()
    default: body = []
    }
    let terms = EventTerms(
      id: id, estateID: "E", kind: kind, actorHash: actor, actorDevicePublicKey: [], occurredAtEpoch: at,
      previousDigest: [], payload: body)
    return RecordEntry(EstateEvent(terms: terms, signature: []), tokenTime: token, firstSeen: seen)
  }
}

@Suite(.arithmetic) struct ReleaseScenarioTests {
  /// Every state, gate and reason of the corpus, each under several orders of arrival.
  @Test(.enabled(if: Corpus.has("release-scenarios.json"), Comment(rawValue: Corpus.absent)))
  func everyScenario() throws {
    let corpus = try Corpus.decode("release-scenarios.json", as: ReleaseScenarios.self)
    #expect(corpus.scenarios.count >= 22)
    var checked = 0
    for scenario in corpus.scenarios {
      for check in scenario.checks {
        let held = try scenario.events.filter { $0.arrives <= check.now }.map { try $0.entry() }
        for entries in [held, held.reversed(), held.shuffled()] {
          expect(entries, scenario, check)
        }
        checked += 1
      }
    }
    #expect(checked >= 81)
  }

  private func expect(
    _ entries: [RecordEntry], _ scenario: ReleaseScenarios.Scenario, _ check: ReleaseScenarios.Check
  ) {
    let place: Comment = "\(scenario.name) at \(check.now)"
    let fallback = scenario.fallbackPolicy.policy
    let view = EstateView(entries: entries, clamped: scenario.firstSeenClamp, fallback: fallback)
    guard let status = view.status(at: check.now) else {
      Issue.record("no state: \(place)")
      return
    }
    #expect(status.state.rawValue == check.state, place)
    #expect(status.void?.rawValue == check.void, place)
    #expect(status.claim?.id == check.claim, place)
    #expect(status.claim?.time == check.claimOpenedAt, place)
    #expect(status.timeline?.openedAt == check.timeline?.openedAt, place)
    #expect(status.timeline?.warningEndsAt == check.timeline?.warningEndsAt, place)
    #expect(status.timeline?.opensAt == check.timeline?.opensAt, place)
    #expect(status.timeline?.paused == check.timeline?.paused, place)
    #expect(status.validTaps.map(\.holder) == check.validTaps, place)
    #expect(status.silenceAnchor == check.silenceAnchor, place)
    #expect(status.policy.threshold == check.threshold, place)
    #expect(status.holderCanClaim == check.holderCanClaim, place)
    #expect(status.ownerCanCancel == check.ownerCanCancel, place)
    #expect(status.claimantCanRelease == check.claimantCanRelease, place)
    #expect(status.keyPublishedAt == check.keyPublishedAt, place)
    #expect(status.release?.releasedAt == check.releasedAt, place)
    #expect(status.release?.eventID == check.releaseEvent, place)
    #expect(status.nextChange == check.nextChange, place)
    #expect(status.departure?.at == check.departure?.at, place)
    #expect(status.departure?.keepsEnvelopes == check.departure?.keep, place)
    for (holder, may) in check.appMayTap { #expect(status.mayTap(holder) == may, place) }
    let gate = TapGate(entries: entries, fallback: fallback)
    for (holder, expected) in check.strictMayTap {
      let refusals = gate.refusals(for: holder, at: check.now)
      #expect(answer(refusals, status.state) == expected, "\(scenario.name) at \(check.now) for \(holder)")
    }
  }

  /// The corpus's words for the first refusal.
  private func answer(_ refusals: [TapRefusal], _ state: ReleaseState) -> ReleaseScenarios.Gate {
    switch refusals.first {
    case nil: .open
    case .noClaim, .nobodyHasClaimed, .notAKeyHolder, .noRecord: .refused("not a key holder, or no claim")
    case .ownerCancelledOnLeaving: .refused("owner cancelled on leaving")
    case .notOpen, .alreadyTapped: .refused("state is \(state.rawValue), or already tapped")
    case .keyAlreadyPublic: .refused("the key is already public")
    case .claimIDUsedTwice: .refused("claim id used more than once")
    case .notOpenByStatedTimes(let state, _):
      .refused("by stated times the claim is \(state?.rawValue ?? "another")")
    case let other?: .refused(other.name)
    }
  }
}

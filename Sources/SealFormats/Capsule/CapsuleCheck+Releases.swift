// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

extension CapsuleCheck {
  /// Checks claims, taps and releases against each other, and the rule they run under.
  mutating func checkReleases() {
    var claims: [String: Int] = [:]
    for event in admitted where event.kind == .releaseClaimed {
      guard let body = try? ReleaseClaimedPayload(parsing: event.terms.payload) else { continue }
      claims[body.claimID, default: 0] += 1
      if !statements.contains(where: { $0.body.epoch == body.epoch }) {
        soft("epochMissing", subject(event), "It names an epoch that the owner signed no statement for.")
      }
    }
    for (claim, count) in claims.sorted(by: { utf8Order($0.key, $1.key) }) where count > 1 {
      report.add(
        .bad, "claimIDUsedTwice", "claim \(claim.prefix(8))",
        "This ID was used for \(count) claims, which no honest app does.")
    }
    for event in admitted {
      switch event.kind {
      case .authorization: checkTap(event, claims)
      case .custodyConfirmed:
        if let body = try? CustodyConfirmedPayload(parsing: event.terms.payload) {
          checkHead(body.recordHeadDigest, event)
          checkSigner(body.assertion, event)
        }
      case .released: checkRelease(event)
      default: break
      }
    }
    entries = admitted.map { RecordEntry($0, tokenTime: tokenTimes[$0.id]) }
    checkPolicy()
  }

  private mutating func checkTap(_ event: EstateEvent, _ claims: [String: Int]) {
    guard let body = try? AuthorizationPayload(parsing: event.terms.payload) else { return }
    report.add(.good, "tap", subject(event), "The key holder's key touched for this claim and this record.")
    if claims[body.claimID] == nil {
      soft("claimMissing", subject(event), "The claim that it is for is not in the record.")
    }
    if !statements.contains(where: { $0.body.epoch == body.epoch }) {
      soft("epochMissing", subject(event), "It names an epoch that the owner signed no statement for.")
    }
    checkHead(body.recordHeadDigest, event)
    checkSigner(body.assertion, event)
    if body.shareForClaimant.isEmpty {
      soft("shareMissing", subject(event), "It brings no share, so it counts and does not help.")
    }
    if body.shareForClaimant.contains(where: { !isShareEnvelope($0) }) {
      soft("badEnvelope", subject(event), "An envelope of its share is malformed.")
    }
  }

  private mutating func checkHead(_ head: [UInt8], _ event: EstateEvent) {
    if !head.isEmpty, !digests.contains(head) {
      soft("headMissing", subject(event), "The record head that was tapped for is not an entry that is here.")
    }
  }

  /// The credential ID beside a tap is no part of what the key signed, only of what the device did.
  private mutating func checkSigner(_ tap: StoredAssertion, _ event: EstateEvent) {
    guard RootIdentity.rootHash(of: tap.credentialID) != event.terms.actorHash else { return }
    soft("credentialIDMismatch", subject(event), NamedCredential(signer: "the root").message)
  }

  private mutating func checkRelease(_ event: EstateEvent) {
    guard let body = try? ReleasedPayload(parsing: event.terms.payload) else { return }
    let signed = statements.filter { $0.body.epoch == body.epoch }
    guard signed.contains(where: { $0.body.estateKeyCommitment == SHA256.hash(body.estateKey) }) else {
      report.add(
        .bad, "recoveredKeyMismatch", subject(event), "The published key is not the one that the owner committed to.")
      return
    }
    report.add(.good, "releasedKey", subject(event), "The published key is the one that the owner committed to.")
    let count = signed.map(\.body.custodianHashes.count).max() ?? 0
    let indexes = body.shareIndexes
    if Set(indexes).count != indexes.count || indexes.contains(where: { $0 == 0 || Int($0) > count }) {
      soft("badShareIndexes", subject(event), "The share numbers that it names cannot be.")
    }
  }

  private mutating func checkPolicy() {
    let creations = admitted.filter { $0.kind == .estateCreated }
    if creations.isEmpty {
      report.add(.bad, "noCreation", "capsule", "The record does not hold the estate's creation by its owner.")
    } else if creations.count > 1 {
      soft("createdTwice", "capsule", "The owner created the estate more than once.")
    }
    let policy = EstateView(entries: entries, clamped: false).policy
    let problems = policy.problems(holderCount: statements.last?.body.custodianHashes.count)
    if problems.isEmpty {
      report.add(.good, "policy", "rule", "The rule is one that Seal's app allows.")
    } else {
      soft(
        "policyOutOfRange", "rule", "The rule is outside what Seal's app allows: \(problems.joined(separator: ", ")).")
    }
  }

  /// Where the estate stands by the record's own times, and what the writer's phone thought.
  mutating func summarise() {
    guard let status = EstateView(entries: entries, clamped: false).status(at: context.now) else {
      report.add(.bad, "emptyRecord", "capsule", "The record holds no entry that counts.")
      return
    }
    report.add(
      .note, "state", "estate",
      "By the times in the record the estate is '\(status.state.rawValue)' at \(UTCText.format(context.now))"
        + (capsule.stateAtExport.map { "; the writer's phone said '\($0)'" } ?? "") + ".")
    let published = admitted.filter { $0.kind == .released }
    for event in published where event.id != status.release?.eventID {
      guard let body = try? ReleasedPayload(parsing: event.terms.payload),
        statements.contains(where: {
          $0.body.epoch == body.epoch && $0.body.estateKeyCommitment == SHA256.hash(body.estateKey)
        })
      else { continue }
      soft(
        "releaseNotHonoured", subject(event),
        status.release == nil
          ? "The Estate Key is public, and this release was not earned under the rule."
          : "Another release is the one that counts.")
    }
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

extension CapsuleCheck {
  /// Checks every event and decides which count.
  ///
  /// Two holder sets are at work. The verdict follows Seal's Python tool: whoever the statements before an event name
  /// may write it. What counts follows Seal's app: whoever the newest statement names, and what was known before.
  mutating func checkEvents(_ events: [EstateEvent], _ facts: [EventFacts]) {
    digests = Set(facts.map(\.digest))
    let stated = Dictionary(grouping: capsule.entries) { $0.event.terms.id }
    let order = events.indices.sorted { events[$0].logPosition < events[$1].logPosition }

    var judged: [(index: Int, problems: [Problem])] = []
    var holdersThen = Set<String>()
    for index in order {
      let event = events[index]
      let entry = stated[event.terms.id]?.first { $0.event.terms == event.terms }
      let problems = problems(of: event, facts[index], entry, holdersThen, isKnown: index < knownCount)
      judged.append((index, problems))
      if !problems.contains(where: \.stopsAdmission), event.kind == .epochPublished,
        let body = try? EpochPublishedPayload(parsing: event.terms.payload)
      {
        statements.append((event, body))
        holdersThen = Set(body.custodianHashes)
      }
    }
    let holdersNow = statements.last.map { Set($0.body.custodianHashes) } ?? []
    func counts(_ index: Int) -> Bool {
      let writer = events[index].terms.actorHash
      return writer == capsule.ownerHash || index < knownCount || holdersNow.contains(writer)
    }
    var passed: [Int] = []
    for (index, problems) in judged {
      let event = events[index]
      for problem in problems {
        // A gap before an entry that does not count says nothing of those that do.
        let isIdle = problem.name == "previousMissing" && !counts(index)
        report.add(
          isIdle ? .note : problem.isSoft ? softOutcome : .bad, problem.name, subject(event), problem.text)
      }
      checkToken(event, facts[index])
      guard !problems.contains(where: \.stopsAdmission) else { continue }
      passed.append(index)
      if !problems.contains(where: { !$0.isSoft }) {
        report.add(.good, "event", subject(event), "It is signed, linked and allowed.")
      }
    }
    for index in passed {
      let event = events[index]
      guard counts(index) else {
        report.add(
          .note, "formerHolder", subject(event),
          "Its writer is not a key holder any more, so it does not count here.")
        continue
      }
      admitted.append(event)
    }
  }

  private var softOutcome: VerificationReport.Check.Outcome { context.isStrict ? .bad : .warning }

  /// One thing that is wrong with an event.
  private struct Problem {
    let name: String
    let text: String
    /// Bad only under `--strict`.
    var isSoft = false
    /// The event does not count.
    var stopsAdmission = true
  }

  private func problems(
    of event: EstateEvent, _ facts: EventFacts, _ entry: Capsule.Entry?, _ holdersThen: Set<String>, isKnown: Bool
  ) -> [Problem] {
    var out: [Problem] = []
    if !sameText(event.terms.estateID, capsule.estateID) {
      out.append(Problem(name: "otherEstate", text: "It belongs to another estate."))
    }
    if let entry, entry.event.terms == event.terms, entry.statedDigest != facts.digest {
      out.append(
        Problem(name: "digestMismatch", text: "Its stated digest is not that of its fields.", stopsAdmission: false))
    }
    if !facts.isSigned {
      out.append(Problem(name: "signatureDoesNotMatch", text: "The device that it names did not sign it."))
    }
    if isKnown {
      // Who may write was settled when it was admitted.
    } else if identities[event.terms.actorHash] == nil {
      out.append(Problem(name: "identityMissing", text: "Its writer is not among the usable identities."))
    } else if !facts.isEndorsed {
      out.append(Problem(name: "deviceNotEndorsed", text: "The device is none of its writer's live devices."))
    }
    out += roleProblems(event, holdersThen)
    let previous = event.terms.previousDigest
    if !previous.isEmpty, !digests.contains(previous) {
      out.append(
        Problem(
          name: "previousMissing", text: "It follows an entry that is not here: the record may have been trimmed.",
          stopsAdmission: false))
    }
    if let error = facts.payloadError {
      // An owner's entry is a sign of life whatever it says; an authorization that does not read is nothing.
      out.append(
        Problem(
          name: "badPayload", text: "Its body does not read. \(error.message)",
          stopsAdmission: event.kind == .authorization))
    }
    if let tap = facts.tap, !tap.isEmpty {
      let isTap = event.kind == .authorization
      let what = isTap ? "The tap" : "The confirmation's tap"
      out += tap.map {
        Problem(name: $0.name, text: "\(what) is not good. \($0.message)", stopsAdmission: isTap)
      }
    }
    if event.terms.occurredAtEpoch > context.now {
      out.append(
        Problem(name: "futureEvent", text: "It is dated in the future.", isSoft: true, stopsAdmission: false))
    }
    return out
  }

  private func roleProblems(_ event: EstateEvent, _ holdersThen: Set<String>) -> [Problem] {
    guard let kind = event.kind else {
      return [Problem(name: "unknownKind", text: "Nobody knows entries of this kind.")]
    }
    let isOwner = event.terms.actorHash == capsule.ownerHash
    if isOwner != kind.isOwnerKind {
      return [
        Problem(
          name: "kindNotAllowed",
          text: isOwner ? "The owner may not write this kind." : "Only the owner may write this kind.")
      ]
    }
    if !isOwner, !holdersThen.contains(event.terms.actorHash) {
      return [
        Problem(
          name: "notAKeyHolder", text: "Its writer was not a key holder when it was written.", stopsAdmission: false)
      ]
    }
    return []
  }

  private mutating func checkToken(_ event: EstateEvent, _ facts: EventFacts) {
    switch facts.token {
    case nil: return
    case .success(let token):
      if token.isPinned, event.kind?.isStamped != true {
        report.add(
          .warning, "timestampIgnored", subject(event),
          "It has a timestamp, which Seal never asks for with an entry of this kind: its own time counts.")
      } else if token.isPinned {
        tokenTimes[event.id] = token.time
        report.add(
          .good, "timestamp", subject(event),
          "A trusted authority saw it no later than \(UTCText.format(token.time)).")
      } else {
        soft(
          "timestampCertificateNotPinned", subject(event),
          "Its timestamp is consistent with itself, and by no authority that is trusted here.")
      }
    // As Seal's app has it: no token. Nobody signs that it is there, so it can be put beside any entry.
    case .failure(let error): soft(error.name, subject(event), "\(error.message) Its own time counts.")
    }
  }
}

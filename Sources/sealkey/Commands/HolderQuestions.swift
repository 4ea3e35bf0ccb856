// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import WebAuthnCore

/// What a key holder is told and must have made sure of before the touch.
extension HolderVerb {
  /// Reads the record, and has the person compare the owner's key when it is not pinned yet.
  static func reading(
    _ capsule: Capsule, _ holder: DirectoryRecord, _ invocation: Invocation
  ) async throws -> EstateReading {
    let read = { (key: [UInt8]?) in
      try await invocation.reading(of: capsule, remembering: .always) { context in
        if context.directory[holder.rootHash] == nil { context.directory[holder.rootHash] = holder }
        context.pins[holder.rootHash] = holder.publicKey
        if let key { context.pins[capsule.ownerHash] = key }
      }
    }
    let reading = try await read(nil)
    let people = try invocation.store.people()
    guard people.pins[capsule.ownerHash] == nil, let key = reading.ownerKey else { return reading }
    let names = PeopleNames(reading.verification, known: people)
    if reading.context.pins[capsule.ownerHash] == nil {
      do throws(ConfirmationError) {
        try Confirmation.ask(
          [
            "This computer does not know the root key of the owner, \(names(capsule.ownerHash)).",
            "Its fingerprint: \((try? Confirmation.fingerprint(key)) ?? "?")",
            "Compare it with what the owner told you or what your phone shows. If they are the same, type: same",
          ], word: "same", invocation, isAnsweredByYes: false)
      } catch {
        // Nobody to ask: the act says itself what is missing.
        if error == .nobodyToAsk { return reading }
        throw error
      }
    }
    try await invocation.store.updatePeople {
      try $0.pin(
        .init(
          rootHash: capsule.ownerHash, publicKey: key, displayName: names.asGiven(capsule.ownerHash),
          origin: .confirmed, pinnedAt: invocation.now))
    }
    return try await read(key)
  }

  /// What the touch will say, and what the person must have made sure of.
  static func explain(_ act: HolderAct, among people: KnownPeople, _ invocation: Invocation) throws {
    let verified = act.reading.verification
    let name = PeopleNames(verified, known: people)
    let owner = name(verified.ownerHash)
    let now = act.reading.context.now
    for event in verified.missing {
      invocation.say(
        "The file lacks an entry that this computer knows: \(event.plainKind) of "
          + "\(UTCText.format(event.terms.occurredAtEpoch)). It was taken into account.")
    }
    var last = "There is no sign of \(owner) in the record."
    if let event = act.lastSignOfOwner {
      let days = (now - event.terms.occurredAtEpoch) / 86_400
      last =
        "The last sign of \(owner) known here is \(days) days old: \(event.plainKind) of "
        + "\(UTCText.format(event.terms.occurredAtEpoch))."
    }
    for sentence in name.differences { invocation.say(sentence) }
    guard case .tap(let claim) = act.kind else {
      invocation.say(last)
      let holder = act.holder.displayName.printable
      invocation.say("Touching the key says that \(holder) still has it. It releases nothing.")
      return
    }
    let suites = act.outcomes.map { if case .wrapped(let suite) = $0 { suite } else { "left out" } }
    var lines = [
      last, "Anything later is invisible on this computer. Silence is not death.",
      "The claim \(claim.id) was opened by \(name(claim.claimant)) at \(UTCText.format(claim.time)).",
      "Your share will be readable for \(name(claim.claimant)), by device: "
        + suites.joined(separator: ", ") + ".",
    ]
    if people.hasDeleteMarker(verified.ownerHash) {
      lines.insert("\(owner)'s identity is known here as deleted, by a marker of its own root key.", at: 0)
    }
    if suites.contains("x25519") {
      lines.append("x25519: that device, or this computer's OpenSSL, has no ML-KEM-768.")
    }
    if let status = EstateView(entries: act.reading.entries(), clamped: true).status(at: now),
      status.validTaps.count >= Int(act.statement.threshold)
    {
      lines.append(
        "ENOUGH HAVE TAPPED ALREADY: \(status.validTaps.count), and the rule asks for \(act.statement.threshold). The estate "
          + "can be opened without you.")
    }
    if act.isRuleOfOne {
      lines.append(
        "ONE KEY HOLDER IS ENOUGH: your share is the Estate Key itself, and your tap alone opens the estate.")
    }
    lines.append("A tap cannot be taken back. If you know of no later sign of \(owner), type: tap")
    // --yes does not answer this: the age of the last sign is what a person must have looked at. Whoever has seen it
    // elsewhere says which sign that was.
    if let seen = invocation.options["last-sign"] {
      let known = act.lastSignOfOwner.map { UTCText.format($0.terms.occurredAtEpoch) } ?? "none"
      guard seen == known else { throw TapQuestionError.anotherSign(known: known, given: seen) }
      for line in lines.dropLast() { invocation.say(line) }
    } else {
      try Confirmation.ask(lines, word: "tap", invocation, isAnsweredByYes: false)
    }
    invocation.say("Touching the key is \(act.holder.displayName.printable)'s word to release the estate.")
  }
}

/// The person has looked at another sign of the owner's than the last one.
enum TapQuestionError: NamedError, Hashable {
  case anotherSign(known: String, given: String)

  var name: String { "lastSignDiffers" }
  var message: String {
    switch self {
    case .anotherSign("none", let given): "There is no sign of the owner here, and --last-sign says \(given)."
    case .anotherSign(let known, let given): "The owner's last sign known here is of \(known), not of \(given)."
    }
  }
  var next: String { "Look at the record again: sealkey capsule show. Nothing was signed." }
  var kind: FaultKind { .refused }
}

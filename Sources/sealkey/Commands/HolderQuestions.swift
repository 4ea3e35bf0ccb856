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
        if error.isNobody { return reading }
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
      let time = verified.statedTime(of: event.logPosition)
      let days = (now - time) / 86_400
      last =
        "The last sign of \(owner) known here is \(days) days old: \(event.plainKind) of "
        + "\(UTCText.format(time))."
    }
    for sentence in name.differences { invocation.say(sentence) }
    guard case .tap(let claim) = act.kind else {
      invocation.say(last)
      let holder = act.holder.displayName.printable
      invocation.say("Touching the key says that \(holder) still has it. It releases nothing.")
      return
    }
    var lines = [
      last, "Anything later is invisible on this computer. Silence is not death.",
      "The claim \(claim.id) was opened by \(name(claim.claimant)) at "
        + "\(UTCText.format(verified.statedTime(of: claim.position))).",
    ]
    if claim.time != verified.statedTime(of: claim.position) {
      lines.append("This computer first saw it at \(UTCText.format(claim.time)), and counts from then.")
    }
    lines += readers(act, name(claim.claimant))
    if people.hasDeleteMarker(verified.ownerHash) {
      lines.insert("\(owner)'s identity is known here as deleted, by a marker of its own root key.", at: 0)
    }
    let tally = act.tally
    for tap in tally.idle where tap.holder == act.holder.rootHash {
      lines.append("Your tap of \(UTCText.format(tap.time)) does not count: \(tap.reason.words).")
    }
    lines.append(prospect(tally))
    if act.isRuleOfOne {
      lines.append(
        "ONE KEY HOLDER IS ENOUGH: your share is the Estate Key itself, and your tap alone opens the estate.")
    }
    lines.append("A tap cannot be taken back. If you know of no later sign of \(owner), type: tap")
    // --yes does not answer this: the age of the last sign is what a person must have looked at. Whoever has seen it
    // elsewhere says which sign that was.
    if let seen = invocation.options["last-sign"] {
      let known = act.lastSignTime.map { UTCText.format($0) } ?? "none"
      let day = act.lastSignTime.map { UTCText.date($0) }
      guard seen.isExactly(known) || seen.isExactly(day ?? known) else {
        throw TapQuestionError.anotherSign(known: known, given: seen)
      }
      for line in lines.dropLast() { invocation.say(line) }
    } else {
      do throws(ConfirmationError) {
        try Confirmation.ask(lines, word: "tap", invocation, isAnsweredByYes: false)
      } catch {
        guard error.isNobody else { throw error }
        throw TapQuestionError.nobodyToAsk(
          lastSign: act.lastSignTime.map { UTCText.format($0) } ?? "none")
      }
    }
    invocation.say("Touching the key is \(act.holder.displayName.printable)'s word to release the estate.")
  }
}

extension HolderVerb {
  /// On which of the claimant's devices the share will be readable.
  private static func readers(_ act: HolderAct, _ claimant: String) -> [String] {
    let suites = act.outcomes.compactMap { if case .wrapped(let suite) = $0 { suite } else { nil } }
    let (count, left) = (suites.count, act.outcomes.count - suites.count)
    var lines = ["Your share will be readable for \(claimant), on \(count) \(count == 1 ? "device" : "devices")."]
    if left > 0 { lines.append("\(left) more cannot get it: what the record says of their keys is not usable.") }
    if suites.contains("x25519") {
      lines.append(
        "It is locked the older way (x25519), since that device or this computer lacks the newer one. That is no fault: "
          + "Seal opens both.")
    }
    return lines
  }
}

/// The question about the owner's last sign was not answered, or for another sign than the last one.
enum TapQuestionError: NamedError, Hashable {
  case nobodyToAsk(lastSign: String)
  case anotherSign(known: String, given: String)

  var name: String {
    switch self {
    case .nobodyToAsk: "nobodyToAsk"
    case .anotherSign: "lastSignDiffers"
    }
  }
  var message: String {
    switch self {
    case .nobodyToAsk:
      "A person must have looked at the owner's last sign, and there is no terminal to ask on; --yes does not answer this."
    case .anotherSign("none", let given): "There is no sign of the owner here, and --last-sign says \(given)."
    case .anotherSign(let known, let given): "The owner's last sign known here is of \(known), not of \(given)."
    }
  }
  var next: String {
    switch self {
    case .nobodyToAsk(let sign):
      "Run it in a terminal; or, when you have made sure that there is no later sign, add: --last-sign \(sign)"
    case .anotherSign: "Look at the record again: sealkey capsule show. Nothing was signed."
    }
  }
  var kind: FaultKind { .refused }
}

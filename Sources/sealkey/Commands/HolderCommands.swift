// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import SecurityKeys
import WebAuthnCore

extension Command {
  static let holderOptions = [
    OptionSpec("capsule", "FILE", "the estate's record"),
    OptionSpec(
      "into", "FILE",
      "write the record there too, with the new entry and all that this computer has seen; FILE may be that of "
        + "--capsule itself, of which nothing is lost"),
    OptionSpec("identity", "FILE", "the key holder's identity record (else the one known here)"),
    OptionSpec("device", "NAME|FILE", "the device that signs the entry (else the one of this computer that can)"),
    OptionSpec("owner-key", "HEX", "the owner's root key, 64 bytes, known from elsewhere: it is pinned"),
    noUV,
  ]

  /// What a record would have said.
  static let bareOptions = [
    OptionSpec("estate", "ID", "without a record: the estate's id"),
    OptionSpec("epoch", "N", "without a record: the epoch's number"),
    OptionSpec("head", "HEX", "without --capsule: digest of the record's newest event, 32 bytes; '' when it has none"),
  ]

  static let confirm = Command(
    "confirm", "Confirm that you still have your key, once a year. It never counts towards a release.",
    options: holderOptions + bareOptions + outOptions,
    examples: [
      "sealkey confirm --capsule estate.capsule --out confirmation.json --into newer.capsule",
      "sealkey confirm --identity karin.json --estate ID --epoch 1 --head HEX",
    ]
  ) { invocation in
    try invocation.noOperands()
    if invocation.options.has("capsule") { return try await HolderVerb.run(invocation, isTap: false) }
    for option in ["into", "device", "owner-key"] where invocation.options.has(option) {
      throw UsageError.missingOption("capsule")
    }
    let (record, simulated) = try HolderVerb.bareHolder(invocation)
    let statement = Statement.custodyConfirm(
      estateID: try invocation.identifier("estate"), epoch: try invocation.epoch(),
      recordHeadDigest: try invocation.head())
    return try await HolderVerb.bare(
      statement, record, simulated, "It says that \(record.displayName) still has this key, and releases nothing.",
      invocation)
  }
}

/// Acts of a key holder on a record.
enum HolderVerb {
  /// Whoever acts without a record. Who gives nothing of what stands for a record has forgotten the record.
  static func bareHolder(_ invocation: Invocation) throws -> (record: DirectoryRecord, isSimulated: Bool) {
    let given = ["identity", "estate", "epoch", "claim", "head"].contains { invocation.options.has($0) }
    guard given else { throw UsageError.missingOption("capsule") }
    return try invocation.record(try invocation.required("identity"))
  }

  /// A bare assertion from fields that the person gave.
  static func bare(
    _ statement: Statement, _ record: DirectoryRecord, _ simulated: Bool, _ meaning: String, _ invocation: Invocation
  ) async throws -> Outcome {
    try refuseDeleted(record, among: invocation.knownPeople())
    return try await invocation.withKey(touches: 1) { _, session in
      invocation.say(meaning.printable)
      let signed = try await Ceremony(
        key: session, userVerification: invocation.options.has("no-uv") ? .discouraged : .preferred
      ).sign(statement, as: record)
      return try invocation.deliver(
        signed.artefact(for: record, isSimulated: simulated),
        ["Done.", "A phone with Seal must publish it before it counts."],
        [("rootHash", .string(record.rootHash)), ("statement", signed.statement.json)])
    }
  }

  /// A deleted identity has no word left. A tap or a confirmation is kept from nobody because of a marker that nobody
  /// signed.
  private static func refuseDeleted(_ holder: DirectoryRecord, among people: KnownPeople) throws(StoreError) {
    if people.hasDeleteMarker(holder.rootHash) { try people.checkNotDeleted(holder.rootHash) }
  }

  static func run(_ invocation: Invocation, isTap: Bool) async throws -> Outcome {
    let path = try invocation.required("capsule")
    for option in ["estate", "epoch", "head"] where invocation.options.has(option) {
      throw UsageError.conflict("capsule", option)
    }
    let capsule = try invocation.capsule(path)
    let (holder, deviceName, simulated) = try invocation.actor(in: capsule)
    let reading = try await self.reading(capsule, holder, invocation)
    if isTap, reading.isFirstMeeting {
      invocation.say(
        "This computer had never seen this estate before, so it counts the claim from now and not from when")
      invocation.say("the record says it was opened: nobody is to be hurried by a record that just turned up.")
    }
    if isTap, reading.verification.report.isGood,
      let kept = HolderAct.keptTap(
        in: reading, by: holder, claimID: invocation.options["claim"],
        usesRecordTimes: invocation.options.has("use-record-times"))
    {
      return try handOut(kept, reading, holder, isSimulated: simulated, invocation)
    }
    try OutputFiles.checkNew(invocation.options)
    let device = try invocation.deviceFile(deviceName)
    let people = try invocation.store.people()
    try refuseDeleted(holder, among: people)
    let act = try prepare(isTap, reading, holder, device, invocation)
    try explain(act, among: people, invocation)
    let signed = try await invocation.withKey(touches: 1) { _, session in
      try await act.touch(
        Ceremony(key: session, userVerification: invocation.options.has("no-uv") ? .discouraged : .preferred))
    }
    let made = try await act.entry(signed, at: invocation.now, in: invocation.store) { try invocation.capsule(path) }
    if let problem = made.storeProblem { invocation.losses.add("not kept on this computer", problem) }
    if let problem = made.rereadProblem {
      invocation.say("\(path) could not be read again, so it counts as it was before the touch: \(problem.message)")
    }
    return try write(made.event, act, signed, isSimulated: simulated || capsule.isSimulated, invocation)
  }

  /// The act, when nothing speaks against it. A clock that the record speaks against is for a person to look at.
  private static func prepare(
    _ isTap: Bool, _ reading: EstateReading, _ holder: DirectoryRecord, _ device: HeldDevice, _ invocation: Invocation
  ) throws -> HolderAct {
    func act(acceptsClock: Bool) throws -> HolderAct {
      guard isTap else {
        return try HolderAct(
          confirming: reading, as: holder, device: device.halves.clone(), acceptsClock: acceptsClock)
      }
      return try HolderAct(
        tapping: reading, as: holder, device: device.halves.clone(), claimID: invocation.options["claim"],
        usesRecordTimes: invocation.options.has("use-record-times"), acceptsClock: acceptsClock)
    }
    do { return try act(acceptsClock: false) } catch let error as HolderActError {
      guard error.isAboutTheClock else { throw error }
      do throws(ConfirmationError) {
        try Confirmation.ask(
          [error.message, "If this computer's clock is right all the same, type: right"], word: "right", invocation,
          isAnsweredByYes: false)
      } catch {
        if error.isNobody { return try act(acceptsClock: false) }
        throw error
      }
      return try act(acceptsClock: true)
    }
  }

  static func write(
    _ event: EstateEvent, _ act: HolderAct, _ signed: Ceremony.Signed, isSimulated: Bool, _ invocation: Invocation
  ) throws -> Outcome {
    let artefact = Artefact(
      .event, event, isSimulated: isSimulated || signed.evidence.isSimulated, evidence: signed.evidence(for: act.holder)
    )
    var facts: [(String, JSONValue?)] = [
      ("rootHash", .string(act.holder.rootHash)), ("eventID", .string(event.id)),
      ("digestHex", .hex(event.digest)), ("recordHeadHex", .hex(act.head)), ("statement", signed.statement.json),
      ("firstMeeting", .bool(act.reading.isFirstMeeting)), ("ruleOfOne", .bool(act.isRuleOfOne)),
      (
        "wraps",
        .array(act.outcomes.map { if case .wrapped(let suite) = $0 { .string(suite) } else { .string("leftOut") } })
      ),
    ]
    var summary: [String] = []
    if case .tap = act.kind {
      let (before, after) = (act.tally, act.tally(with: event))
      facts +=
        json(after) + [
          ("tapsBefore", .int(before.counted)), ("opensEstate", .bool(!before.isEnough && after.isEnough)),
        ]
      summary.append(sentence(after))
    }
    var capsule = act.capsule(adding: event)
    capsule.isSimulated = capsule.isSimulated || artefact.isSimulated
    put(capsule, &facts, invocation)
    let isKept = invocation.losses.isEmpty
    return try invocation.deliver(
      artefact,
      [
        act.toBeSigned.name == "custody.confirm.v1" ? "Confirmed." : "Tapped.",
        (isKept ? "It is kept on this computer. " : "")
          + "A phone with Seal must publish it before it counts elsewhere.",
      ] + summary, facts)
  }
}

extension Invocation {
  func epoch() throws(UsageError) -> UInt64 {
    let text = try required("epoch")
    guard let epoch = UInt64(text) else { throw .badValue(option: "--epoch", value: text, wanted: "a whole number") }
    return epoch
  }

  func head() throws(UsageError) -> [UInt8] {
    _ = try required("head")
    let head = try hex("head") ?? []
    guard head.isEmpty || head.count == 32 else {
      throw .badValue(option: "--head", value: Hex.encode(head), wanted: "32 bytes in hexadecimal, or nothing")
    }
    return head
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import SealFormats
import WebAuthnCore

extension Command {
  static let capsuleContextOptions = [
    OptionSpec("strict", nil, "take for bad what Seal takes for a note"),
    OptionSpec("owner-key", "HEX", "the owner's root key, 64 bytes, known from elsewhere"),
    OptionSpec(
      "identity", "FILE", "an identity record that you trust; its backups and revocations count; may be repeated",
      repeatable: true),
    OptionSpec(
      "timestamp-pin", "HEX", "SHA-256 of the certificate of a timestamp authority to trust; may be repeated",
      repeatable: true),
    Invocation.noStore,
  ]

  static let capsule = Command(
    "capsule", "Check a whole record of an estate, explain it, or unite several.",
    operands: ["verify FILE", "show FILE", "merge FILE ..."],
    options: capsuleContextOptions + [OptionSpec("out", "FILE", "where the united record goes", only: ["merge"])],
    examples: [
      "sealkey capsule verify estate.capsule --strict", "sealkey capsule show estate.capsule",
      "sealkey capsule merge mine.capsule hers.capsule --out both.capsule",
    ]
  ) { invocation in
    guard let word = invocation.options.operands.first else { throw UsageError.missingOperand("verify, show or merge") }
    let files = Array(invocation.options.operands.dropFirst())
    guard word == "merge" || files.count <= 1 else { throw UsageError.extraOperand(files[1]) }
    guard let file = files.first else { throw UsageError.missingOperand("The capsule's file") }
    switch word {
    case "verify": return try await CapsuleVerb.verify(file, invocation)
    case "show": return try await CapsuleVerb.show(file, invocation)
    case "merge": return try await CapsuleVerb.merge(files, invocation)
    default: throw UsageError.badValue(option: "capsule", value: word, wanted: "verify, show or merge")
    }
  }
}

/// What can be done with a capsule.
enum CapsuleVerb {
  /// Here --identity says whose estate it may be; for an act of a key holder's it says who acts.
  private static func reading(of capsule: Capsule, _ invocation: Invocation) async throws -> EstateReading {
    try await invocation.reading(of: capsule, remembering: .whenPossible) {
      $0.demandsPinnedOwner = invocation.options.has("identity")
    }
  }

  static func verify(_ file: String, _ invocation: Invocation) async throws -> Outcome {
    let reading = try await reading(of: try invocation.capsule(file), invocation)
    return verdict(file, reading.capsule, reading.verification, reading.verification.report)
  }

  static func show(_ file: String, _ invocation: Invocation) async throws -> Outcome {
    let reading = try await reading(of: try invocation.capsule(file), invocation)
    let explained = EstateExplanation(
      reading.capsule, reading.verification, reading.context,
      firstSeen: reading.firstSeen, isFirstMeeting: reading.isFirstMeeting,
      isKept: reading.storeProblem == nil && !invocation.options.has("no-store"),
      here: invocation.peopleHere(in: reading.verification), known: invocation.knownPeople())
    return Outcome(
      text: (try mistyped(reading.capsule, invocation) + explained.lines).joined(separator: "\n"), json: explained.json,
      code: reading.verification.report.isGood ? 0 : 1)
  }

  /// What is to be read before all else: the key that the person gave is not the one in the file.
  private static func mistyped(_ capsule: Capsule, _ invocation: Invocation) throws -> [String] {
    guard let given = try invocation.hex("owner-key", count: 64),
      let key = capsule.identities[capsule.ownerHash]?.publicKey, key != given
    else { return [] }
    return [
      "The key of --owner-key is NOT the owner's key in this file. Either its digits are mistyped, or the file is not from "
        + "that owner: compare them before you believe anything below.", "",
    ]
  }

  static func merge(_ files: [String], _ invocation: Invocation) async throws -> Outcome {
    let out = try invocation.required("out")
    let capsules = try files.map { try invocation.capsule($0) }
    var given = try invocation.capsuleContext(capsules[0])
    given.directory.merge(invocation.knownPeople().records) { $0.knowing($1) }
    let merge = try CapsuleMerge(capsules, context: given)
    let reading = try await reading(of: merge.capsule, invocation)
    // What this computer has seen of the estate belongs to the union.
    let capsule = merge.capsule.united(with: reading.verification)
    let verified = await CapsuleVerifier(reading.context).verify(capsule)
    try invocation.write(capsule.encoded(), to: out)
    var outcome = verdict(out, capsule, verified, merge.report.joined(verified.report))
    var added = zip(files, merge.added).map { "\($0): \($1) entries that none before it had" }
    added.append("this computer: \(reading.verification.missing.count) entries that none of them had")
    outcome.text = (added + [outcome.text, "Wrote \(out).".printable]).joined(separator: "\n")
    outcome.json = .object(
      [
        ("added", .array(merge.added.map { .int($0) })), ("addedFromStore", .int(reading.verification.missing.count)),
      ] + (outcome.json.object ?? []).map { ($0.name, $0.value) })
    return outcome
  }

  static func verdict(
    _ file: String, _ capsule: Capsule, _ verified: CapsuleVerification, _ report: VerificationReport
  ) -> Outcome {
    let isGood = report.isGood
    let lines = report.lines + [isGood ? "\(file): good." : "\(file): NOT good."]
    return Outcome(
      text: lines.joined(separator: "\n"),
      json: .object([
        ("file", .string(file)), ("kind", .string("capsule")), ("simulated", .bool(capsule.isSimulated)),
        ("ok", .bool(isGood)), ("estateID", .string(verified.estateID)), ("ownerHash", .string(verified.ownerHash)),
        ("events", .int(verified.admitted.count)), ("recordHeadHex", .hex(verified.recordHead)),
        ("checks", report.json["checks"]),
      ]), code: isGood ? 0 : 1)
  }
}

extension VerificationReport {
  /// One line a check.
  var lines: [String] {
    let words: [Check.Outcome: String] = [.good: "good", .bad: "BAD ", .warning: "note", .note: "note"]
    return checks.map {
      // Names and texts come out of files.
      let subject = $0.subject.isEmpty ? "" : "\($0.subject): "
      return "\(words[$0.outcome] ?? "?")  \(subject)\($0.explanation)"
        + ($0.outcome == .good || $0.outcome == .note ? "" : " [\($0.name)]")
    }.map(\.printable)
  }

  func joined(_ other: VerificationReport) -> VerificationReport {
    var both = self
    both.append(other)
    return both
  }
}

extension Invocation {
  /// What is known besides a capsule: what the person gave.
  func capsuleContext(_ capsule: Capsule) throws -> CapsuleContext {
    var context = CapsuleContext(now: now, isStrict: options.has("strict"))
    for file in options.values["identity"] ?? [] {
      let (record, _) = try identity(file)
      context.directory[record.rootHash] = record
      context.pins[record.rootHash] = record.publicKey
    }
    if let key = try hex("owner-key", count: 64) { context.pins[capsule.ownerHash] = key }
    for text in options.values["timestamp-pin"] ?? [] {
      guard let pin = Hex.decode(text), pin.count == 32 else {
        throw UsageError.badValue(option: "--timestamp-pin", value: text, wanted: "32 bytes in hexadecimal")
      }
      context.timestampPins.insert(pin)
    }
    return context
  }
}

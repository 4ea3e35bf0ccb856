// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import SealCeremonies
import SealFormats
import WebAuthnCore

/// A tap that was made before.
extension HolderVerb {
  /// Gives it again wherever it was asked for: a tap cannot be made twice, and need not be. A file that holds it stays as
  /// it is: it may hold more, namely what the key said of itself.
  static func handOut(
    _ kept: EstateEvent, _ reading: EstateReading, _ holder: DirectoryRecord, isSimulated: Bool,
    _ invocation: Invocation
  ) throws -> Outcome {
    var evidence = Evidence()
    evidence.rootPublicKey = holder.publicKey
    evidence.credentialID = holder.credentialID
    evidence.statement = (try? AuthorizationPayload(parsing: kept.terms.payload))?.statement(
      estateID: kept.terms.estateID)
    let artefact = Artefact(
      .event, kept,
      isSimulated: isSimulated || reading.capsule.isSimulated || reading.simulated.contains(kept.id),
      evidence: evidence)
    var capsule = reading.capsule.united(with: reading.verification)
    capsule.isSimulated = capsule.isSimulated || artefact.isSimulated
    let options = invocation.options
    let isInFile = options["out"].map { holds(kept, $0, isBare: options.has("seal")) } ?? false
    let isInRecord = options["into"].map { holds(capsule, $0) } ?? false
    try OutputFiles.checkNew(options, except: Set((isInFile ? ["out"] : []) + (isInRecord ? ["into"] : [])))
    let tally = TapTally(
      reading.entries(usingRecordTimes: options.has("use-record-times")), at: reading.context.now)
    invocation.say(
      "You tapped for this claim already, at \(UTCText.format(kept.terms.occurredAtEpoch)). It counts, and nobody has to "
        + "touch anything.")
    invocation.say(sentence(tally))
    var facts: [(String, JSONValue?)] = [
      ("rootHash", .string(holder.rootHash)), ("eventID", .string(kept.id)), ("digestHex", .hex(kept.digest)),
      ("statement", evidence.statement?.json), ("alreadyTapped", .bool(true)),
      ("tappedAtEpoch", .int(kept.terms.occurredAtEpoch)),
    ]
    facts += json(tally)
    put(capsule, isThere: isInRecord, &facts, invocation)
    return try invocation.deliver(
      artefact, ["This is the tap of then. A phone with Seal must publish it."], facts, isThere: isInFile)
  }

  /// Whether a file holds this entry, in the form that is asked for.
  private static func holds(_ event: EstateEvent, _ path: String, isBare: Bool) -> Bool {
    guard let bytes = try? AtomicFile.read(path), let artefact = try? Artefact(parsing: bytes),
      (artefact.evidence == nil) == isBare, let held: EstateEvent = try? artefact.shape(.event)
    else { return false }
    return held.isSameCopy(as: event)
  }

  /// Whether a file holds every entry of this record.
  private static func holds(_ capsule: Capsule, _ path: String) -> Bool {
    guard let bytes = try? AtomicFile.read(path, limit: Capsule.maximumSize),
      let held = try? Capsule(parsing: bytes), held.estateID == capsule.estateID, held.ownerHash == capsule.ownerHash
    else { return false }
    let there = Dictionary(held.events.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    return capsule.events.allSatisfy { event in
      there[event.id]?.isSameCopy(as: event) ?? false
    }
  }

  /// Writes the record to --into.
  static func put(
    _ capsule: Capsule, isThere: Bool = false, _ facts: inout [(String, JSONValue?)], _ invocation: Invocation
  ) {
    guard let into = invocation.options["into"] else { return }
    do throws(FileError) {
      // The capsule that was read is in the one that replaces it.
      if !isThere, OutputFiles.isCapsuleThatIsRead(into, invocation.options) {
        try AtomicFile.write(capsule.encoded(), to: into)
      } else if !isThere {
        try invocation.write(capsule.encoded(), to: into)
      }
      facts.append(("into", .string(into)))
      invocation.say((isThere ? "\(into) holds it already and was left as it is." : "Wrote \(into).").printable)
    } catch { invocation.losses.add("the record with the new entry", error) }
  }

  // MARK: How many taps count

  /// Where the count stands.
  static func sentence(_ tally: TapTally) -> String {
    let count = "By what this computer knows \(tally.counted) of \(tally.needed) taps count"
    return tally.isEnough
      ? "\(count): the claimant can open the estate." : "\(count): \(tally.needed - tally.counted) more must follow."
  }

  /// What one more tap would do.
  static func prospect(_ tally: TapTally) -> String {
    if tally.isEnough {
      return "ENOUGH HAVE TAPPED ALREADY: \(tally.counted), and the rule asks for \(tally.needed). The estate can be "
        + "opened without you."
    }
    let more = tally.needed - tally.counted - 1
    let ordinals = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
    let place =
      ordinals.indices.contains(tally.counted) ? "the \(ordinals[tally.counted])" : "number \(tally.counted + 1)"
    return "So far \(tally.counted) of \(tally.needed) taps count; yours is \(place): "
      + (more == 0 ? "with it the estate can be opened." : "\(more) more must follow before the estate can be opened.")
  }

  static func json(_ tally: TapTally) -> [(String, JSONValue?)] {
    [("tapsCounted", .int(tally.counted)), ("tapsNeeded", .int(tally.needed))]
  }
}

extension IdleTap.Reason {
  /// Why a tap does not count.
  var words: String {
    switch self {
    case .inTheFuture: "it is dated in the future"
    case .tooEarly: "it came before the claim was open"
    case .duringObjection: "an objection stood then"
    }
  }
}

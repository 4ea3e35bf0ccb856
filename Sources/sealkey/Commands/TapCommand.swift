// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import SealFormats
import WebAuthnCore

extension Command {
  static let tap = Command(
    "tap", "Tap to release, from an estate, an epoch, a claim and the record's head.",
    options: [
      OptionSpec("identity", "FILE", "the key holder's identity record"),
      OptionSpec("estate", "ID", "the estate's id"), OptionSpec("epoch", "N", "the epoch's number"),
      OptionSpec("claim", "ID", "the claim's id"),
      OptionSpec("head", "HEX", "digest of the record's newest event, 32 bytes; empty when there is none"), noUV,
    ] + outOptions,
    examples: ["sealkey tap --identity ada.json --estate ID --epoch 1 --claim ID --head HEX --out tap.json"]
  ) { invocation in
    try invocation.noOperands()
    let (record, simulated) = try invocation.record(try invocation.required("identity"))
    let estate = try invocation.required("estate")
    let claim = try invocation.required("claim")
    let epochText = try invocation.required("epoch")
    guard let epoch = UInt64(epochText) else {
      throw UsageError.badValue(option: "--epoch", value: epochText, wanted: "a whole number")
    }
    _ = try invocation.required("head")
    let head = try invocation.hex("head") ?? []
    guard head.isEmpty || head.count == 32 else {
      throw UsageError.badValue(
        option: "--head", value: Hex.encode(head), wanted: "32 bytes in hexadecimal, or nothing")
    }
    return try await invocation.withKey(touches: 1) { _, session in
      invocation.say(
        "Touching the key is \(record.displayName)'s word to release estate \(estate), claim \(claim). It cannot be taken back."
      )
      let signed = try await Ceremony(
        key: session, userVerification: invocation.options.has("no-uv") ? .discouraged : .preferred
      ).tap(estateID: estate, epoch: epoch, claimID: claim, recordHeadDigest: head, as: record)
      return try invocation.deliver(
        signed.artefact(for: record, isSimulated: simulated),
        ["Tapped.", "A phone with Seal must publish it before it counts."],
        [("rootHash", .string(record.rootHash)), ("statement", signed.statement.json)])
    }
  }
}

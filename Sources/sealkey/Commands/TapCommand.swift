// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealCeremonies
import SealFormats
import WebAuthnCore

extension Command {
  static let tap = Command(
    "tap", "Tap to release: from an estate's record, or from an estate, an epoch, a claim and the record's head.",
    options: holderOptions + [
      OptionSpec("claim", "ID", "the claim's id (with a record: the current one)"),
      OptionSpec(
        "use-record-times", nil,
        "take a claim that carries a trusted timestamp at that time, although this computer saw it later"),
      OptionSpec(
        "last-sign", "TIME",
        "the time or the day (UTC) of the owner's last sign as it was shown to you, or none: answers the question about it"
      ),
    ] + bareOptions + outOptions,
    examples: [
      "sealkey tap --capsule estate.capsule --out tap.json --into newer.capsule",
      "sealkey tap --identity ada.json --estate ID --epoch 1 --claim ID --head HEX --out tap.json",
    ]
  ) { invocation in
    try invocation.noOperands()
    if invocation.options.has("capsule") { return try await HolderVerb.run(invocation, isTap: true) }
    for option in ["into", "device", "owner-key", "use-record-times", "last-sign"] where invocation.options.has(option)
    {
      throw UsageError.missingOption("capsule")
    }
    let (record, simulated) = try HolderVerb.bareHolder(invocation)
    let estate = try invocation.identifier("estate")
    let claim = try invocation.identifier("claim")
    let statement = Statement.releaseAuthorize(
      estateID: estate, epoch: try invocation.epoch(), claimID: claim, recordHeadDigest: try invocation.head())
    return try await HolderVerb.bare(
      statement, record, simulated,
      "Touching the key is \(record.displayName)'s word to release estate \(estate), claim \(claim). "
        + "It cannot be taken back.", invocation)
  }
}

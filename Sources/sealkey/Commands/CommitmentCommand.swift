// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import SealFormats
import WebAuthnCore

extension Command {
  static let commitment = Command(
    "commitment", "Print the preimage and the hash of anything Seal has people sign.",
    operands: ["COMMITMENT [FIELD=VALUE ...]"],
    examples: [
      "sealkey commitment release.authorize.v1 estateID=ID epoch=1 claimID=ID recordHeadDigest=HEX",
      "sealkey commitment identity.delete.v1 nonce=HEX",
    ]
  ) { invocation in
    guard let name = invocation.options.operands.first else {
      throw UsageError.missingOperand(
        "The commitment's name (one of \(CommitmentForm.all.map(\.name).joined(separator: ", ")))")
    }
    let fields = try invocation.options.operands.dropFirst().map { word in
      guard let equals = word.firstIndex(of: "=") else {
        throw UsageError.badValue(option: "a field", value: word, wanted: "field=value")
      }
      return (name: String(word[..<equals]), value: String(word[word.index(after: equals)...]))
    }
    let commitment = try CommitmentForm.commitment(named: name, fields: fields)
    let text = [
      "preimage   \(Hex.encode(commitment.preimage))", "commitment \(Hex.encode(commitment.digest))",
      "challenge  \(commitment.challenge)",
    ]
    return Outcome(
      text: text.joined(separator: "\n"),
      json: .object([
        ("name", .string(commitment.name)), ("preimageHex", .hex(commitment.preimage)),
        ("commitmentHex", .hex(commitment.digest)), ("challenge", .string(commitment.challenge)),
      ]))
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import InteropMatrix

extension Command {
  static let matrix = Command(
    "matrix", "Measure a key for the interop matrix, and keep the matrix.",
    operands: [
      "run", "second-host FILE", "verify FILE ...", "fill [FILE]", "check [FILE]", "diff FILE FILE", "report", "atlas",
    ],
    options: [
      OptionSpec("tester", "NAME", "who runs it", only: ["run"]),
      OptionSpec("repeat", "N", "how often each step is tried, 1 to 20", only: ["run"]),
      OptionSpec("also", "nfc", "the same once more over NFC", only: ["run"], choices: ["nfc"]),
      OptionSpec("model", "NAME", "what the key is called, where the computer does not tell", only: ["run"]),
      OptionSpec("serial", "TEXT", "write this serial number into the record", only: ["run"]),
      OptionSpec("finish", nil, "end a run that was begun, without its other steps", only: ["run"]),
      OptionSpec("runs", "DIR", "the records of real keys (matrix/runs)"),
      OptionSpec("practice", "DIR", "where runs of virtual keys go (matrix/practice)"),
      OptionSpec("out", "FILE", "where the page goes", only: ["report", "atlas"]),
      OptionSpec("page", "FILE", "write the atlas as a page for a browser, too", only: ["atlas"]),
      OptionSpec(
        "metadata", "FILE", "the FIDO Metadata Service's signed BLOB, or its decoded payload",
        only: ["atlas", "verify"]),
      OptionSpec(
        "root", "FILE", "the DER certificate that the BLOB's signer leads to, instead of FIDO's",
        only: ["atlas", "verify"]),
      OptionSpec("expired-ok", nil, "take metadata whose time is over", only: ["atlas", "verify"]),
    ],
    examples: [
      "sealkey matrix run --tester Ada", "sealkey matrix run --key virtual",
      "sealkey matrix verify matrix/runs/some-key.json", "sealkey matrix fill",
      "sealkey matrix check",
    ]
  ) { invocation in
    guard let word = invocation.options.operands.first else {
      throw UsageError.missingOperand("run, second-host, verify, fill, check, diff, report or atlas")
    }
    let operands = Array(invocation.options.operands.dropFirst())
    let verb = MatrixVerb(invocation: invocation)
    func most(_ count: Int) throws(UsageError) {
      if operands.count > count { throw .extraOperand(operands[count]) }
    }
    switch word {
    case "run":
      try most(0)
      return try await verb.run()
    case "second-host":
      guard let file = operands.first else { throw UsageError.missingOperand("The record's file") }
      try most(1)
      return try await verb.secondHost(file)
    case "verify":
      guard !operands.isEmpty else { throw UsageError.missingOperand("The record's file") }
      return try verb.verify(operands)
    case "fill":
      try most(1)
      return try verb.fill(operands.first ?? MatrixVerb.sheet)
    case "check":
      try most(1)
      return try verb.check(operands.first ?? MatrixVerb.sheet)
    case "diff":
      guard operands.count >= 2 else { throw UsageError.missingOperand("Two records' files") }
      try most(2)
      return try verb.diff(operands[0], operands[1])
    case "report":
      try most(0)
      return try verb.report()
    case "atlas":
      try most(0)
      return try await verb.atlas()
    default:
      throw UsageError.badValue(
        option: "matrix", value: word,
        wanted: "run, second-host, verify, fill, check, diff, report or atlas")
    }
  }
}

/// What can be done with the matrix.
struct MatrixVerb {
  static let sheet = "docs/SECURITY_KEY_TEST_MATRIX.md"
  let invocation: Invocation

  var runs: RunFolder { RunFolder(invocation.options["runs"] ?? "matrix/runs") }
  var practice: RunFolder { RunFolder(invocation.options["practice"] ?? "matrix/practice") }
}

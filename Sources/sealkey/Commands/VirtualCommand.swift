// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import VirtualAuthenticator
import WebAuthnCore

extension Command {
  static let virtual = Command(
    "virtual", "Host the built-in virtual key for other programs.", operands: "run|models",
    options: [
      OptionSpec("udp", "PORT[:REPLYPORT]", "answer 64-byte reports on a loopback UDP port; 0 chooses one"),
      OptionSpec("uhid", nil, "be a USB key of this computer's kernel (needs root and the module uhid)"),
      OptionSpec("model", "NAME", "the model to imitate (virtual)"),
    ],
    examples: ["sealkey virtual run --udp 8111", "sealkey virtual run --uhid", "sealkey virtual models"]
  ) { invocation in
    switch try invocation.operand("run or models") {
    case "models":
      let models = ModelProfile.builtIn
      return Outcome(
        text: models.map(\.name).joined(separator: "\n"),
        json: .object([("models", .array(models.map { .string($0.name) }))]))
    case "run": return try await run(invocation)
    case let word: throw UsageError.badValue(option: "virtual", value: word, wanted: "run or models")
    }
  }

  private static func run(_ invocation: Invocation) async throws -> Outcome {
    let model = invocation.options["model"]
    let state = "\(try invocation.madeDataDirectory())/virtual-key" + (model.map { "-\($0)" } ?? "")
    let key = try invocation.makeVirtualKey(model, storage: .file(path: state))
    let (host, transport) = try host(key, invocation)
    defer { host.stop() }
    let ready: JSONValue = .object([
      ("ready", .bool(true)), ("simulated", .bool(true)), ("transport", .string(transport)),
      ("port", host.port.map { .int($0) }),
    ])
    Console.out(
      invocation.options.has("json")
        ? String(decoding: JSONWriter.write(ready), as: UTF8.self)
        : "ready \(transport)\(host.port.map { ":\($0)" } ?? "") (simulated)")
    // Until somebody stops it.
    while !Task.isCancelled, host.isRunning { try? await Task.sleep(for: .milliseconds(200)) }
    return Outcome(text: "", json: .object([("stopped", .bool(true)), ("simulated", .bool(true))]))
  }

  private static func host(
    _ key: VirtualAuthenticator, _ invocation: Invocation
  ) throws -> (VirtualKeyHost, transport: String) {
    if invocation.options.has("uhid") {
      if invocation.options.has("udp") { throw UsageError.conflict("uhid", "udp") }
      return (try .uhid(key), "uhid")
    }
    let text = try invocation.required("udp")
    let ports = text.split(separator: ":", omittingEmptySubsequences: false).map { UInt16($0) }
    guard (1...2).contains(ports.count), let port = ports[0], ports.count == 1 || ports[1] != nil else {
      throw UsageError.badValue(option: "--udp", value: text, wanted: "PORT or PORT:REPLYPORT")
    }
    return (try .udp(key, port: port, replyPort: ports.count == 2 ? ports[1] : nil), "udp")
  }
}

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
      OptionSpec("usb-gadget", nil, "be a true USB device (needs root, libcomposite, usb_f_hid and a controller)"),
      OptionSpec("vpcd", "PORT", "be a contactless card on vpcd's reader; uses PORT and the next; 0 chooses two"),
      OptionSpec("model", "NAME", "the model to imitate (virtual)"),
      OptionSpec(
        "fault", "FAULT[,FAULT...]", "let things go wrong: to-key:3:drop, to-host:5:delay:100, command:2:busy"),
    ],
    examples: [
      "sealkey virtual run --udp 8111", "sealkey virtual run --uhid", "sealkey virtual run --vpcd 36000",
      "sealkey virtual models",
    ]
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
    let faults = try (invocation.options["fault"] ?? "").split(separator: ",").map { try Fault(parsing: String($0)) }
    let hosted = try host(key, faults: FaultScript(faults), invocation)
    defer { hosted.stop() }
    let ready: JSONValue = .object([
      ("ready", .bool(true)), ("simulated", .bool(true)), ("transport", .string(hosted.transport)),
      ("port", hosted.port.map { .int($0) }),
    ])
    Console.out(
      invocation.options.has("json")
        ? String(decoding: JSONWriter.write(ready), as: UTF8.self)
        : "ready \(hosted.transport)\(hosted.port.map { ":\($0)" } ?? "") (simulated)")
    // Until somebody stops it.
    while !Task.isCancelled, hosted.isRunning() { try? await Task.sleep(for: .milliseconds(200)) }
    return Outcome(text: "", json: .object([("stopped", .bool(true)), ("simulated", .bool(true))]))
  }

  /// A key that is plugged in somewhere.
  private struct Hosted {
    let transport: String
    var port: UInt16?
    let isRunning: () -> Bool
    let stop: () -> Void

    init(_ transport: String, _ host: VirtualKeyHost) {
      self.transport = transport
      port = host.port
      isRunning = { host.isRunning }
      stop = { host.stop() }
    }

    init(_ transport: String, _ host: VPCDHost) {
      self.transport = transport
      port = host.port
      isRunning = { true }
      stop = { host.stop() }
    }
  }

  private static func host(
    _ key: VirtualAuthenticator, faults: FaultScript, _ invocation: Invocation
  ) throws -> Hosted {
    let wires = ["udp", "uhid", "usb-gadget", "vpcd"].filter { invocation.options.has($0) }
    guard wires.count <= 1 else { throw UsageError.conflict(wires[0], wires[1]) }
    switch wires.first {
    case "uhid": return Hosted("uhid", try VirtualKeyHost.uhid(key, faults: faults))
    case "usb-gadget": return Hosted("usb-gadget", try VirtualKeyHost.usbGadget(key, faults: faults))
    case "vpcd":
      if invocation.options.has("fault") { throw UsageError.conflict("vpcd", "fault") }
      let text = try invocation.required("vpcd")
      guard let port = UInt16(text), port < .max else {
        throw UsageError.badValue(option: "--vpcd", value: text, wanted: "a port, with the next one free too")
      }
      return Hosted("vpcd", try VPCDHost(VirtualCard(key), port: port))
    default: break
    }
    let text = try invocation.required("udp")
    let ports = text.split(separator: ":", omittingEmptySubsequences: false).map { UInt16($0) }
    guard (1...2).contains(ports.count), let port = ports[0], ports.count == 1 || ports[1] != nil else {
      throw UsageError.badValue(option: "--udp", value: text, wanted: "PORT or PORT:REPLYPORT")
    }
    let host = try VirtualKeyHost.udp(key, port: port, replyPort: ports.count == 2 ? ports[1] : nil, faults: faults)
    return Hosted("udp", host)
  }
}

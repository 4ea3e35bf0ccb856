// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import Synchronization
import VirtualAuthenticator
import WebAuthnCore

/// The last of SIGUSR1 and SIGUSR2, until somebody has looked.
private let cardWish = Atomic<Int32>(0)

extension Command {
  static let virtual = Command(
    "virtual", "Host the built-in virtual key for other programs.", operands: ["run", "models"],
    options: [
      OptionSpec(
        "udp", "PORT[:REPLYPORT]", "answer 64-byte reports on a loopback UDP port; 0 chooses one",
        only: ["run"]),
      OptionSpec("uhid", nil, "be a USB key of this computer's kernel (needs root and the module uhid)", only: ["run"]),
      OptionSpec(
        "usb-gadget", nil, "be a true USB device (needs root, libcomposite, usb_f_hid and a controller)", only: ["run"]),
      OptionSpec(
        "vpcd", "PORT|connect:PORT",
        "be a contactless card on vpcd's reader, which connects to PORT and the next (0 chooses two); or connect to it",
        only: ["run"]),
      OptionSpec(
        "card", "TRAIT[,TRAIT...]", "how that card is odd: no-extended, response:255, tap-for-each, ...", only: ["run"]),
      OptionSpec(
        "lift", "N[,N...]", "lift that card at its N-th APDU; SIGUSR1 lifts it too, SIGUSR2 lays it on again",
        only: ["run"]),
      OptionSpec("model", "NAME", "the model to imitate (virtual)", only: ["run"]),
      OptionSpec(
        "fault", "FAULT[,FAULT...]", "let things go wrong: to-key:3:drop, to-host:5:delay:100, command:2:busy",
        only: ["run"]),
    ],
    examples: [
      "sealkey virtual run --udp 8111", "sealkey virtual run --uhid", "sealkey virtual run --vpcd 36000",
      "sealkey virtual models",
    ]
  ) { invocation in
    switch try invocation.operand("run or models") {
    case "models":
      let models = ModelProfile.all
      let width = (models.map(\.name.count).max() ?? 0) + 2
      return Outcome(
        text: models.map { model in
          let needs = model.purpose.needs.map { " Needs \($0)." } ?? ""
          return
            "\(model.name)\(String(repeating: " ", count: width - model.name.count))\(model.purpose.shows).\(needs)"
        }.joined(separator: "\n"),
        json: .object([
          ("models", .array(models.map { .string($0.name) })),
          (
            "purposes",
            .array(
              models.map {
                .object([
                  ("name", .string($0.name)), ("shows", .string($0.purpose.shows)),
                  ("needs", $0.purpose.needs.map { .string($0) }),
                ])
              })
          ),
        ]))
    case "run": return try await run(invocation)
    case let word: throw UsageError.badValue(option: "virtual", value: word, wanted: "run or models")
    }
  }

  private static func run(_ invocation: Invocation) async throws -> Outcome {
    try checkWires(invocation)
    let key = try invocation.keptVirtualKey(invocation.options["model"])
    let faults = try (invocation.options["fault"] ?? "").split(separator: ",").map { try Fault(parsing: String($0)) }
    let hosted = try host(key, faults: FaultScript(faults), invocation)
    defer { hosted.stop() }
    let ready: JSONValue = .object([
      ("ready", .bool(true)), ("simulated", .bool(true)), ("transport", .string(hosted.transport)),
      ("port", hosted.port.map { .int($0) }),
    ])
    if invocation.options.has("json") {
      Console.out(ready)
    } else {
      Console.out("ready \(hosted.transport)\(hosted.port.map { ":\($0)" } ?? "") (simulated)")
    }
    var said: KeyStateError?
    // Until somebody stops it.
    while !Task.isCancelled, hosted.isRunning() {
      switch cardWish.exchange(0, ordering: .relaxed) {
      case SIGUSR1: hosted.card?.lift()
      case SIGUSR2: hosted.card?.lay()
      default: break
      }
      // Whoever uses the key is only told that it failed.
      if let error = key.lastStorageError, error != said { invocation.say("\(error.message) \(error.next)") }
      said = key.lastStorageError
      try? await Task.sleep(for: .milliseconds(hosted.card == nil ? 200 : 20))
    }
    return Outcome(text: "", json: .object([("stopped", .bool(true)), ("simulated", .bool(true))]))
  }

  /// A key that is plugged in somewhere.
  private struct Hosted {
    let transport: String
    var port: UInt16?
    var card: LiftableCard?
    let isRunning: () -> Bool
    let stop: () -> Void

    init(_ transport: String, _ host: VirtualKeyHost) {
      self.transport = transport
      port = host.port
      isRunning = { host.isRunning }
      stop = { host.stop() }
    }

    init(_ transport: String, _ host: VPCDHost, _ card: LiftableCard) {
      self.transport = transport
      self.card = card
      port = host.port
      isRunning = { true }
      stop = { host.stop() }
    }
  }

  private static func card(_ key: VirtualAuthenticator, _ invocation: Invocation) throws -> LiftableCard {
    let traits = try invocation.options["card"].map { try CardTraits(parsing: $0) } ?? CardTraits()
    let text = invocation.options["lift"] ?? ""
    let lifts = text.split(separator: ",").map { Int($0) }
    guard !lifts.contains(where: { ($0 ?? -1) < 0 }) else {
      throw UsageError.badValue(option: "--lift", value: text, wanted: "numbers of APDUs, counted from 0")
    }
    return LiftableCard(VirtualCard(key, traits: traits), lifts: Set(lifts.compactMap { $0 }))
  }

  /// The one wire that was named.
  @discardableResult
  private static func checkWires(_ invocation: Invocation) throws(UsageError) -> String {
    let all = ["udp", "uhid", "usb-gadget", "vpcd"]
    let wires = all.filter { invocation.options.has($0) }
    guard let wire = wires.first else { throw .missingOneOf(all) }
    guard wires.count == 1 else { throw .conflict(wires[0], wires[1]) }
    for option in ["card", "lift"] where invocation.options.has(option) && wire != "vpcd" {
      throw .missingOption("vpcd")
    }
    return wire
  }

  private static func host(
    _ key: VirtualAuthenticator, faults: FaultScript, _ invocation: Invocation
  ) throws -> Hosted {
    let wire = try checkWires(invocation)
    switch wire {
    case "uhid": return Hosted("uhid", try VirtualKeyHost.uhid(key, faults: faults))
    case "usb-gadget": return Hosted("usb-gadget", try VirtualKeyHost.usbGadget(key, faults: faults))
    case "vpcd":
      if invocation.options.has("fault") { throw UsageError.conflict("vpcd", "fault") }
      let text = try invocation.required("vpcd")
      let connects = text.hasPrefix("connect:")
      guard let port = UInt16(connects ? text.dropFirst(8) : text[...]), port < .max, !connects || port > 0 else {
        throw UsageError.badValue(
          option: "--vpcd", value: text, wanted: "a port, with the next one free too, or connect:PORT")
      }
      let card = try card(key, invocation)
      let host = try connects ? VPCDHost(card, connectingTo: port) : VPCDHost(card, port: port)
      for number in [SIGUSR1, SIGUSR2] {
        // Only this may be done here.
        signal(number) { cardWish.store($0, ordering: .relaxed) }
      }
      return Hosted("vpcd", host, card)
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

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import SealCeremonies
import SecurityKeys
import WebAuthnCore

extension Command {
  static let doctor = Command(
    "doctor", "Look for whatever stands between you and your keys, and say what to do about it.",
    examples: ["sealkey doctor", "sealkey doctor --key virtual --json"]
  ) { invocation in
    try invocation.noOperands()
    let inventory = Inventory.now()
    let readers = inventory.entries.count { $0.key.kindName == "pcsc" }
    var findings = Doctor.look(readerProblem: inventory.readerProblem, readers: readers, now: invocation.now)
    findings += inventory.entries.compactMap(Examination.hindrance)
    findings.append(Examination.store(invocation))
    var keys: [Examination] = []
    for place in try Examination.places(invocation, inventory) { keys.append(await Examination.of(place, invocation)) }
    return Examination.outcome(findings, keys)
  }
}

/// What was found out about one key by opening it. Nothing is asked of the person, and nothing is changed.
private struct Examination {
  /// A key to be opened.
  struct Place {
    let name: String
    var vendorID: UInt16?
    var productID: UInt16?
    let use: @Sendable (@Sendable (SecurityKey) async throws -> Opened) async throws -> Opened
  }

  struct Opened: Sendable {
    let facts: KeyFacts
    let triesLeft: Int?
  }

  let name: String
  let opened: Opened?
  let findings: [Finding]
  let advisories: [Advisory]
  let state: Readiness.Key

  /// The key that was named; else all that can be opened now.
  static func places(_ invocation: Invocation, _ inventory: Inventory) throws -> [Place] {
    if invocation.key != nil {
      let named: FoundKey? =
        switch invocation.key {
        case .node(let path): try KeyDiscovery.find(node: path)
        case .shortID(let id): try KeyDiscovery.find(id, among: inventory.entries.map(\.key))
        default: nil
        }
      return [
        Place(
          name: invocation.options["key"] ?? "the key", vendorID: named?.vendorID, productID: named?.productID
        ) { body in try await invocation.withKey { key, _ in try await body(key) } }
      ]
    }
    return inventory.entries.filter { $0.access == .ready }.map { entry in
      var one = invocation
      one.key = .shortID(entry.key.id)
      let chosen = one
      return Place(name: entry.key.name, vendorID: entry.key.vendorID, productID: entry.key.productID) { body in
        try await chosen.withKey { key, _ in try await body(key) }
      }
    }
  }

  static func of(_ place: Place, _ invocation: Invocation) async -> Examination {
    do {
      let opened = try await place.use { key in
        let facts = try await key.open()
        return Opened(facts: facts, triesLeft: try? await key.pinTriesLeft())
      }
      return Examination(place, opened, lastTries: invocation.options.has("last-tries"))
    } catch {
      let named = (error as? any NamedError) ?? Unexpected("\(error)")
      return Examination(
        name: place.name, opened: nil,
        findings: [Finding(.bad, named.name, named.message, about: place.name, next: named.next)], advisories: [],
        state: .init(name: place.name, obstacle: .init(named.message), es256: false, prf: false, verifiesPerson: false))
    }
  }

  private init(
    name: String, opened: Opened?, findings: [Finding], advisories: [Advisory], state: Readiness.Key
  ) {
    (self.name, self.opened, self.findings, self.advisories, self.state) = (name, opened, findings, advisories, state)
  }

  private init(_ place: Place, _ opened: Opened, lastTries: Bool) {
    let facts = opened.facts
    var findings: [Finding] = []
    func add(_ verdict: Finding.Verdict, _ name: String, _ message: String, _ next: String? = nil) {
      findings.append(Finding(verdict, name, message, about: facts.name, next: next))
    }
    if facts.info == nil {
      add(.note, "u2fOnly", "It is an older U2F key: it can register and tap, and unlocks nothing.")
    }
    let info = facts.info
    if info?.option("clientPin") == true {
      switch opened.triesLeft {
      case 0?:
        add(.bad, "pinBlocked", "Its PIN is blocked.", SecurityKeyError.pinBlocked.next)
      case let left? where left <= 3 && !lastTries:
        add(
          .bad, "pinTriesLow",
          "\(left) PIN \(left == 1 ? "try is" : "tries are") left. When none is, it takes no PIN until it is reset, and a "
            + "reset destroys what it holds for Seal.", SecurityKeyError.pinTriesLow(left: left).next)
      default: break
      }
      if info?.forcePINChange == true {
        add(
          .bad, "pinChangeRequired", SecurityKeyError.pinChangeRequired.message, SecurityKeyError.pinChangeRequired.next
        )
      }
    } else if info?.option("clientPin") == false, info?.option("uv") != true {
      add(.note, "pinNotSet", "It has no PIN: whoever holds it can use it.", "Set one: sealkey pin set")
    }
    let advisories = facts.advisories(vendorID: place.vendorID, productID: place.productID)
    for advisory in advisories {
      add(advisory.weight == .none ? .note : .bad, "advisory", "\(advisory.id): \(advisory.fault)", advisory.meaning)
    }
    if findings.isEmpty { add(.good, "key", "It can be used, and nothing is known against it.") }
    let can = facts.capabilities
    self.init(
      name: facts.name, opened: opened, findings: findings, advisories: advisories,
      state: .init(
        name: facts.name,
        obstacle: Readiness.obstacle(info, triesLeft: opened.triesLeft, lastTries: lastTries), es256: can.supportsES256,
        prf: can.supportsPRF,
        verifiesPerson: can.canVerifyUser))
  }

  /// Why a key that is there cannot be opened now, where that is not its node's permissions.
  static func hindrance(_ entry: Inventory.Entry) -> Finding? {
    switch entry.access {
    case .inUse(let program):
      let error = TransportError.inUse(by: program)
      return Finding(.bad, error.name, error.message, about: entry.key.placeName, next: error.next)
    case .mute:
      let error = CardError.unresponsive(reader: entry.key.placeName)
      return Finding(.bad, error.name, error.message, about: entry.key.placeName, next: error.next)
    case .ready, .notPermitted, .gone, .noCard, .useUSB: return nil
    }
  }

  static func store(_ invocation: Invocation) -> Finding {
    let failures = invocation.store.check().failures
    guard let first = failures.first else {
      return Finding(.good, "store", "What this computer keeps is whole.", about: invocation.dataDirectory)
    }
    return Finding(
      .bad, "storeDamaged", "\(first.explanation)\(failures.count > 1 ? " (and \(failures.count - 1) more)" : "")",
      about: invocation.dataDirectory, next: "See all of it: sealkey store check")
  }

  static func outcome(_ findings: [Finding], _ keys: [Examination]) -> Outcome {
    let misdated = findings.contains { $0.name == "clockWrong" } ? "this computer's clock is wrong" : nil
    let answers = Readiness.Act.allCases.map { act in
      (act: act, answer: Readiness.answer(act, keys: keys.map(\.state), obstacle: misdated))
    }
    var lines = findings.flatMap(lines)
    for key in keys {
      lines += ["", "\(key.name)\(key.opened?.facts.isSimulated == true ? " (simulated)" : ""):"]
      lines += key.findings.flatMap { Self.lines($0) }
    }
    lines.append("")
    for (act, answer) in answers {
      lines.append("You can \(act.rawValue): \(answer.can ? "yes" : "no"), because \(answer.because).")
    }
    let isReady = answers.allSatisfy(\.answer.can)
    return Outcome(
      text: lines.joined(separator: "\n"),
      json: .object([
        ("ok", .bool(isReady)), ("findings", .array(findings.map(json))),
        ("keys", .array(keys.map { $0.json })),
        (
          "answers",
          .object(
            answers.map { act, answer in
              (act.rawValue, .object([("can", .bool(answer.can)), ("because", .string(answer.because))]))
            })
        ),
      ]), code: isReady ? 0 : 1)
  }

  private var json: JSONValue {
    .object([
      ("name", .string(name)), ("simulated", opened.map { .bool($0.facts.isSimulated) }),
      ("firmwareVersion", opened?.facts.info?.firmwareVersion.map { .int($0) }),
      ("aaguidHex", opened?.facts.info.map { .hex($0.aaguid) }),
      ("pinTriesLeft", opened?.triesLeft.map { .int($0) }), ("findings", .array(findings.map(Self.json))),
      ("advisories", .array(advisories.map { .string($0.id) })),
    ])
  }

  private static func json(_ finding: Finding) -> JSONValue {
    .object([
      ("name", .string(finding.name)), ("verdict", .string(finding.verdict.rawValue)),
      ("subject", finding.subject.map { .string($0) }), ("message", .string(finding.message)),
      ("next", finding.next.map { .string($0) }),
    ])
  }

  private static func lines(_ finding: Finding) -> [String] {
    let mark =
      switch finding.verdict {
      case .good: "good"
      case .note: "note"
      case .bad: "BAD "
      }
    let subject = finding.subject.map { "\($0): " } ?? ""
    return ["\(mark)  \(subject)\(finding.message)"] + (finding.next.map { ["      \($0)"] } ?? [])
  }
}

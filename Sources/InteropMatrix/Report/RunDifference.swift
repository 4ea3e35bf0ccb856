// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import WebAuthnCore

/// What two runs differ in: two firmware versions, two transports, two days.
public struct RunDifference: Sendable {
  /// One difference.
  public struct Line: Sendable, Hashable {
    /// What it is about.
    public let what: String
    /// In the first run.
    public let first: String
    /// In the second.
    public let second: String
  }

  /// Every difference, in the order of the cells; times are not compared.
  public let differences: [Line]

  /// Compares two runs.
  public init(_ first: RunRecord, _ second: RunRecord) {
    var found: [Line] = []
    func add(_ what: String, _ a: String, _ b: String) {
      if a != b { found.append(Line(what: what, first: a, second: b)) }
    }
    add("model", first.key.name, second.key.name)
    add("firmware", first.firmwareText, second.firmwareText)
    add("transport", first.key.transportName, second.key.transportName)
    let (a, b) = (Evaluation(first), Evaluation(second))
    add("AAGUID", Hex.encode(a.info?.aaguid ?? []), Hex.encode(b.info?.aaguid ?? []))
    for step in MatrixStep.allCases {
      let (one, two) = (a.finding(step), b.finding(step))
      add(step.title, one?.cell ?? "–", two?.cell ?? "–")
      add("\(step.title): log line", one?.telemetry ?? "–", two?.telemetry ?? "–")
      add(
        "\(step.title): touches", one?.touches.map { "\($0)" } ?? "–",
        two?.touches.map { "\($0)" } ?? "–")
    }
    let (ours, theirs) = (first.cells.further, second.cells.further)
    add("limits", ours[2], theirs[2])
    add("PRF equality", ours[3], theirs[3])
    add("versions", Self.list(a.info?.versions), Self.list(b.info?.versions))
    add("extensions", Self.list(a.info?.extensions), Self.list(b.info?.extensions))
    let names = Set((a.info?.options ?? [:]).keys).union((b.info?.options ?? [:]).keys)
    for name in names.sorted() {
      func text(_ value: Bool?) -> String { value.map { "\($0)" } ?? "absent" }
      add("option \(name)", text(a.info?.options[name]), text(b.info?.options[name]))
    }
    differences = found
  }

  private static func list(_ texts: [String]?) -> String {
    (texts ?? []).sorted().joined(separator: ", ")
  }

  /// One line a difference.
  public var lines: [String] { differences.map { "\($0.what): \($0.first) -> \($0.second)" } }

  /// As an object.
  public var json: JSONValue {
    .object([
      (
        "differences",
        .array(
          differences.map {
            .object([
              ("what", .string($0.what)), ("first", .string($0.first)),
              ("second", .string($0.second)),
            ])
          })
      )
    ])
  }
}

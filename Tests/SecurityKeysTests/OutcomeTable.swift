// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import Glibc
import Testing

@testable import SecurityKeys

/// What came of each kind of fault in each ceremony, counted.
struct OutcomeTable: Sendable {
  private var counts: [String: [String: [String: Int]]] = [:]
  private var order: [String]

  /// An empty one, with its ceremonies in that order; others follow as they come.
  init(_ order: [String] = []) { self.order = order }

  mutating func add(_ ceremony: String, _ kind: String, _ outcome: String) {
    if !order.contains(ceremony) { order.append(ceremony) }
    counts[ceremony, default: [:]][kind, default: [:]][outcome, default: 0] += 1
  }

  /// The rows of every ceremony.
  var rows: String {
    var lines: [String] = []
    for ceremony in order {
      lines += ["", "## \(ceremony)", "", "| fault | outcomes |", "|---|---|"]
      for (kind, outcomes) in (counts[ceremony] ?? [:]).sorted(by: { $0.key < $1.key }) {
        let text = outcomes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \($0.value)" }
        lines.append("| \(kind) | \(text.joined(separator: ", ")) |")
      }
    }
    return lines.joined(separator: "\n")
  }

  /// The whole table.
  func text(_ title: String, cases: Int, of all: Int) -> String {
    """
    # \(title)

    \(cases) of \(all) cases: each one fault in one ceremony on the virtual key, its deadlines scaled down. What came of \
    it, and how often; `done` means that the fault was made good.
    \(rows)
    """
  }

  /// The part of the artefact that a suite writes.
  enum Part: Int, CaseIterable {
    case reports, cards
  }

  private static let parts = Locked<[Part: (text: String, cases: Int, all: Int)]>([:])

  /// Writes the table beside the other things that a build makes, with the parts that were there before.
  func write(_ part: Part, cases: Int, of all: Int) throws {
    let known = Self.parts.withLock {
      $0[part] = (rows, cases, all)
      return $0
    }
    var whole = OutcomeTable().text(
      "Fault sweep", cases: known.values.reduce(0) { $0 + $1.cases }, of: known.values.reduce(0) { $0 + $1.all })
    for part in Part.allCases { if let one = known[part] { whole += one.text + "\n" } }
    var path = #filePath.split(separator: "/")
    path.removeLast(3)
    let file = try #require(fopen("/" + path.joined(separator: "/") + "/.build/fault-sweep.md", "w"))
    defer { fclose(file) }
    fputs(whole, file)
  }
}

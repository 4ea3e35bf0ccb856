// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import WebAuthnCore

/// A text file as lines that keep their own ends, so that what is not changed stays byte for byte.
struct SheetLines {
  /// A line, and what ended it: `\n`, `\r\n` or nothing.
  struct Line {
    var text: String
    var end: String
  }
  var lines: [Line] = []

  init?(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    var current = ""
    for scalar in text.unicodeScalars {
      current.unicodeScalars.append(scalar)
      guard scalar == "\n" else { continue }
      // Scalars, not characters: Swift takes CR LF for one character.
      var scalars = Array(current.unicodeScalars.dropLast())
      let isCRLF = scalars.last == "\r"
      if isCRLF { scalars.removeLast() }
      lines.append(Line(text: Self.string(scalars), end: isCRLF ? "\r\n" : "\n"))
      current = ""
    }
    if !current.isEmpty { lines.append(Line(text: current, end: "")) }
  }

  private static func string(_ scalars: [Unicode.Scalar]) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }

  /// Which lines are no tables whatever stands in them: code between fences, and comments of HTML.
  var hidden: [Bool] {
    var fence: String?
    var isComment = false
    return lines.map { line in
      let text = MarkdownRow.trimmed(line.text)
      if let open = fence {
        let run = text.prefix { $0 == open.first }
        if run.count >= open.count, run.count == text.count { fence = nil }
        return true
      }
      if isComment {
        isComment = !text.contains("-->")
        return true
      }
      for mark: Character in ["`", "~"] {
        let run = text.prefix { $0 == mark }
        // A fence of backticks has none behind it.
        if run.count >= 3, mark == "~" || !text.dropFirst(run.count).contains(mark) {
          fence = String(run)
          return true
        }
      }
      guard text.hasPrefix("<!--") else { return false }
      isComment = !text.dropFirst(4).contains("-->")
      return true
    }
  }

  var bytes: [UInt8] { lines.flatMap { Array($0.text.utf8) + Array($0.end.utf8) } }
}

/// A row of a Markdown table.
enum MarkdownRow {
  /// The cells between the bars, trimmed, escapes left as they are; nil when the line is no row.
  static func cells(_ line: String) -> [String]? {
    let text = trimmed(line)
    guard text.hasPrefix("|") else { return nil }
    var cells: [String] = []
    var cell = ""
    var isEscaped = false
    for scalar in text.dropFirst().unicodeScalars {
      if scalar == "|", !isEscaped {
        cells.append(trimmed(cell))
        cell = ""
      } else {
        cell.unicodeScalars.append(scalar)
      }
      isEscaped = scalar == "\\" && !isEscaped
    }
    if !trimmed(cell).isEmpty { cells.append(trimmed(cell)) }
    return cells
  }

  /// Whether a line ends the table above it: a blank one, or the beginning of something else.
  static func endsTable(_ line: String) -> Bool {
    let text = trimmed(line)
    guard let first = text.first else { return true }
    if ["#", ">", "<"].contains(first) || text.hasPrefix("```") || text.hasPrefix("~~~") { return true }
    if ["- ", "* ", "+ ", "1. ", "1) "].contains(where: text.hasPrefix) { return true }
    // A line across the page.
    return text.count >= 3 && ["-", "*", "_"].contains(first) && text.allSatisfy { $0 == first }
  }

  /// Whether the line stands between a table's head and its rows.
  static func isDelimiter(_ line: String) -> Bool {
    guard let cells = cells(line), !cells.isEmpty else { return false }
    return cells.allSatisfy { cell in
      cell.contains("-") && cell.unicodeScalars.allSatisfy { $0 == "-" || $0 == ":" || $0 == " " }
    }
  }

  /// A row of cells that are written already.
  static func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }

  /// A cell's text: bars, backslashes and angle brackets mean themselves, and a cell stays on its line.
  static func escaped(_ text: String) -> String {
    var out = ""
    for scalar in text.printable.unicodeScalars {
      switch scalar {
      case "|": out += "\\|"
      case "\\": out += "\\\\"
      case "<": out += "&lt;"
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }

  static func trimmed(_ text: String) -> String {
    var scalars = text.unicodeScalars[...]
    while let first = scalars.first, first == " " || first == "\t" { scalars = scalars.dropFirst() }
    while let last = scalars.last, last == " " || last == "\t" { scalars = scalars.dropLast() }
    return String(scalars)
  }

  /// A column's name as it is compared: small letters and digits.
  static func key(_ head: String) -> String {
    if head == "#" { return "#" }
    return String(
      String.UnicodeScalarView(
        head.lowercased().unicodeScalars.filter {
          $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0)
        }))
  }
}

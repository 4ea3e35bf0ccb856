// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CProcess
import Glibc
import Synchronization
import WebAuthnCore

/// Whether a part of the result could not be written.
private let lost = Atomic<Bool>(false)

/// The two streams: stdout is the result, stderr the conversation.
///
/// This is the one place through which text reaches a terminal. Names come from arguments, files and keys: whatever of
/// them could steer a terminal is replaced here, whoever printed it.
enum Console {
  /// A result for a person.
  static func out(_ text: String) {
    let shown = TerminalText(descriptor: 1).shown(text)
    if !write(1, Array((shown + "\n").utf8)) { lost.store(true, ordering: .relaxed) }
  }

  /// A result for a program: as it is, except that what could steer a terminal is written as an escape of JSON, which
  /// means the same there. Who knows what it is piped into.
  static func document(_ text: String) {
    if !write(1, Array((text.escapedForTerminal + "\n").utf8)) { lost.store(true, ordering: .relaxed) }
  }

  /// An object of JSON on a line of its own.
  static func out(_ json: JSONValue) {
    document(String(decoding: JSONWriter.write(json, .init(escapesSlashes: false)), as: UTF8.self))
  }

  /// Whether a part of the result could not be written.
  static var hasLost: Bool { lost.load(ordering: .relaxed) }

  /// A line of the conversation.
  static func note(_ text: String) {
    write(2, Array((TerminalText(descriptor: 2).shown(text) + "\n").utf8))
  }

  /// Bytes as they are; false when not all could be written.
  @discardableResult
  static func write(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
    var done = 0
    return bytes.withUnsafeBytes { buffer in
      while done < buffer.count {
        let count = Glibc.write(descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done)
        if count < 0, errno == EINTR { continue }
        if count < 0, errno == EAGAIN {
          // Somebody else has made the terminal non-blocking.
          var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          if poll(&wait, 1, 10_000) > 0 { continue }
        }
        if count <= 0 { return false }
        done += count
      }
      return true
    }
  }
}

/// Text made fit for what it is shown on: a terminal of some width and some alphabet, or a file.
struct TerminalText {
  /// Columns of the terminal; nil when it is none, or does not say.
  let columns: Int?
  /// Whether it shows more than ASCII. A file always does.
  let showsUnicode: Bool

  init(descriptor: Int32) {
    guard isatty(descriptor) == 1 else {
      (columns, showsUnicode) = (nil, true)
      return
    }
    let said = Int(cprocess_columns(descriptor))
    columns =
      said > 0 ? said : getenv("COLUMNS").flatMap { Int(String(cString: $0)) }.flatMap { $0 > 0 ? $0 : nil } ?? 80
    showsUnicode = Self.isUTF8Locale { name in getenv(name).map { String(cString: $0) } }
  }

  init(columns: Int?, showsUnicode: Bool) { (self.columns, self.showsUnicode) = (columns, showsUnicode) }

  /// Whether the locale's characters are UTF-8: the first of these variables that is not empty decides (POSIX 8.2).
  static func isUTF8Locale(_ variable: (String) -> String?) -> Bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty } ?? ""
    let lower = set.lowercased()
    return lower.contains("utf-8") || lower.contains("utf8")
  }

  /// The text as it may be shown, line by line: nothing in it steers a terminal.
  func shown(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      var line = String(line).replacing("\t", with: " ").printable
      if !showsUnicode { line = Self.ascii(line) }
      // A udev rule is there to be copied.
      guard let columns, columns >= 20, !line.contains("==\"") else { return line }
      return Self.wrapped(line, columns).joined(separator: "\n")
    }.joined(separator: "\n")
  }

  /// In ASCII: the marks of the matrix in the words that a report's lines begin with, and a question mark for the rest.
  private static func ascii(_ line: String) -> String {
    line.unicodeScalars.map { scalar -> String in
      switch scalar {
      case "\u{2705}", "\u{2713}": "good"
      case "\u{274C}", "\u{2717}": "BAD"
      case "\u{26A0}": "note"
      // Says that the mark before it is a picture.
      case "\u{FE0F}": ""
      case "\u{2013}": "-"
      default: scalar.isASCII ? String(scalar) : "?"
      }
    }.joined()
  }

  /// Broken between words. Further lines are indented like the first or, in a table, like its last column. A word longer
  /// than a line, or than the last column, is left whole on a line of its own, so that it can be copied.
  static func wrapped(_ line: String, _ columns: Int) -> [String] {
    guard width(line) > columns else { return [line] }
    var head = String(line.prefix { $0 == " " })
    // Two blanks stand between the columns of a table.
    if let gap = line.dropFirst(head.count).prefix(columns / 2).ranges(of: "  ").last {
      head = String(line[..<gap.upperBound] + line[gap.upperBound...].prefix { $0 == " " })
    }
    let indent = String(repeating: " ", count: width(head))
    let isTable = head.contains { $0 != " " }
    var lines: [String] = []
    var current = head
    var used = indent.count
    var isFresh = true
    for word in line.dropFirst(head.count).split(separator: " ") {
      let size = width(word)
      let hasNoRoom = indent.count + size > columns && (isTable || size <= columns)
      if isFresh ? isTable && lines.isEmpty && hasNoRoom : used + 1 + size > columns {
        lines.append(String(current.reversed().drop { $0 == " " }.reversed()))
        (current, used) = hasNoRoom ? ("", 0) : (indent, indent.count)
        isFresh = true
      }
      if !isFresh {
        current += " "
        used += 1
      }
      current += word
      used += size
      isFresh = false
    }
    // A prompt's last blank stands between it and the answer.
    if line.hasSuffix(" ") { current += " " }
    return lines + [current]
  }

  /// Columns that the text takes, nearly: East Asian characters and pictures take two, combining marks none.
  static func width(_ text: some StringProtocol) -> Int {
    text.unicodeScalars.reduce(0) { sum, scalar in
      switch scalar.properties.generalCategory {
      case .nonspacingMark, .enclosingMark: sum
      default: sum + (scalar.value >= 0x1100 && Self.isWide(scalar.value) ? 2 : 1)
      }
    }
  }

  private static func isWide(_ value: UInt32) -> Bool {
    switch value {
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
      0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
      true
    default: false
    }
  }
}

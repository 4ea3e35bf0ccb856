// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

extension Unicode.Scalar {
  /// What could steer a terminal, hides, or turns the writing direction.
  fileprivate var isUnprintable: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: true
    default: false
    }
  }

  fileprivate var printed: Unicode.Scalar { isUnprintable ? "\u{FFFD}" : self }

  fileprivate var escaped: String {
    guard isUnprintable, self != "\n", self != "\t", self != "\r" else { return String(self) }
    return String(self).utf16.map { "\\u" + Hex.encode([UInt8($0 >> 8), UInt8($0 & 0xff)]) }.joined()
  }
}

extension String {
  /// The text as it may be shown on a terminal: text from outside must not steer one. Controls, what is invisible and
  /// what turns the writing direction become U+FFFD.
  public var printable: String {
    String(String.UnicodeScalarView(unicodeScalars.map(\.printed)))
  }

  /// The same for a text of several lines, whose ends and tabulators stay.
  public var printableLines: String {
    String(String.UnicodeScalarView(unicodeScalars.map { $0 == "\n" || $0 == "\t" ? $0 : $0.printed }))
  }

  /// JSON text that means the same and cannot steer a terminal: what ``printable`` replaces is escaped instead.
  public var escapedForTerminal: String {
    guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
    return unicodeScalars.map(\.escaped).joined()
  }
}

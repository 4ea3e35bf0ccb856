// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

extension String {
  /// The text as it may be shown on a terminal: text from outside must not steer one. Controls, what is invisible and
  /// what turns the writing direction become U+FFFD.
  public var printable: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.map { scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: "\u{FFFD}"
          default: scalar
          }
        }))
  }
}

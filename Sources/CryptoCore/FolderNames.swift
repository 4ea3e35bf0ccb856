// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// What lies in a folder. A name is bytes to the system and text here: one that is no UTF-8 could not be named again, so it is set
/// apart and never repaired, because a repaired name is another file's.
package struct FolderNames {
  /// The names that are text, in order, without `.` and `..`.
  package private(set) var names: [String] = []
  /// The others, written so that a person can tell them; they name no file.
  package private(set) var odd: [String] = []

  /// Reads a folder; one that is not there is empty.
  package init(of folder: String) {
    guard let stream = opendir(folder) else { return }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      guard let name = String(validating: bytes, as: UTF8.self) else {
        odd.append(Self.shown(bytes))
        continue
      }
      if name != ".", name != ".." { names.append(name) }
    }
    names.sort()
    odd.sort()
  }

  /// Bytes that are no text, for a person: what is not plain ASCII as `\\xNN`.
  package static func shown(_ bytes: [UInt8]) -> String {
    bytes.prefix(200).map { byte in
      if (0x20...0x7E).contains(byte) { return String(UnicodeScalar(byte)) }
      let digits = String(byte, radix: 16, uppercase: true)
      return "\\x" + (digits.count == 1 ? "0" : "") + digits
    }.joined()
  }
}

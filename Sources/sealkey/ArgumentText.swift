// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc

/// An argument that is no text. Swift would repair it, and a repaired path is another file's: it is refused before anything is
/// done.
struct ArgumentNotUTF8: NamedError, Hashable {
  /// Counted from 1, the first word after the program's name.
  let position: Int
  /// The argument, its odd bytes as `\\xNN`.
  let shown: String

  let name = "argumentNotUTF8"
  let kind = FaultKind.usage
  var message: String { "Argument \(position) is not valid UTF-8, so nothing was done: \(shown)" }
  var next: String { "Type it in UTF-8; a file whose name is not can be renamed with mv." }

  /// The first of this process's arguments that is no text.
  static func first() -> ArgumentNotUTF8? {
    for position in 0..<max(0, Int(CommandLine.argc)) where position > 0 {
      guard let bytes = CommandLine.unsafeArgv[position] else { return nil }
      guard String(validatingCString: bytes) == nil else { continue }
      let raw = UnsafeRawBufferPointer(start: bytes, count: strlen(bytes))
      return ArgumentNotUTF8(position: position, shown: FolderNames.shown(Array(raw)))
    }
    return nil
  }
}

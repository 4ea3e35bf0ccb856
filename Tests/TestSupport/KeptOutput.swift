// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// What `sealkey` printed with `--json`, kept for the check against the published schemas: one file for each run in the
/// folder $SEALKEY_KEEP_JSON. First line the exit code, then the arguments with a NUL after each, a line end, the output.
enum KeptOutput {
  private static let folder = getenv("SEALKEY_KEEP_JSON").map { String(cString: $0) }

  static func keep(_ arguments: [String], _ code: Int32, _ out: String) {
    guard let folder, arguments.contains("--json") else { return }
    var template = Array("\(folder)/run-XXXXXX".utf8CString)
    let file = mkstemp(&template)
    guard file >= 0 else { return }
    let bytes = Array("\(code)\n\(arguments.map { "\($0)\0" }.joined())\n\(out)".utf8)
    _ = write(file, bytes, bytes.count)
    close(file)
  }
}

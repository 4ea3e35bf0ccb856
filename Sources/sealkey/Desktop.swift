// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc
import WebAuthnCore

/// The desktop around this program, where there is one.
enum Desktop {
  /// Whether there is a display to open a window on.
  static var isThere: Bool { isSet("DISPLAY") || isSet("WAYLAND_DISPLAY") }

  private static func isSet(_ name: String) -> Bool { getenv(name).map { $0.pointee != 0 } ?? false }

  /// The path of one of the desktop's programs; nil without a display or without the program.
  static func program(_ name: String) -> String? {
    guard isThere else { return nil }
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    return path.split(separator: ":").lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
      .first { access($0, X_OK) == 0 }
  }

  /// Shows a notification with notify-send when nobody watches a terminal on stderr. It is a courtesy: nothing waits for
  /// it and nothing depends on it.
  static func notify(_ text: String) {
    guard isatty(2) == 0, let program = program("notify-send") else { return }
    let arguments: [String] = [
      program, "--app-name=sealkey", "--urgency=critical", "--", "Security key", text.printable,
    ]
    var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    words.append(nil)
    defer { for word in words { free(word) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // It gets none of our streams: a result that somebody reads must end when this program ends.
    for descriptor: Int32 in 0...2 {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    var process = pid_t()
    posix_spawn(&process, program, &actions, nil, &words, environ)
  }
}

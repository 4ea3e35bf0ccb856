// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CProcess
import Glibc

/// What the process gives up before it touches a secret.
enum Hardening {
  /// No core dumps, no other program of the same user in its memory, no frames on stderr, as much locked memory as is
  /// allowed. Each is the best that can be had: none of it needs a privilege, and none of it can fail the run.
  static func apply() {
    // Standard streams that are closed are opened on nothing: no file or pipe of ours may take their numbers.
    while true {
      let descriptor = open("/dev/null", O_RDWR)
      if descriptor > 2 { close(descriptor) }
      if !(0...2).contains(descriptor) { break }
    }
    cprocess_keep_private()
    cprocess_raise_locked_memory()
    // libfido2 prints every frame when this is set, PIN blocks and hmac-secret among them.
    if getenv("FIDO_DEBUG") != nil {
      unsetenv("FIDO_DEBUG")
      Console.note("FIDO_DEBUG is set and was ignored: it prints what goes to and from the key.")
    }
    umask(0o077)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// How the process ends.
enum Ending {
  /// Ends it at once. `exit` would run the destructors of libraries while other threads are still inside of them: a thread
  /// that waits at a card reader then falls over in the middle of the PC/SC library, after everything was done and said.
  /// Nothing is lost by it: whatever is printed has been written, and whatever was secret was wiped by its owner.
  static func now(_ code: Int32) -> Never {
    // The leak checker, in a build that has it, looks when `exit` is called.
    if let symbol = dlsym(nil, "__lsan_do_leak_check") {
      unsafeBitCast(symbol, to: (@convention(c) () -> Void).self)()
    }
    _exit(code)
  }
}

// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

/// The end of the program, where a function has nothing to return: a hash that libcrypto will not compute, randomness
/// that it does not have, no memory for a secret. Going on with something else would be worse than stopping; a trap
/// would look like a fault of the program. Nothing waits on a key at these places, and no file is half written.
package enum Exhaustion {
  /// Says on stderr what was refused, under its name, and ends the process with exit code 1.
  package static func end(_ function: StaticString) -> Never {
    let text =
      "sealkey: cryptoFailed: \(function) failed: this computer is out of memory, or its OpenSSL does not work.\n"
    _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    // Not `_exit`, which is the orderly end: what waits for other threads there would wait for nothing here.
    _Exit(FaultKind.bad.rawValue)
  }
}

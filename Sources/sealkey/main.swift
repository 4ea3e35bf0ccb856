// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc

Hardening.apply()
let words = Array(CommandLine.arguments.dropFirst())
guard Hardening.hasDescriptors() else { Ending.now(CommandLineTool.fail(TooFewDescriptors(), words)) }
CryptoLibrary.begin()
if let odd = ArgumentNotUTF8.first() {
  // A shell that completes a line is told nothing.
  Ending.now(words.first == Completion.verb ? 0 : CommandLineTool.fail(odd, words))
}
let interrupts = Interrupts()
// The first thread waits here. A main that awaits would end it instead, and what watches memory from outside (valgrind)
// does not survive that.
Task.detached { Ending.now(await interrupts.run { await CommandLineTool.run(words) }) }
while true { pause() }

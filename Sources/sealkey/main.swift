// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import Glibc

Hardening.apply()
let interrupts = Interrupts()
let code = await interrupts.run { await CommandLineTool.run(Array(CommandLine.arguments.dropFirst())) }
exit(code)

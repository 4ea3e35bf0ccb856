#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# The program as it is given away: optimised, with the Swift runtime in it, without debug information. The same sources
# and the same compiler give the same bytes wherever they lie.
set -euo pipefail
cd "$(dirname "$0")/.."

swift build -c release --static-swift-stdlib --product sealkey -debug-info-format none \
  -Xswiftc -file-prefix-map -Xswiftc "$PWD=/usr/src/sealkey" \
  -Xcc "-ffile-prefix-map=$PWD=/usr/src/sealkey" -Xlinker --build-id=none "$@"
# The compiler's note to itself on what it was called with, folders and all; no linker is told to leave it out.
objcopy --remove-section=.swift_modhash .build/release/sealkey

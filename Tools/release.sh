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
# The compiler's note to itself on what it was called with, folders and all. It is blanked where it stands: tools that take a
# section out lay the program out anew, and lose what protects its tables (RELRO).
program=.build/release/sealkey
read -r offset size < <(readelf --section-headers --wide "$program" |
  sed -n 's/.* \.swift_modhash *PROGBITS *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p')
dd if=/dev/zero of="$program" bs=1 seek=$((16#$offset)) count=$((16#$size)) conv=notrunc status=none

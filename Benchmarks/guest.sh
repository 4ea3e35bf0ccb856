#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# libfido2's own tools speak to kernel devices only: so both programs meet the virtual key as a uhid device, in a
# throw-away guest. Prints a section of docs/BENCHMARKS.md on stdout.
set -euo pipefail
cd "$(dirname "$0")/.."

source Tests/Integration/guest.sh
boot ../../Benchmarks/guest.sh "$@"

# What is measured is the release build, when there is one.
if [ -x "$top/.build/release/sealkey" ]; then sealkey=$top/.build/release/sealkey; fi
cd "$(mktemp -d)"
plug key --uhid 0 >&2
wait_for 1
node=$(nodes)
python3 "$top/Benchmarks/guest.py" "$sealkey" "$node"
unplug $host

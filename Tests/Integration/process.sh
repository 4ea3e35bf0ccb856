#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# What the process does to itself, seen from outside (strace): no descriptor that a child would inherit, no core dump, no
# look from other programs, a private umask, locked secrets, and a FIDO_DEBUG that prints nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec python3 Tests/Integration/python/process.py "${SEALKEY:-$PWD/.build/debug/sealkey}"

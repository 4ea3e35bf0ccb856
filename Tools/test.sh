#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Builds and runs the tests. Warnings are errors here: `swift build` must be silent. When all tests are run, what the
# program printed in them is then checked against the published schemas.
set -euo pipefail
cd "$(dirname "$0")/.."

swift build --build-tests -Xswiftc -warnings-as-errors
if [ $# -gt 0 ] || [ -z "${SEALKEY_PYTHON:-}" ]; then
  exec swift test --skip-build -Xswiftc -warnings-as-errors "$@"
fi
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
SEALKEY_KEEP_JSON=$kept swift test --skip-build -Xswiftc -warnings-as-errors
"$SEALKEY_PYTHON" Tools/schemas.py "$kept"

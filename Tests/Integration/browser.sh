#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# A live peer that shares nothing with this program: headless Chromium with its virtual authenticator registers and signs
# what `sealkey request` asks, and `sealkey import` and `sealkey verify` take it. SEALKEY_NO_BROWSER=1 leaves it out.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ -n "${SEALKEY_NO_BROWSER:-}" ]; then
  echo 'Left out: SEALKEY_NO_BROWSER is set.'
  exit 0
fi
exec python3 -B Tests/Integration/python/browser_passkey.py "${SEALKEY:-$PWD/.build/debug/sealkey}"

#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# The virtual key as a contactless card: a real pcscd with vpcd's virtual reader, an independent PC/SC client, and sealkey
# itself. Needs no reader and no running daemon: each pcscd has a socket of its own, and the one whose card comes and goes
# a network of its own, because its driver listens on every address.
set -euo pipefail
cd "$(dirname "$0")/../.."

# pyscard comes from Debian, so the machine's own Python it is; the client comes from PyPI.
env=$PWD/.cache/python-card
if ! "$env/bin/python3" -c 'import fido2.pcsc, cryptography' 2>/dev/null; then
  echo 'Preparing a private Python with fido2 beside the machine'\''s pyscard.' >&2
  mkdir -p .cache
  rm -rf "$env"
  /usr/bin/python3 -m venv --system-site-packages "$env" >&2
  "$env/bin/python3" -m pip install -q --disable-pip-version-check 'fido2>=2.0,<3' cryptography >&2
fi
"$env/bin/python3" -B Tests/Integration/python/pcsc.py "$PWD/.build/debug/sealkey"
# Without root, in a user namespace.
exec unshare $([ "$(id -u)" = 0 ] || echo --map-root-user) --net \
  "$env/bin/python3" -B Tests/Integration/python/nfc.py "$PWD/.build/debug/sealkey"

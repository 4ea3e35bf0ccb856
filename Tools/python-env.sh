#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Prints the path of a Python that has the independent FIDO2 client, `cryptography` and `jsonschema`, making a private
# environment for it when the machine's own Python lacks them. $SEALKEY_PYTHON wins.
set -euo pipefail
cd "$(dirname "$0")/.."

has() { "$1" -c 'import fido2, cryptography, jsonschema' 2>/dev/null; }

if [ -n "${SEALKEY_PYTHON:-}" ]; then
  has "$SEALKEY_PYTHON" || { echo "python-env: $SEALKEY_PYTHON lacks the packages fido2, cryptography and jsonschema" >&2; exit 1; }
  echo "$SEALKEY_PYTHON"
  exit 0
fi
env=$PWD/.cache/python
if ! has "$env/bin/python3"; then
  echo 'Preparing a private Python with the packages fido2, cryptography and jsonschema (an independent client to check against).' >&2
  mkdir -p .cache
  "$env/bin/python3" -m pip --version >/dev/null 2>&1 || { rm -rf "$env" && python3 -m venv "$env" >&2; }
  "$env/bin/python3" -m pip install -q --disable-pip-version-check 'fido2>=2.0,<3' cryptography jsonschema >&2
fi
has "$env/bin/python3" || { echo 'python-env: the packages fido2, cryptography and jsonschema could not be installed' >&2; exit 1; }
echo "$env/bin/python3"

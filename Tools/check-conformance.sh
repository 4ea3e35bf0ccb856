#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Every test that docs/CONFORMANCE.md names must exist: quoted names are Swift tests or rows of their tables,
# `Suite.function` is a test function, "Client:" names are scenarios.
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/CONFORMANCE.md
tests=$(cat Tests/VirtualAuthenticatorTests/*.swift Tests/CTAPWireTests/*.swift Tests/WebAuthnCoreTests/*.swift)
missing=0 named=0

# A quoted name may run over the end of a line.
while IFS= read -r name; do
  named=$((named + 1))
  case "$tests" in
  *"@Test($name"* | *"@Suite($name"* | *"    $name,"* | *"Deviation($name"[,\)]*) ;;
  *) echo "$page names a test that is not there: $name" && missing=1 ;;
  esac
done < <(tr '\n' ' ' <"$page" | grep -oE '"[^"]+"' | tr -s ' ' | sort -u)

while IFS=. read -r suite function; do
  named=$((named + 1))
  file=$(grep -lE "struct $suite( |\$)" Tests/*Tests/*.swift) && grep -qE "func $function\\(" $file ||
    { echo "$page names a function that is not there: $suite.$function" && missing=1; }
done < <(grep -oE '`[A-Za-z0-9]+Tests\.[A-Za-z0-9]+`' "$page" | tr -d '`' | sort -u)

while IFS= read -r scenario; do
  named=$((named + 1))
  grep -q "^def $scenario(port):" Tests/Integration/python/client.py ||
    { echo "$page names a scenario that is not there: $scenario" && missing=1; }
done < <(grep -oE 'Client: [a-z0-9_]+' "$page" | sed 's/Client: //' | sort -u)

# A page that names next to nothing would pass for the wrong reason.
[ "$named" -ge 200 ] || { echo "$page names only $named tests" && missing=1; }
[ "$missing" = 0 ] || exit 1
echo "conformance: all $named tests that the page names are there"

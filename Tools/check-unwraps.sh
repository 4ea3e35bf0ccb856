#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# No force-unwrap, `try!` or `as!` in the sources: bytes from outside must never trap.
set -euo pipefail
cd "$(dirname "$0")/.."

# `!` right after an identifier, `)` or `]`, and not `!=`. Comments and string literals are cut first.
if git ls-files 'Sources/*.swift' | while IFS= read -r file; do
  sed -E 's@//.*$@@; s@"([^"\\]|\\.)*"@""@g' "$file" |
    grep -nE '(try!|as!|[]A-Za-z0-9_)]!($|[^=]))' | sed "s@^@$file:@"
done | grep .; then
  echo 'force-unwraps: the lines above'
  exit 1
fi
echo 'force-unwraps: none'

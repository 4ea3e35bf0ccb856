#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Every test that docs/QUIRKS-COVERED.md names exists, and no number is missing in it.
set -euo pipefail
cd "$(dirname "$0")/.."

doc=docs/QUIRKS-COVERED.md
bad=0
while read -r suite test; do
  # No pipe into grep -q: it may end the one before it with SIGPIPE.
  files=$(grep -rlE "(struct|extension) $suite\b" Tests --include='*.swift' || true)
  if [ -z "$files" ]; then
    echo "quirks: no suite $suite"
    bad=1
  elif [ -n "$test" ] && ! grep -qE "func $test\(" $files; then
    echo "quirks: no test $test in $suite"
    bad=1
  fi
done < <(grep -oE '`[A-Za-z0-9]+Tests(\.[A-Za-z0-9]+)?`' $doc | tr -d '`' | sort -u | tr '.' ' ')
for number in Q{1..72} D{1..16} D1b; do
  grep -qE "\b$number\b" $doc || { echo "quirks: $number is missing"; bad=1; }
done
[ $bad = 0 ] && echo 'quirks: every one has its place, every test named exists'
exit $bad

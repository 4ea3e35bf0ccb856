#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Two builds of the same sources in different folders, and whether they gave the same bytes: the program and the package.
#
#   Tools/reproducible.sh [FOLDER]      a FOLDER that is given is used and kept
set -euo pipefail
cd "$(dirname "$0")/.."

work=${1:-}
if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
for place in one another/and/deeper; do
  [ -d "$work/$place" ] || git clone -q . "$work/$place"
  (cd "$work/$place" && Tools/release.sh >"$work/log" 2>&1) || { tail -n 20 "$work/log" >&2; exit 1; }
done
bad=0
same() {
  if cmp "$1" "$2"; then echo "same bytes: $3 $(sha256sum <"$1" | cut -c 1-64)"; else bad=1; fi
}
same "$work/one/.build/release/sealkey" "$work/another/and/deeper/.build/release/sealkey" sealkey
first=$(cd "$work/one" && Tools/deb.sh)
second=$(cd "$work/another/and/deeper" && Tools/deb.sh)
same "$work/one/$first" "$work/another/and/deeper/$second" "$(basename "$first")"
[ $bad = 0 ] || echo 'reproducible: two builds differ' >&2
exit $bad

#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Every man page is good mdoc and can be shown. Without mandoc, in which case it says so, nothing is checked; in
# continuous integration it must be there.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v mandoc >/dev/null; then
  echo 'man pages: not checked, mandoc is missing'
  [ -z "${CI:-}" ]
  exit
fi
bad=0
for page in man/*.[15]; do
  # Other pages of ours need not be installed here.
  if mandoc -T lint -W style "$page" 2>&1 | grep -v 'referenced manual not found\|outdated mandoc.db'; then bad=1; fi
  [ "$(mandoc -T utf8 "$page" | wc -l)" -gt 20 ] || { echo "man pages: $page shows nothing"; bad=1; }
done
[ $bad = 0 ] && echo 'man pages: all good'
exit $bad

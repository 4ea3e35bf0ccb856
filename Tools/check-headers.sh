#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Every source file starts with the MPL-2.0 Exhibit A notice. Names each that does not, and fails.
set -euo pipefail
cd "$(dirname "$0")/.."

bad=0
while IFS= read -r -d '' file; do
  if ! head -n 6 "$file" | tr '\n' ' ' | grep -q 'terms of the Mozilla Public.*License, v\. 2\.0\..*mozilla\.org/MPL/2\.0/'; then
    echo "no MPL-2.0 notice: $file"
    bad=1
  fi
done < <(git ls-files -z --cached --others --exclude-standard -- \
  '*.swift' '*.h' '*.c' '*.sh' '*.py' '*.modulemap' 'Makefile' '.ci/run' ':!:LICENSE')
[ $bad = 0 ] && echo 'MPL-2.0 notices: all there'
exit $bad

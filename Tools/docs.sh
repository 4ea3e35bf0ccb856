#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# The documentation of every module, from what `swift build` left behind, into .build/docs. A link that leads nowhere fails.
set -euo pipefail
cd "$(dirname "$0")/.."

modules=.build/debug/Modules
[ -d "$modules" ] || { echo 'docs: nothing is built yet: make build' >&2; exit 1; }
target=$(swift -print-target-info | sed -n 's/.*"triple": "\([^"]*\)".*/\1/p' | head -n 1)
includes=()
for shim in Sources/C*/module.modulemap; do includes+=(-I "$(dirname "$shim")"); done
bad=0
for catalogue in Sources/*/*.docc; do
  module=$(basename "$catalogue" .docc)
  graphs=.build/docs/graphs/$module
  rm -rf "$graphs" && mkdir -p "$graphs"
  swift symbolgraph-extract -module-name "$module" -I "$modules" "${includes[@]}" -target "$target" \
    -minimum-access-level public -output-dir "$graphs" 2>/dev/null ||
    { echo "docs: $module could not be read" >&2; bad=1; continue; }
  docc convert "$catalogue" --additional-symbol-graph-dir "$graphs" --fallback-display-name "$module" \
    --fallback-bundle-identifier "$module" --output-path ".build/docs/$module.doccarchive" >".build/docs/$module.log" 2>&1 || bad=1
  # Of symbols' own comments only links inside the module are looked at: the others lead to modules documented beside it.
  if grep -B1 -A3 -E "^ *--> ([A-Za-z]+\.docc/)?[A-Za-z]+\.md:" ".build/docs/$module.log"; then bad=1; fi
done
[ $bad = 0 ] && echo "docs: $(ls -d .build/docs/*.doccarchive | wc -l) modules, every link of the catalogues leads somewhere"
exit $bad

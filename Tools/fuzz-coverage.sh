#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Which lines of the parsers the fuzzers' corpora reach (after Tools/fuzz.sh): a table for docs/FUZZING.md.
set -euo pipefail
cd "$(dirname "$0")/.."
corpus=$PWD/.build/fuzz-corpus
build=.build/fuzz-coverage
swift build --package-path Fuzz --scratch-path $build --product Replay -Xswiftc -profile-generate \
  -Xswiftc -profile-coverage-mapping >&2
replay=$build/debug/Replay
LLVM_PROFILE_FILE=$build/replay.profraw "$replay" "$corpus" >&2
llvm=$(dirname "$(readlink -f "$(command -v swift)")")
"$llvm/llvm-profdata" merge -o $build/replay.profdata $build/replay.profraw
"$llvm/llvm-cov" export -summary-only -instr-profile $build/replay.profdata "$replay" >$build/coverage.json
LLVM_PROFILE_FILE=/dev/null "$replay" list >$build/targets.txt
python3 - $build/coverage.json $build/targets.txt "$corpus/executions.tsv" <<'PYTHON'
import collections, json, os, sys
files = {f["filename"]: f["summary"]["lines"] for f in json.load(open(sys.argv[1]))["data"][0]["files"]}
runs = collections.Counter()
if os.path.exists(sys.argv[3]):
    for line in open(sys.argv[3]):
        name, count, _ = line.split("\t")
        runs[name] += int(count)
print("| Target | Executions | Lines reached | Of the sources |\n|---|---|---|---|")
for line in open(sys.argv[2]):
    name, _, *sources = line.split()
    found = [v for f, v in files.items() if any("/Sources/" + s in f for s in sources)]
    covered, total = sum(v["covered"] for v in found), sum(v["count"] for v in found)
    print("| %s | %s | %d of %d, %.1f %% | %s |" % (
        name, format(runs[name], ","), covered, total, 100 * covered / max(1, total), ", ".join(sources)))
PYTHON

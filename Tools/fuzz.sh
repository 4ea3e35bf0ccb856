#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Fuzzes each target for SECONDS (60), or the targets that are named. What is learnt stays in .build/fuzz-corpus, and the
# executions are counted there: Tools/fuzz.sh [SECONDS [TARGET...]]. Ends with 1 at the first finding.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
corpus=$PWD/.build/fuzz-corpus
mkdir -p "$corpus"

swift build -c release --package-path Fuzz --scratch-path .build/fuzz --product Fuzzer -Xswiftc -sanitize=fuzzer >&2
fuzzer=$PWD/.build/fuzz/release/Fuzzer
SEALKEY_FUZZ_SEEDS=$corpus/seeds "$fuzzer" >"$corpus/seeds.txt"
all=$(cut -d: -f1 "$corpus/seeds.txt")

# Swift's own handler of signals would keep libFuzzer from writing down the input.
export SWIFT_BACKTRACE=enable=no
for target in ${*:-$all}; do
  mkdir -p "$corpus/$target"
  # Coverage-guided, values traced; memory is bounded because no parser may be talked into more.
  if ! SEALKEY_FUZZ=$target "$fuzzer" "$corpus/$target" "$corpus/seeds/$target" -max_total_time="$seconds" \
    -len_control=20 -max_len=65536 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 -artifact_prefix="$corpus/$target-" \
    -verbosity=1 >"$corpus/$target.log" 2>&1; then
    grep -aE 'finding:|Fatal error|ERROR: libFuzzer|Test unit written' "$corpus/$target.log" || tail -20 "$corpus/$target.log"
    echo "$target: a finding; the input is beside $corpus/$target.log"
    exit 1
  fi
  runs=$(awk '/stat::number_of_executed_units/ { print $2 }' "$corpus/$target.log")
  printf '%s\t%s\t%s\n' "$target" "$runs" "$seconds" >>"$corpus/executions.tsv"
  awk -F'\t' -v target="$target" -v runs="$runs" '$1 == target { sum += $2 }
    END { printf "%-20s %12d executions now, %14d in all\n", target, runs, sum }' "$corpus/executions.tsv"
done

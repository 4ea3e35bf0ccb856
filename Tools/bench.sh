#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Builds what measures and writes docs/BENCHMARKS.md. The release build of sealkey must be there (make release).
set -euo pipefail
cd "$(dirname "$0")/.."
SEALKEY_PYTHON=$(Tools/python-env.sh)
export SEALKEY_PYTHON
for product in CoreBenchmark CapsuleBenchmark; do
  swift build -c release --package-path Benchmarks --scratch-path .build/benchmarks --product "$product" >&2
done
python3 Benchmarks/bench.py .build/release/sealkey .build/benchmarks/release/CoreBenchmark \
  .build/benchmarks/release/CapsuleBenchmark "${1:-docs/BENCHMARKS.md}"

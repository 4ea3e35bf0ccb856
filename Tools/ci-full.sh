#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Everything that is slow: the sanitizers, and both README commands on a clean Debian.
set -euo pipefail
cd "$(dirname "$0")/.."
export CI=${CI:-true}

step() { printf '\n== %s\n' "$*"; }
Tools/install-packages.sh integration
python=$(Tools/python-env.sh)
export SEALKEY_PYTHON=$python

# Everything takes many times as long here, so the scaled-down deadlines of the tests are scaled up again, and one module
# is tested after the other, so that a test that waits in real time is not kept waiting by the whole house. Leaks are not
# looked for: a command that ends by exit() leaves its objects to the system, and so does the test library.
export ASAN_OPTIONS=detect_leaks=0
for sanitizer in address thread; do
  step "tests under the $sanitizer sanitizer"
  swift build --build-tests --sanitize "$sanitizer" --scratch-path ".build/$sanitizer"
  for module in Tests/*Tests; do
    SEALKEY_SLOWNESS=8 swift test --skip-build --sanitize "$sanitizer" --scratch-path ".build/$sanitizer" \
      --filter "^$(basename "$module")\." | grep -v 'started\.$'
  done
done

step 'the main paths with the leak checker, and under valgrind'
SEALKEY=$PWD/.build/address/debug/sealkey Tests/Integration/memory.sh leaks
Tests/Integration/memory.sh valgrind

step 'every C call on the ceremonies failing once'
Tests/Integration/failures.sh

step 'what the process does to itself'
Tests/Integration/process.sh

step 'every parser under libFuzzer'
Tools/fuzz.sh "${SEALKEY_FUZZ_SECONDS:-60}"
Tools/fuzz-coverage.sh

step 'every fault at every packet and command, 1,000 ids on every model, 100 interruptions, every command and byte of a matrix run'
suites='FaultSweepTests|CardFaultTests|ListCountTests|LongListTests|SignalTests|PulledTests|MetadataTests|RunTests|ModelRunTests'
SEALKEY_FULL=1 Tools/test.sh --filter "$suites"
cat .build/fault-sweep.md

step 'kill -9, a full and a read-only disk at every system call of each store write'
SEALKEY_FULL=1 swift test --filter 'StoreCommandTests|CopyTests'

step 'every byte of a capsule, changed: both verifiers'
SEALKEY_EVERY_BYTE=1 swift test --filter SealFormatsTests.CapsuleByteTests

step 'a capsule of 100,000 events: memory, cores'
swift run -c release --package-path Benchmarks --scratch-path .build/benchmarks CapsuleBenchmark

step 'a real kernel: uhid, a USB gadget, fifty faults, interruptions, doctor'
make kernel

step 'prompts and PIN entry on real terminals'
make terminal

step 'the key as a card, and sealkey on a card reader, through a real pcscd'
make card

step 'documentation: every link leads somewhere'
make docs

step 'what commands print: nothing that the schemas do not name'
kept=$(mktemp -d)
SEALKEY_KEEP_JSON=$kept Tools/test.sh --filter sealkeyTests
"$python" Tools/schemas.py --strict "$kept"
rm -rf "$kept"

step 'two builds give the same bytes; the package is clean'
Tools/reproducible.sh
make deb
lintian --fail-on error,warning "$(Tools/deb.sh)"

step 'headless Chromium: the pages, and its own authenticator as a live peer'
make pages browser

command -v debootstrap >/dev/null || apt-get install -y -q --no-install-recommends debootstrap
step 'clean Debian 12: make demo, make test, both twice'
Tools/clean-room.sh bookworm bash -ec 'make demo && make demo && make test && make test'
step 'clean Debian 13: all of it'
make debian13
for release in bookworm trixie; do
  step "clean Debian $release: the package is built, installed and used"
  Tools/clean-room.sh "$release" Tools/try-package.sh
done
step 'all of ci-full passed'

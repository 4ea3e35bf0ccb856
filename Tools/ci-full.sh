#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Everything that is slow, in two lanes side by side. Every step is run, whatever became of the others; what one printed is
# kept in .build/ci-full/COMMIT. Run again, the steps that have passed on this very commit are not repeated, so that what
# was interrupted goes on.
#
#   Tools/ci-full.sh             all of it
#   Tools/ci-full.sh STEP...     these steps, here
set -euo pipefail
cd "$(dirname "$0")/.."
export CI=${CI:-true}
# The other lane takes its share of the machine, so deadlines that a test scales down are not scaled down as far.
export SEALKEY_SLOWNESS=${SEALKEY_SLOWNESS:-3}

# What is built in .build, and the kernel; what takes longest comes last.
here=(process failures kernel terminal card docs schemas pages store sweeps valgrind address leaks bytes)
# The clean machines, and what is built in a folder of its own.
apart=(packages package12 bookworm debian13 package13 fuzz coverage thread capsule)

title() {
  case $1 in
  address | thread) echo "tests under the $1 sanitizer" ;;
  leaks) echo 'the main paths with the leak checker' ;;
  valgrind) echo 'the main paths under valgrind' ;;
  failures) echo 'every C call on the ceremonies failing once' ;;
  process) echo 'what the process does to itself' ;;
  fuzz) echo 'every parser under libFuzzer' ;;
  coverage) echo 'what the fuzzers reach' ;;
  sweeps) echo 'every fault at every packet and command, 1,000 ids on every model, 100 interruptions, every byte of a matrix run' ;;
  store) echo 'kill -9, a full and a read-only disk at every system call of each store write' ;;
  bytes) echo 'every byte of a capsule, changed: both verifiers' ;;
  capsule) echo 'a capsule of 100,000 events: memory, cores' ;;
  kernel) echo 'a real kernel: uhid, a USB gadget, fifty faults, interruptions, doctor' ;;
  terminal) echo 'prompts and PIN entry on real terminals, every command' ;;
  card) echo 'the key as a card, and sealkey on a card reader, through a real pcscd' ;;
  docs) echo 'documentation: every link leads somewhere' ;;
  schemas) echo 'what commands print: nothing that the schemas do not name' ;;
  pages) echo 'headless Chromium: the pages, and its own authenticator as a live peer' ;;
  packages) echo 'two builds give the same bytes; the package is clean' ;;
  bookworm) echo 'clean Debian 12: make demo, make test, both twice' ;;
  debian13) echo 'clean Debian 13: all of it' ;;
  package12) echo 'clean Debian 12: the package is installed and used' ;;
  package13) echo 'clean Debian 13: the package is built, installed and used' ;;
  *) echo "ci-full: there is no step '$1'; there are: ${here[*]} ${apart[*]}" >&2 && return 2 ;;
  esac
}

# Everything takes many times as long under a sanitizer, so the scaled-down deadlines of the tests are scaled up again, and
# one module is tested after the other, so that a test that waits in real time is not kept waiting by the whole house. Leaks
# are not looked for: a command that ends by exit() leaves its objects to the system, and so does the test library.
sanitized() {
  export ASAN_OPTIONS=detect_leaks=0
  swift build --build-tests --sanitize "$1" --scratch-path ".build/$1"
  local module bad=0
  for module in Tests/*Tests; do
    SEALKEY_SLOWNESS=8 swift test --skip-build --sanitize "$1" --scratch-path ".build/$1" \
      --filter "^$(basename "$module")\." | grep -v 'started\.$' || bad=1
  done
  return $bad
}

sweeps() {
  SEALKEY_FULL=1 Tools/test.sh --filter \
    'FaultSweepTests|CardFaultTests|ListCountTests|LongListTests|SignalTests|PulledTests|MetadataTests|RunTests|ModelRunTests'
  cat .build/fault-sweep.md
}

schemas() {
  local kept
  kept=$(mktemp -d)
  SEALKEY_KEEP_JSON=$kept Tools/test.sh --filter sealkeyTests
  "$SEALKEY_PYTHON" Tools/schemas.py --strict "$kept"
  rm -rf "$kept"
}

built=$PWD/.build/ci-full/packages

packages() {
  rm -rf "$built"
  mkdir -p "$built"
  Tools/reproducible.sh "$built"
  lintian --fail-on error,warning "$built"/one/.build/deb/*.deb
  echo 'packages: the same bytes twice, and nothing to say for lintian'
}

# The package that was built here, if this machine is a Debian 12 itself.
package12() {
  if grep -qx 'VERSION_CODENAME=bookworm' /etc/os-release; then
    local package
    package=$(echo "$built"/one/.build/deb/*.deb)
    SEALKEY_ROOM_FILES=$package Tools/clean-room.sh bookworm Tools/try-package.sh "../$(basename "$package")"
  else
    Tools/clean-room.sh bookworm Tools/try-package.sh
  fi
}

step() {
  case $1 in
  address | thread) sanitized "$1" ;;
  leaks) SEALKEY=$PWD/.build/address/debug/sealkey Tests/Integration/memory.sh leaks ;;
  valgrind) make build && Tests/Integration/memory.sh valgrind ;;
  failures) make build && Tests/Integration/failures.sh ;;
  process) make build && Tests/Integration/process.sh ;;
  fuzz) Tools/fuzz.sh "${SEALKEY_FUZZ_SECONDS:-60}" ;;
  coverage) Tools/fuzz-coverage.sh ;;
  sweeps | schemas | packages | package12) "$1" ;;
  store) SEALKEY_FULL=1 Tools/test.sh --filter 'StoreCommandTests|CopyTests' ;;
  bytes) SEALKEY_EVERY_BYTE=1 Tools/test.sh --filter SealFormatsTests.CapsuleByteTests ;;
  capsule) swift run -c release --package-path Benchmarks --scratch-path .build/benchmarks CapsuleBenchmark ;;
  kernel | terminal | card | docs | debian13) make "$1" ;;
  pages) make pages browser ;;
  bookworm) Tools/clean-room.sh bookworm bash -ec 'make demo && make demo && make test && make test' ;;
  package13) Tools/clean-room.sh trixie Tools/try-package.sh ;;
  esac
}

prepare() {
  Tools/install-packages.sh integration
  Tools/install-packages.sh browser
  command -v debootstrap >/dev/null || apt-get install -y -q --no-install-recommends debootstrap
  SEALKEY_PYTHON=$(Tools/python-env.sh)
  export SEALKEY_PYTHON
}

if [ $# -gt 0 ]; then
  for name in "$@"; do title "$name" >/dev/null; done
  [ -n "${SEALKEY_PYTHON:-}" ] || prepare
  for name in "$@"; do
    printf '\n== %s\n' "$(title "$name")"
    step "$name"
  done
  exit
fi

prepare
commit=$(git rev-parse --short HEAD)
[ -z "$(git status --porcelain)" ] || commit+=-changed
kept=.build/ci-full/$commit
# What is not a commit can be anything.
[ "$commit" = "${commit%-changed}" ] || rm -rf "$kept"
mkdir -p "$kept"

# One after the other, each in a process of its own so that its first failure ends it.
lane() {
  local name begun code
  for name in "$@"; do
    [ ! -e "$kept/$name.passed" ] || continue
    begun=$SECONDS code=0
    timeout --kill-after=60 5400 Tools/ci-full.sh "$name" >"$kept/$name.log" 2>&1 </dev/null || code=$?
    local took
    took=$(printf '%dm%02d' $(((SECONDS - begun) / 60)) $(((SECONDS - begun) % 60)))
    if [ $code = 0 ]; then
      echo "$took" >"$kept/$name.passed"
      echo "passed in $took: $(title "$name")"
    else
      echo "FAILED in $took with $code: $(title "$name"); see $kept/$name.log"
    fi
  done
}

lane "${here[@]}" &
lane "${apart[@]}" &
wait

printf '\n== ci-full on %s\n' "$commit"
bad=0
for name in "${here[@]}" "${apart[@]}"; do
  if [ -e "$kept/$name.passed" ]; then
    printf '%s (%s): %s\n' "$(title "$name")" "$name" "$(cat "$kept/$name.passed")"
    # How it ended, in its own words.
    { grep -aE 'Test run with|passed|same bytes|executions now' "$kept/$name.log" || tail -n 1 "$kept/$name.log"; } |
      grep -avE '^✔ (Test|Suite) ' | tail -n 40 | cut -c 1-200 | sed 's/^/    /' || true
  else
    printf 'NOT PASSED: %s (%s)\n' "$(title "$name")" "$name"
    bad=1
  fi
done
[ $bad = 0 ] && echo "all of ci-full passed on $commit"
exit $bad

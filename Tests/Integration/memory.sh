#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# The main paths under valgrind (memory.sh valgrind), or with a build under the address sanitizer and its leak checker
# (memory.sh leaks; SEALKEY names the program). Nothing wrong and nothing lost, but for what leaks.supp and valgrind.supp explain.
set -euo pipefail
cd "$(dirname "$0")/../.."
kind=${1:-valgrind}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
data=$work/data
case $kind in
valgrind)
  sealkey=${SEALKEY:-$PWD/.build/debug/sealkey}
  # Only what is lost for certain counts: stacks of threads that still run look lost to it.
  # The log goes to a file of its own, because stderr is the conversation.
  check() {
    valgrind --quiet --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=99 \
      --suppressions=Tests/Integration/valgrind.supp --log-file="$work/log" "$sealkey" "$@" --data-dir "$data"
  }
  ;;
leaks)
  sealkey=${SEALKEY:-$PWD/.build/address/debug/sealkey}
  # Whole stacks, or a suppression could not name what it means.
  export ASAN_OPTIONS=detect_leaks=1:exitcode=99:fast_unwind_on_malloc=0:log_path=$work/log
  export LSAN_OPTIONS=suppressions=$PWD/Tests/Integration/leaks.supp:print_suppressions=0
  check() { "$sealkey" "$@" --data-dir "$data"; }
  ;;
*) echo 'usage: memory.sh valgrind|leaks' && exit 2 ;;
esac

# try COMMAND...: must end with $expected, 0 unless it says otherwise.
try() {
  local code=0
  check "$@" --json >"$work/out" 2>"$work/err" <"${input:-/dev/null}" || code=$?
  if [ "$code" -ge 99 ] || grep -qsE 'ERROR: |definitely lost|Invalid (read|write)|uninitialised' "$work"/log*; then
    echo "$kind: sealkey $*: exit code $code"
    cat "$work"/log* "$work/err"
    exit 1
  fi
  if [ "$code" != "${expected:-0}" ]; then
    echo "$kind: sealkey $*: exit code $code, not ${expected:-0}: not the path that is meant"
    cat "$work/out" "$work/err"
    exit 1
  fi
  rm -f "$work"/log*
  echo "$kind: sealkey $1: clean, exit code $code"
}

try list
try info --key virtual
try register --name Ada --endorse --device "$work/device" --key virtual --out "$work/ada"
try sign-in --key virtual --device "$work/second" --out "$work/in"
try verify "$work/ada"
try inspect "$work/ada"
# A key of her own for Emma, with a PIN.
data=$work/emma-data
printf '2468\n' >"$work/pin"
input=$work/pin try pin set --key virtual --pin-fd 0
input=$work/pin try sponsor --name Emma --key virtual --pin-fd 0 --out "$work/emma"
input=$work/pin try unlock "$work/emma" --key virtual --pin-fd 0
# Refusals: a key that is registered already, a wrong PIN.
expected=6 input=$work/pin try register --name Emma --key virtual --pin-fd 0
printf '1357\n' >"$work/pin"
expected=4 input=$work/pin try unlock "$work/emma" --key virtual --pin-fd 0
try demo --capsule "$work/estate" --stage open --people "$work/people"
data=$work/people/karin
# The owner's last sign of life, which a person would have looked at.
try capsule show "$work/estate"
seconds=$(grep -oE '"lastSignOfOwnerEpoch": *[0-9]+' "$work/out" | grep -oE -m 1 '[0-9]+' | head -n 1)
try tap --capsule "$work/estate" --yes --last-sign "$(date -u -d "@$seconds" +%Y-%m-%dT%H:%M:%SZ)" --key virtual
try capsule verify "$work/estate"
echo "$kind: all clean"

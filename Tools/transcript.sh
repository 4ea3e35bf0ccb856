#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Three people who never saw the program, following its documents with the built-in key: what they type and what they see.
# Prints docs/TRANSCRIPT.md.
#
#   Tools/transcript.sh [SEALKEY] >docs/TRANSCRIPT.md
set -euo pipefail

program=$(command -v "${1:-sealkey}") && program=$(readlink -f "$program")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
mkdir bin && ln -s "$program" bin/sealkey && PATH=$work/bin:$PATH

type() {
  echo "    \$ $*"
  { eval "$*" 2>&1 || echo "(exit code $?)"; } | sed 's/^/    /'
  echo
}

. /etc/os-release
cat <<TEXT
# Three first times

Real output of $(sealkey --version) on $PRETTY_NAME, from Tools/transcript.sh. \`--key virtual\` stands in for a key: a real one blinks where
it says "Touch the key now", and waits.

## An owner

TEXT
type sealkey list
type sealkey info --key virtual
type sealkey register --name Ada --out ada.json --key virtual
type sealkey endorse --identity ada.json --device laptop.device --out endorsement.json --key virtual
type sealkey verify endorsement.json --identity ada.json
type sealkey directory list
printf '## A key holder\n\nThe record of an estate came by mail. Here it is made up, with everybody in it.\n\n'
type sealkey demo --capsule rehearsal.capsule --stage open --people people --quiet
type sealkey capsule show rehearsal.capsule --data-dir people/karin
type sealkey tap --capsule rehearsal.capsule --key virtual --data-dir people/karin --into newer.capsule --out tap.json
# What Karin read in the line above, and would type her answer to.
sign=$(sealkey capsule show rehearsal.capsule --data-dir people/karin --json |
  python3 -c 'import json, sys, time; print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(json.load(sys.stdin)["byFirstSight"]["lastSignOfOwnerEpoch"])))')
type sealkey tap --capsule rehearsal.capsule --key virtual --data-dir people/karin --into newer.capsule --out tap.json --last-sign "$sign"
type "sealkey capsule verify newer.capsule | tail -n 2"
printf '## A tester\n\n'
type sealkey matrix run --tester Kim --key virtual
type "sealkey matrix verify matrix/practice/*.json | tail -n 1"

#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# All of it on Debian 13 (libfido2 1.15, OpenSSL 3.5, pcscd 2.3), in a clean room: what a newcomer types, the tests, lists
# and faults and interruptions once more with every case, the card through pcscd, and the kernel's wires in a guest that
# has the room's own libraries. Needs root.
#
# SEALKEY_FULL= (empty) leaves every case to Debian 12 and takes the sample here.
set -euo pipefail
cd "$(dirname "$0")/.."

exec Tools/clean-room.sh trixie bash -ec '
  full=${SEALKEY_FULL-1}
  unset SEALKEY_FULL
  step() { printf "\n== Debian 13: %s\n" "$*"; }
  step "make demo, make test"
  make demo
  make test

  step "lists, faults at every packet and command, interruptions"
  export SEALKEY_PYTHON=$(Tools/python-env.sh)
  suites="ListCountTests|LongListTests|FaultSweepTests|CardFaultTests|SignalTests"
  if [ -n "$full" ]; then SEALKEY_FULL=1 Tools/test.sh --filter "$suites"; else Tools/test.sh --filter "$suites"; fi
  cat .build/fault-sweep.md

  step "the card, through pcscd"
  make card
  dpkg-query -W -f "\${Package} \${Version}\n" libfido2-1 libssl3t64 libcbor0.10 libpcsclite1 pcscd
  step "the kernel"
  make kernel
'

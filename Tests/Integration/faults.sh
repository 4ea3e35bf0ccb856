#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# What goes wrong, on a real kernel: fifty chosen faults through uhid and ten through a USB gadget, and Ctrl-C or SIGTERM
# at twenty random moments of a touch wait. The tests are those of the package, run by the built test bundle in a throw-away
# guest; build it first (swift build --build-tests).
set -euo pipefail
cd "$(dirname "$0")/../.."

source Tests/Integration/guest.sh
boot faults.sh "$@"

usb_gadgets

# Everything takes longer in an emulated processor.
export SEALKEY_KERNEL=1 SEALKEY_SLOWNESS=${SEALKEY_SLOWNESS:-4}
bundle=$(echo .build/debug/*.xctest)
for filter in KernelFaultTests SignalTests.onTheKernel; do
  "$bundle" --testing-library swift-testing --filter "$filter" >said 2>&1 || { cat said; die "$filter"; }
  # A filter that finds nothing passes as well.
  grep -qE 'Test run with [1-9][0-9]* tests? .*passed' said || { cat said; die "$filter: no test was run"; }
  awk '/^# Fault sweep/ { on = 1 } /^[^#|A-Za-z0-9 ]/ { on = 0 } on' said
  ok "$filter: $(grep -E 'Test run with' said | sed 's/^[^T]*//')"
done
echo "$passed passed, 0 failed"

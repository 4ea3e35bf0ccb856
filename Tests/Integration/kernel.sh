#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# The whole job on a real kernel: the virtual key as a uhid device, found by udev, used through /dev/hidrawN by sealkey
# and by fido2-tools. Started on the host, it boots a throw-away guest and runs itself there.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ "${1:-}" != guest ]; then
  export VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sealkey-vm}
  # The checkout may itself be under /tmp, which the guest would otherwise hide.
  export VM_TMP=
  SEALKEY_PYTHON=$(Tools/python-env.sh)
  export SEALKEY_PYTHON
  exec Tests/Integration/run-in-vm.sh -r host -e SEALKEY_PYTHON -t "${VM_LIMIT:-900}" -- bash "$PWD/Tests/Integration/kernel.sh" guest
fi

sealkey=$PWD/.build/debug/sealkey
source Tests/Integration/guest.sh
top=$PWD
cd "$(mktemp -d)"

"$sealkey" list | grep -q 'No security key' || die 'a key before there is one'
ok 'no key, and it says so'
hotplug --uhid
plug key --uhid 300
wait_for 1
node=$(nodes)
without_permission "$node"
ceremonies "$node"

fido2-token -L | grep -q "$node" || die 'fido2-token -L'
fido2-token -I "$node" | grep -q FIDO_2_1 || die 'fido2-token -I'
unplug $host
plug other --uhid 300
wait_for 1
node=$(nodes)
head -c 32 /dev/urandom | base64 >challenge
{ cat challenge; echo example.org; echo user; head -c 16 /dev/urandom | base64; } >param
fido2-cred -M -h -i param "$node" >cred || die 'fido2-cred -M'
fido2-cred -V -h -i cred -o pk es256 2>/dev/null || fido2-cred -V -i cred >pk || die 'fido2-cred -V'
{ cat challenge; echo example.org; sed -n 5p cred; head -c 32 /dev/urandom | base64; } >aparam
fido2-assert -G -h -i aparam "$node" >assert || die 'fido2-assert -G'
[ "$(sed -n 5p assert | base64 -d | wc -c)" = 32 ] || die 'hmac-secret'
ok 'fido2-token -L and -I, fido2-cred -M, fido2-assert -G with hmac-secret'
unplug $host
wait_for 0

plug python --uhid 100
wait_for 1
node=$(nodes)
for scenario in info ceremonies hmac_secret; do
  "$SEALKEY_PYTHON" -B "$top/Tests/Integration/python/client.py" "$node" $scenario >said || die "python fido2, $scenario: $(cat said)"
done
ok 'python fido2 over the node: getInfo, makeCredential, getAssertion, hmac-secret'
unplug $host
wait_for 0
plug token --uhid 100
wait_for 1
"$SEALKEY_PYTHON" -B "$top/Tests/Integration/python/token_pin.py" "$(nodes)" || die 'fido2-token -S and -C'
ok 'fido2-token -S and -C: a PIN is set and changed'
unplug $host
wait_for 0

two_keys --uhid --uhid
plug key --uhid 60000
wait_for 1
interrupted KILL
echo "$passed passed, 0 failed"

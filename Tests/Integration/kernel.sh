#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# The whole job on a real kernel: the virtual key as a uhid device, found by udev, used through /dev/hidrawN by sealkey
# and by fido2-tools. Started on the host, it boots a throw-away guest and runs itself there.
set -euo pipefail
cd "$(dirname "$0")/../.."

source Tests/Integration/guest.sh
boot kernel.sh "$@"

cd "$(mktemp -d)"

"$sealkey" list | grep -q 'No security key' || die 'a key before there is one'
ok 'no key, and it says so'
hotplug --uhid
plug key --uhid 300
wait_for 1
node=$(nodes)
without_permission "$node"
ceremonies "$node"
matrix_run "$node"

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

independent_clients --uhid
two_keys --uhid --uhid
plug key --uhid 60000
wait_for 1
interrupted KILL
echo "$passed passed, 0 failed"

#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# The virtual key as a true USB device: the kernel's gadget framework on one side, usbhid and hidraw on the other, in a
# throw-away guest. Beside it a uhid device: two keys at once.
set -euo pipefail
cd "$(dirname "$0")/../.."

source Tests/Integration/guest.sh
boot gadget.sh "$@"

usb_gadgets

cd "$(mktemp -d)"

hotplug --usb-gadget
plug other --usb-gadget 300
wait_for 1
node=$(nodes)
fido2-token -L | grep -q "$node.*sealkey virtual key" || die "USB strings: $(fido2-token -L)"
readlink -f "/sys/class/hidraw/${node#/dev/}" | grep -q dummy_hcd || die 'not a USB device'
ok "a true USB device at $node, with its strings"
fido2-token -I "$node" | grep -q FIDO_2_1 || die 'fido2-token -I'
head -c 32 /dev/urandom | base64 >challenge
{ cat challenge; echo example.org; echo user; head -c 16 /dev/urandom | base64; } >param
fido2-cred -M -h -i param "$node" >cred || die 'fido2-cred -M'
{ cat challenge; echo example.org; sed -n 5p cred; head -c 32 /dev/urandom | base64; } >aparam
fido2-assert -G -h -i aparam "$node" >assert || die 'fido2-assert -G'
[ "$(sed -n 5p assert | base64 -d | wc -c)" = 32 ] || die 'hmac-secret'
ok 'fido2-token -I, fido2-cred -M, fido2-assert -G with hmac-secret'
ssh-keygen -q -t ecdsa-sk -N '' -f id_sk || die 'ssh-keygen -t ecdsa-sk'
echo data >data
ssh-keygen -q -Y sign -f id_sk -n file data || die 'ssh-keygen -Y sign'
{ printf 'me '; cat id_sk.pub; } >allowed
ssh-keygen -q -Y verify -f allowed -I me -n file -s data.sig <data >/dev/null || die 'ssh-keygen -Y verify'
ok 'ssh-keygen makes an ecdsa-sk key, signs with it and verifies'
unplug $host
wait_for 0
[ -z "$(ls /sys/kernel/config/usb_gadget)" ] || die 'the gadget was left behind'
ok 'pulled out: no device, and nothing left in configfs'

plug key --usb-gadget 300
wait_for 1
node=$(nodes)
without_permission "$node"
ceremonies "$node"
matrix_run "$node"
unplug $host
wait_for 0
independent_clients --usb-gadget
two_keys --usb-gadget --uhid
plug key --usb-gadget 60000
wait_for 1
interrupted INT
echo "$passed passed, 0 failed"

#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# The virtual key as a true USB device: the kernel's gadget framework on one side, usbhid and hidraw on the other, in a
# throw-away guest. Beside it a uhid device: two keys at once.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ "${1:-}" != guest ]; then
  export VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sealkey-vm}
  # The checkout may itself be under /tmp, which the guest would otherwise hide.
  export VM_TMP=
  exec Tests/Integration/run-in-vm.sh -r host -t "${VM_LIMIT:-400}" -- bash "$PWD/Tests/Integration/gadget.sh" guest
fi

modprobe dummy_hcd
modprobe libcomposite
modprobe usb_f_hid
mkdir -p /sys/kernel/config
mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config

sealkey=$PWD/.build/debug/sealkey
work=$(mktemp -d)
cd "$work"
passed=0
ok() { passed=$((passed + 1)); echo "ok: $*"; }
die() { echo "FAILED: $*"; exit 1; }
nodes() { timeout 20 fido2-token -L | wc -l; }
# wait_for N: until that many keys are listed.
wait_for() { for _ in $(seq 200); do [ "$(nodes)" = "$1" ] && return; sleep 0.1; done; die "not $1 keys: $(fido2-token -L)"; }

"$sealkey" virtual run --usb-gadget --data-dir "$work/one" --virtual-touch 300 >ready & gadget=$!
wait_for 1
node=$(fido2-token -L | cut -d: -f1)
fido2-token -L | grep -q 'sealkey virtual key' || die "USB strings: $(fido2-token -L)"
readlink -f "/sys/class/hidraw/${node#/dev/}" | grep -q dummy_hcd || die 'not a USB device'
"$sealkey" list --json | grep -q '"simulated":true' || die 'a gadget must be marked simulated'
ok "a true USB device at $node, with its strings, marked simulated"
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
"$sealkey" register --name Ada --key "$node" --out ada.json --quiet || die register
"$sealkey" endorse --identity ada.json --key "$node" --device one.device --out e.json --quiet || die endorse
"$sealkey" tap --identity ada.json --key "$node" --estate E --epoch 1 --claim C --head '' --out t.json --quiet || die tap
for f in ada e t; do "$sealkey" verify $f.json --identity ada.json >/dev/null || die "verify $f"; done
ok 'register, endorse and tap; all three verify'

"$sealkey" virtual run --uhid --data-dir "$work/two" >ready2 & uhid=$!
wait_for 2
ok 'two keys at once'
kill -INT $uhid
wait $uhid || true
wait_for 1

kill -INT $gadget
wait $gadget || true
wait_for 0
[ -z "$(ls /sys/kernel/config/usb_gadget)" ] || die 'the gadget was left behind'
ok 'pulled out: no device, and nothing left in configfs'

"$sealkey" virtual run --usb-gadget --data-dir "$work/one" --virtual-touch 60000 >ready & gadget=$!
wait_for 1
"$sealkey" tap --identity ada.json --estate E --epoch 1 --claim C --head '' --no-uv --json >gone 2>talk & tap=$!
for _ in $(seq 200); do grep -q 'Touch the key' talk && break; sleep 0.1; done
kill -INT $gadget
wait $gadget || true
code=0
wait $tap || code=$?
grep -q '"name":"unplugged"' gone || die "unplugged in mid-touch gave $code: $(cat gone)"
ok 'pulled out in mid-touch: the tap ends, named unplugged'
echo "$passed passed, 0 failed"

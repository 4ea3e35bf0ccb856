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
  exec Tests/Integration/run-in-vm.sh -r host -t "${VM_LIMIT:-400}" -- bash "$PWD/Tests/Integration/kernel.sh" guest
fi

sealkey=$PWD/.build/debug/sealkey
work=$(mktemp -d)
cd "$work"
passed=0
ok() { passed=$((passed + 1)); echo "ok: $*"; }
die() { echo "FAILED: $*"; exit 1; }
member() { python3 -c 'import json,sys; v=json.load(sys.stdin)
for k in sys.argv[1].split("."): v=v[int(k)] if k.isdigit() else v[k]
print(v)' "$1"; }

"$sealkey" list | grep -q 'No security key' || die 'a key before there is one'
ok 'no key, and it says so'
"$sealkey" virtual run --uhid --data-dir "$work/key" --virtual-touch 300 >ready & host=$!
for _ in $(seq 100); do grep -q ready ready && [ -n "$("$sealkey" list --json | grep -o '"path"' || true)" ] && break; sleep 0.1; done
node=$("$sealkey" list --json | member keys.0.path)
[ -c "$node" ] || die "no node: $node"
"$sealkey" list --json | grep -q '"simulated":true' || die 'a uhid key must be marked simulated'
"$sealkey" list | grep -q 'sealkey virtual key' || die 'the name is wrong'
ok "list shows $node with its name, marked simulated"
"$sealkey" info --key "$node" --json | grep -q '"versions"' || die info
ok 'info'
"$sealkey" register --name Ada --out ada.json 2>talk || { cat talk; die register; }
[ "$(grep -c 'Touch the key now' talk)" = 1 ] || { cat talk; die 'one touch prompt'; }
ok 'register, with one touch prompt'
"$sealkey" endorse --identity ada.json --device one.device --out e.json --quiet || die endorse
"$sealkey" tap --identity ada.json --estate E --epoch 1 --claim C --head '' --out t.json --quiet || die tap
for f in ada e t; do
  "$sealkey" verify $f.json --identity ada.json >/dev/null || die "verify $f"
  grep -q '"simulated" : true' $f.json || die "$f is not marked simulated"
done
ok 'endorse and tap; all three verify and are marked simulated'

fido2-token -L | grep -q "$node" || die 'fido2-token -L'
fido2-token -I "$node" | grep -q FIDO_2_1 || die 'fido2-token -I'
head -c 32 /dev/urandom | base64 >challenge
{ cat challenge; echo example.org; echo user; head -c 16 /dev/urandom | base64; } >param
fido2-cred -M -h -i param "$node" >cred || die 'fido2-cred -M'
fido2-cred -V -h -i cred -o pk es256 2>/dev/null || fido2-cred -V -i cred >pk || die 'fido2-cred -V'
{ cat challenge; echo example.org; sed -n 5p cred; head -c 32 /dev/urandom | base64; } >aparam
fido2-assert -G -h -i aparam "$node" >assert || die 'fido2-assert -G'
[ "$(sed -n 5p assert | base64 -d | wc -c)" = 32 ] || die 'hmac-secret'
ok 'fido2-token -L and -I, fido2-cred -M, fido2-assert -G with hmac-secret'

printf '2468\n' >pin
"$sealkey" pin set --pin-fd 7 --quiet 7<pin || die 'pin set'
if printf '1357\n' | "$sealkey" register --name Bob --pin-fd 0 --json >wrong 2>/dev/null; then die 'a wrong PIN was taken'; fi
[ "$(member error.name <wrong)" = pinInvalid ] || die "$(cat wrong)"
"$sealkey" register --name Bob --pin-fd 7 --quiet --out bob.json 7<pin || die 'register with a PIN'
"$sealkey" inspect "$(python3 -c 'import json;print(json.load(open("bob.json"))["evidence"]["attestationObjectHex"])')" | grep -q 'UV: 1' || die UV
ok 'PIN set; a wrong one refused by name; with the right one UV is set'

kill -INT $host; wait $host || true
"$sealkey" list | grep -q 'No security key' || die 'the key is still there'
"$sealkey" virtual run --uhid --data-dir "$work/key" --virtual-touch 60000 >ready & host=$!
for _ in $(seq 100); do [ -n "$("$sealkey" list --json | grep -o '"path"' || true)" ] && break; sleep 0.1; done
"$sealkey" tap --identity ada.json --estate E --epoch 1 --claim C --head '' --no-uv --json >cancelled 2>talk & tap=$!
for _ in $(seq 100); do grep -q 'Touch the key' talk && break; sleep 0.1; done
kill -INT $tap
code=0; wait $tap || code=$?
[ $code = 130 ] || die "Ctrl-C gave $code"
[ "$(member error.name <cancelled)" = cancelled ] || die "$(cat cancelled)"
"$sealkey" info --json | grep -q '"versions"' || die 'the key does not answer after a cancel'
ok 'Ctrl-C during a touch: cancelled, 130, and the key answers the next command'
"$sealkey" tap --identity ada.json --estate E --epoch 1 --claim C --head '' --no-uv --json >gone 2>talk & tap=$!
for _ in $(seq 100); do grep -q 'Touch the key' talk && break; sleep 0.1; done
kill -KILL $host
code=0; wait $tap || code=$?
[ "$(member error.name <gone)" = unplugged ] || die "unplugged: $(cat gone)"
ok 'a key that goes away during a touch is named: unplugged'
echo "$passed passed, 0 failed"

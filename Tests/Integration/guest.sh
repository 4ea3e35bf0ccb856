# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# What a guest checks of any wire. Sourced by kernel.sh (uhid) and gadget.sh (USB) from the top of the checkout.

# boot SCRIPT [guest]: on the host, boots a throw-away guest that runs the script, and does not come back.
boot() {
  [ "${2:-}" != guest ] || return 0
  export VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sealkey-vm}
  # The checkout may itself be under /tmp, which the guest would otherwise hide.
  export VM_TMP=
  SEALKEY_PYTHON=$(Tools/python-env.sh)
  export SEALKEY_PYTHON
  exec Tests/Integration/run-in-vm.sh -r host -e SEALKEY_PYTHON -t "${VM_LIMIT:-1500}" -- bash "$PWD/Tests/Integration/$1" guest
}

# usb_gadgets: makes this guest a computer that can be a USB device too, plugged into itself.
usb_gadgets() {
  modprobe dummy_hcd
  modprobe libcomposite
  modprobe usb_f_hid
  mkdir -p /sys/kernel/config
  mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
}

top=$PWD
sealkey=$top/.build/debug/sealkey
passed=0
ok() { passed=$((passed + 1)); echo "ok: $*"; }
die() { echo "FAILED: $*"; exit 1; }
member() { python3 -c 'import json,sys; v=json.load(sys.stdin)
for k in sys.argv[1].split("."): v=v[int(k)] if k.isdigit() else v[k]
print(v)' "$1"; }
nodes() { "$sealkey" list --json | grep -o '"path":"[^"]*"' | cut -d'"' -f4; }
count() { nodes | grep -c . || true; }
# wait_for N: until that many keys are listed.
wait_for() {
  local tries
  for tries in $(seq 200); do [ "$(count)" = "$1" ] && return; sleep 0.1; done
  die "not $1 keys: $("$sealkey" list)"
}
# wait_text FILE TEXT
wait_text() {
  local tries
  for tries in $(seq 200); do grep -q "$2" "$1" 2>/dev/null && return; sleep 0.1; done
  die "never said '$2': $(cat "$1")"
}
# plug NAME HOW TOUCH [option...]: hosts a virtual key; its process is $host and its state is NAME.
plug() {
  local name=$1 how=$2 touch=$3
  shift 3
  "$sealkey" virtual run "$how" --data-dir "$PWD/$name" --virtual-touch "$touch" "$@" >"$name.ready" & host=$!
}
unplug() { kill -INT "$1"; wait "$1" || true; }

# without_permission NODE: what somebody sees who may not open it.
without_permission() {
  local nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent)
  "${nobody[@]}" "$sealkey" list >denied 2>&1 || true
  grep -q "$1" denied || die "list without permission: $(cat denied)"
  "${nobody[@]}" "$sealkey" info --key "$1" --json >denied.json 2>denied || true
  [ "$(member error.name <denied.json)" = notPermitted ] || die "info without permission: $(cat denied.json denied)"
  grep -qE 'udev|group' denied.json || die "no way out given: $(cat denied.json)"
  ok 'a node without permission is shown, named notPermitted, with what fixes it'
}

# ceremonies NODE: from nothing to a released tap, on a key without a PIN and with one.
ceremonies() {
  local f
  "$sealkey" list --json | grep -q '"simulated":true' || die 'must be marked simulated'
  "$sealkey" list | grep -q 'sealkey virtual key' || die 'the name is wrong'
  "$sealkey" info --key "$1" --json | grep -q '"versions"' || die info
  ok "list shows $1 with its name, marked simulated; info"
  "$sealkey" register --key "$1" --name Ada --out ada.json 2>talk || { cat talk; die register; }
  [ "$(grep -c 'Touch the key now' talk)" = 1 ] || { cat talk; die 'one touch prompt'; }
  ok 'register, with one touch prompt'
  "$sealkey" endorse --key "$1" --identity ada.json --device one.device --out e.json --quiet || die endorse
  "$sealkey" tap --key "$1" --identity ada.json --estate E --epoch 1 --claim C --head '' --out t.json --quiet || die tap
  for f in ada e t; do
    "$sealkey" verify $f.json --identity ada.json >/dev/null || die "verify $f"
    grep -q '"simulated" : true' $f.json || die "$f is not marked simulated"
  done
  ok 'endorse and tap; all three verify and are marked simulated'
  "$sealkey" sign-in --key "$1" --device two --out s.json --quiet || die sign-in
  "$sealkey" verify s.json --identity ada.json >/dev/null || die 'verify sign-in'
  ok 'sign-in: found among the known identities, a second device endorsed'
  printf '2468\n' >pin
  "$sealkey" pin set --key "$1" --pin-fd 7 --quiet 7<pin || die 'pin set'
  if printf '1357\n' | "$sealkey" register --key "$1" --data-dir bob.d --name Bob --pin-fd 0 --json >wrong 2>/dev/null; then
    die 'a wrong PIN was taken'
  fi
  [ "$(member error.name <wrong)" = pinInvalid ] || die "$(cat wrong)"
  "$sealkey" register --key "$1" --data-dir bob.d --name Bob --pin-fd 7 --quiet --out bob.json 7<pin || die 'register with a PIN'
  "$sealkey" inspect "$(member evidence.attestationObjectHex <bob.json)" | grep -q 'UV: 1' || die UV
  ok 'PIN set; a wrong one refused by name; with the right one UV is set'
  "$sealkey" sponsor --key "$1" --data-dir emma.d --name Emma --out emma.json --pin-fd 7 --quiet 7<pin || die sponsor
  "$sealkey" unlock emma.json --key "$1" --data-dir unlock.d --pin-fd 7 --json --quiet 7<pin >unlocked || die "unlock: $(cat unlocked)"
  ok 'hmac-secret: a sponsored key is registered, proven and unlocked'
}

# matrix_run NODE: the whole run of a key with the PIN in the file `pin`; the record stands up, and enters no sheet.
matrix_run() {
  local record verb
  "$sealkey" matrix run --key "$1" --data-dir matrix.d --runs runs --practice practice --pin-fd 7 --quiet --json 7<pin >run.json ||
    die "matrix run: $(cat run.json)"
  python3 - <<'PY' || die "matrix run: $(cat run.json)"
import json
run = json.load(open('run.json'))
assert run['simulated'] is True
bad = {s['step']: s['result'] for s in run['steps'] if s['result'] != 'works'}
assert not bad and len(run['steps']) == 11, bad
lines = {s['step']: s.get('telemetry', '') for s in run['steps']}
assert lines['signIn'] == 'verify: OK (flags=UP|UV)', lines
PY
  record=$(member file <run.json)
  "$sealkey" matrix verify "$record" >verified || die "matrix verify: $(cat verified)"
  [ ! -d runs ] || [ -z "$(ls runs)" ] || die 'a simulated run among the real ones'
  ok "matrix run over $1: every step works; matrix verify takes the record"
  # Copied among the real runs, and there with its mark taken off.
  mkdir -p runs
  cp "$top/docs/SECURITY_KEY_TEST_MATRIX.md" sheet.md
  cp "$record" runs/real.json
  for verb in fill check; do
    if "$sealkey" matrix $verb sheet.md --runs runs --json >refused; then die "matrix $verb took a simulated record"; fi
    grep -qE 'simulated' refused || die "matrix $verb: $(cat refused)"
  done
  sed 's/"simulated" : true/"simulated" : false/' "$record" >runs/real.json
  if "$sealkey" matrix fill sheet.md --runs runs --json >refused; then die 'matrix fill took a record whose mark was taken off'; fi
  cmp -s sheet.md "$top/docs/SECURITY_KEY_TEST_MATRIX.md" || die 'the sheet was changed'
  rm -r runs
  ok 'matrix fill and check refuse it, with its mark and without; the sheet is as it was'
}

# interrupted HOW: Ctrl-C, and the plug pulled, while the key waits for a touch. $host must be running with --virtual-touch never.
interrupted() {
  local tap code=0
  "$sealkey" tap --identity ada.json --estate E --epoch 1 --claim C --head '' --no-uv --json >cancelled 2>talk & tap=$!
  wait_text talk 'Touch the key'
  kill -INT $tap
  wait $tap || code=$?
  [ $code = 130 ] || die "Ctrl-C gave $code"
  [ "$(member error.name <cancelled)" = cancelled ] || die "$(cat cancelled)"
  "$sealkey" info --json | grep -q '"versions"' || die 'the key does not answer after a cancel'
  ok 'Ctrl-C during a touch: cancelled, 130, and the key answers the next command'
  "$sealkey" tap --identity ada.json --estate E --epoch 1 --claim C --head '' --no-uv --json >gone 2>talk & tap=$!
  wait_text talk 'Touch the key'
  # uhid: its process dies. A USB gadget: unbound, as a pulled plug is.
  kill -"$1" "$host"
  wait "$host" || true
  wait $tap || true
  [ "$(member error.name <gone)" = unplugged ] || die "unplugged: $(cat gone)"
  ok 'a key that goes away during a touch is named: unplugged'
}

# hotplug HOW: what `watch` says of a key that comes and goes.
hotplug() {
  local watcher
  wait_for 0
  "$sealkey" watch --json >events & watcher=$!
  "$sealkey" watch >words & local second=$!
  sleep 0.5
  plug hot "$1" 100
  wait_text events keyAppeared
  unplug "$host"
  wait_text events keyGone
  kill -INT $watcher $second
  wait $watcher || true
  wait $second || true
  python3 - <<'P' || die "watch: $(cat events)"
import json
events = [json.loads(line) for line in open('events')]
kinds = [e['event'] for e in events if e['event'].startswith('key')]
assert kinds == ['keyAppeared', 'keyGone'], kinds
assert all(e['path'].startswith('/dev/hidraw') for e in events if e['event'].startswith('key'))
P
  grep -q '^key here' words && grep -q '^key gone' words || die "watch, in words: $(cat words)"
  ok 'hotplug: watch tells of a key that comes and goes, in words and as JSON lines'
}

# two_keys HOW1 HOW2: both wait, the touched one is used, the other is let go at once.
two_keys() {
  local first second
  plug quiet "$1" 60000; first=$host
  wait_for 1
  local untouched; untouched=$(nodes)
  plug touched "$2" 300; second=$host
  wait_for 2
  "$sealkey" register --name Eve --out eve.json 2>talk || { cat talk; die 'register with two keys'; }
  "$sealkey" verify eve.json >/dev/null || die 'verify with two keys'
  "$sealkey" info --key "$untouched" --json | grep -q '"versions"' || die 'the untouched key does not answer'
  ok 'two keys, one touched: that one is used, the other answers the next command'
  unplug $first
  unplug $second
}

# independent_clients HOW: python fido2, and fido2-token where it asks a person, on a fresh key each.
independent_clients() {
  local node scenario
  plug python "$1" 100
  wait_for 1
  node=$(nodes)
  for scenario in info ceremonies hmac_secret; do
    "$SEALKEY_PYTHON" -B "$top/Tests/Integration/python/client.py" "$node" $scenario >said || die "python fido2, $scenario: $(cat said)"
  done
  ok 'python fido2 over the node: getInfo, makeCredential, getAssertion, hmac-secret'
  unplug $host
  wait_for 0
  plug token "$1" 100
  wait_for 1
  "$SEALKEY_PYTHON" -B "$top/Tests/Integration/python/token_pin.py" "$(nodes)" || die 'fido2-token -S and -C'
  ok 'fido2-token -S and -C: a PIN is set and changed'
  unplug $host
  wait_for 0
}

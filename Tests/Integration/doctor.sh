#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# What `sealkey doctor` says on a real kernel: of a node without permission, with the rules installed and udev at work, and
# when the node is given. Started on the host, it boots a throw-away guest and runs itself there.
set -euo pipefail
cd "$(dirname "$0")/../.."

source Tests/Integration/guest.sh
boot doctor.sh "$@"

cd "$(mktemp -d)"
chmod 755 .
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups env "HOME=$PWD" "$sealkey" doctor --data-dir "$PWD/none")
# finding NAME FILE: the finding of that name, as JSON; nothing when there is none.
finding() {
  python3 -c 'import json, sys
a = json.load(open(sys.argv[2]))
for f in a["findings"] + [f for k in a["keys"] for f in k["findings"]]:
    if f["name"] == sys.argv[1]: print(json.dumps(f)); break' "$1" "$2"
}
has() { [ -n "$(finding "$1" "$2")" ] || { cat "$2"; die "$3: no $1"; }; }
can() { [ "$(member "answers.$1.can" <"$2")" = "$3" ] || { cat "$2"; die "can $1 is not $3"; }; }

# Nothing of this machine's own rules.
mkdir -p rules.none
for folder in /etc/udev/rules.d /lib/udev/rules.d; do [ ! -d $folder ] || mount --bind rules.none $folder; done

"${nobody[@]}" --json >none.json || true
has noKeyOnUSB none.json 'no key'
can tap none.json False
ok 'no key: it says so, and that nothing can be done'

plug key --uhid auto
wait_for 1
node=$(nodes)
chmod 600 "$node"
"${nobody[@]}" --json >denied.json || true
has nodeNotPermitted denied.json 'a node without permission'
has udevRulesMissing denied.json 'a node without permission'
finding nodeNotPermitted denied.json | grep -q 'KERNELS==' || die 'a uhid node has no USB attributes'
can register denied.json False
"${nobody[@]}" >denied || true
grep -q 'You can tap: no, because' denied || { cat denied; die 'the last words'; }
ok 'a node without permission: named, with the rule that fits a device off the USB bus'

# The rules that come with sealkey, with udev at work.
rule=$(finding nodeNotPermitted denied.json | sed 's/.*plug the key in again: \(.*\)"}$/\1/' | sed 's/\\"/"/g')
cp "$top/Packaging/70-sealkey.rules" rules.none/
echo "$rule" >rules.none/70-security-key.rules
"${nobody[@]}" --json >given.json || true
has nodeNotGiven given.json 'with the rules, in a session that is not at the screen'
finding udevRulesForSome given.json | grep -q rules || die 'the rules were not read'
can register given.json False
ok 'with the rules installed: what is missing is the session'
udevd=$(ls /lib/systemd/systemd-udevd /usr/lib/systemd/systemd-udevd 2>/dev/null | head -n 1 || true)
if [ -n "$udevd" ]; then
  # The guest's root is a folder of this machine, in which udev's programs would do nothing.
  export SYSTEMD_IGNORE_CHROOT=1
  "$udevd" --daemon
  udevadm control --reload
  udevadm trigger --action=add --settle "/sys/class/hidraw/$(basename "$node")"
  udevadm info "$node" | tee info | grep -q 'TAGS=.*:uaccess:' || { cat info rules.none/*key.rules; die 'the rule does not match'; }
  udevadm test "/sys/class/hidraw/$(basename "$node")" 2>&1 | grep -iE 'invalid|unknown key|error' | grep -i sealkey \
    && die 'udev does not like the rules'
  ok 'udev takes the rules, and the rule that doctor wrote tags this very node'
fi

# What logind would do for whoever sits at the screen.
chmod 606 "$node"
"${nobody[@]}" --json >usable.json || true
has nodeUsable usable.json 'a node that may be used'
can register usable.json True
can tap usable.json True
can unlock usable.json False
ok 'a node that may be used: yes to register and tap, no to unlock without a PIN'
unplug $host
echo "doctor: all $passed checks passed"

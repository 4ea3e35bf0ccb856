#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Types every command of sealkey into a terminal, at 80 and 40 columns and with TERM=dumb: the touches it asks for, the PIN
# and other answers it asks for, its exit code, that no line is wider than the terminal, and that no PIN is ever shown.
# Two virtual keys wait half a second for their touch: one of this computer, one behind a UDP port.
#
#   Tests/Integration/everycommand.sh [path of sealkey]
set -euo pipefail
cd "$(dirname "$0")/../.."
. Tests/Integration/screen.sh

here=$work/here
driven=$work/driven
known=$("$sealkey" help --json | grep -o '"name": *"[^"]*", *"summary"' | cut -d'"' -f4 | sort -u)

# drive CODE TOUCHES COMMAND [WORDS ANSWER]...: an answer is typed when its words are seen.
drive() {
  local code=$1 touches=$2 command=$3 asked
  shift 3
  run "$command"
  while [ $# -gt 1 ]; do
    until_seen "$1"
    if [ "$2" = ctrl-c ]; then tmux send-keys C-c; else type_in "$2"; fi
    shift 2
    [ $# = 0 ] || sleep 0.2
  done
  ends_with "$code"
  asked=$(screen | tr '\n' ' ' | tr -s ' ' | { grep -o 'Touch the key now' || true; } | wc -l)
  [ "$asked" = "$touches" ] || die "$touches touches wanted, $asked asked for: $command"
  if screen | grep -qF -- "$secret"; then die "the PIN is on the screen: $command"; fi
  check_width
  # What was driven: the verb, by its place behind the program's name.
  set -- $command
  echo "$2" >>"$driven"
  ok "$command"
}
pin='tries left): '
# host N: a key of somebody else, on ${port[N]}.
host() {
  local folder=$work/other$1
  if [ -n "${hosted[$1]:-}" ]; then kill "${hosted[$1]}" && wait "${hosted[$1]}" || true; fi
  rm -rf "$folder"
  "$sealkey" virtual run --udp 0 --virtual-touch 500 --data-dir "$folder" --json >"$folder.ready" 2>/dev/null &
  hosted[$1]=$!
  for _ in $(seq 100); do
    port[$1]=$(grep -o '"port": *[0-9]*' "$folder.ready" | grep -o '[0-9]*$') && return
    sleep 0.1
  done
  die 'another key is not ready'
}
hosted=() port=()
trap 'if [ ${#hosted[@]} -gt 0 ]; then kill "${hosted[@]}"; wait "${hosted[@]}" || true; fi; leave' EXIT

for place in 80:xterm 40:xterm 40:dumb; do
  begin "${place%:*}" "${place#*:}"
  echo "== $columns columns, TERM=${place#*:}"
  rm -rf "$here" "$driven" "$work/.local"
  mkdir -p "$here" "$work/bin"
  ln -sf "$sealkey" "$work/bin/sealkey"
  run "cd $here; PATH=$work/bin:\$PATH"
  until_seen 'code=0.'
  # Other people's keys: Karin's, one that is going to be Ada's spare, one for Emma.
  host 1
  host 2
  host 3
  v='--key virtual --virtual-touch 500'
  o="--key udp:${port[1]}" o2=udp:${port[2]} o3="--key udp:${port[3]}"

  for verb in $known; do drive 0 0 "sealkey $verb --help"; done
  rm -f "$driven"
  drive 0 0 'sealkey help'
  drive 0 0 'sealkey help reset'
  drive 0 0 'sealkey list'
  drive 130 0 'sealkey watch' 'no readers' ctrl-c
  drive 0 0 "sealkey info $v"
  drive 1 0 "sealkey doctor $v"
  drive 0 1 "sealkey register --name Ada --out ada.json $v"
  drive 0 1 "sealkey register --name Karin --out karin.json $o"
  drive 0 0 'sealkey device make laptop'
  drive 0 1 "sealkey endorse --identity ada.json --device laptop --out endorsement.json $v"
  drive 0 0 'sealkey verify endorsement.json --identity ada.json'
  drive 0 0 "sealkey pin set $v" 'New PIN of' "$secret" 'The same PIN again' "$secret"
  drive 0 0 "sealkey pin status $v"
  drive 0 0 "sealkey pin change $v" "$pin" "$secret" 'New PIN of' "$secret-2" 'The same PIN again' "$secret-2"
  drive 0 2 "sealkey sign-in --device desk --out sign-in.json $v" "$pin" "$secret-2"
  drive 0 1 "sealkey meet --me Ada --device laptop --friend karin.json --out friendship.json $o"
  drive 0 1 "sealkey receipt --giver Ada --device laptop --receiver Karin --item 'The blue box' --out receipt.json $o"
  drive 0 3 "sealkey backup add --identity Ada --label spare $v --new-key $o2 --out spare.json" "$pin" "$secret-2"
  drive 0 1 "sealkey backup revoke --identity Ada --label spare --out revocation.json $v" "$pin" "$secret-2"
  drive 0 1 "sealkey revoke-device --identity Ada --device desk --out no-desk.json $v" "$pin" "$secret-2"
  drive 0 0 "sealkey pin set $o3" 'New PIN of' "$secret" 'The same PIN again' "$secret"
  drive 0 3 "sealkey sponsor --name Emma --out emma.json $o3" "$pin" "$secret"
  drive 0 1 "sealkey unlock emma.json $o3" "$pin" "$secret"
  drive 0 0 'sealkey directory list'
  drive 0 0 'sealkey directory pin Ada' 'type: same' same
  drive 0 0 'sealkey directory export --out people.json'
  drive 0 0 'sealkey directory import people.json'
  drive 0 0 'sealkey store check'
  drive 0 0 'sealkey device list'
  drive 0 0 'sealkey device export laptop'
  drive 0 0 'sealkey device passphrase set laptop' 'New passphrase of' "$secret" 'The same once more' "$secret"
  drive 0 0 'sealkey device passphrase change laptop' 'Passphrase of' 'not the one' 'Try 2 of 3' "$secret" \
    'New passphrase of' "$secret-2" 'The same once more' "$secret-2"
  drive 0 0 'sealkey demo --dir demo'
  drive 0 0 'sealkey demo --capsule rehearsal.capsule --stage open --people people'
  drive 0 0 'sealkey capsule show rehearsal.capsule --data-dir people/karin'
  drive 0 0 'sealkey capsule verify rehearsal.capsule --data-dir people/karin'
  drive 0 1 "sealkey tap --capsule rehearsal.capsule $v --data-dir people/karin --into newer.capsule --out tap.json" 'type: tap' tap
  drive 0 1 "sealkey confirm --capsule rehearsal.capsule $v --data-dir people/ruth --into other.capsule --out confirmation.json"
  drive 0 0 'sealkey capsule merge newer.capsule other.capsule --out both.capsule --data-dir people/karin'
  drive 0 0 'sealkey request register --name Eve --pending eve.pending --out options.json'
  drive 1 0 'sealkey import options.json --pending eve.pending --out eve.json'
  drive 0 0 'sealkey inspect a0'
  drive 0 0 "sealkey commitment identity.delete.v1 nonce=$(printf '00%.0s' {1..32})"
  drive 0 0 "sealkey passkeys list $v" "$pin" "$secret-2"
  drive 3 0 "sealkey fingerprints list $v"
  drive 0 0 "sealkey settings show $v"
  drive 0 0 "sealkey settings min-pin-length 6 $v" 'Type yes to go on' yes "$pin" "$secret-2"
  drive 0 9 "sealkey matrix run --tester Kim $v --data-dir matrix --practice practice"
  drive 0 0 'sealkey matrix verify practice/*.json'
  drive 0 0 'sealkey matrix diff practice/*.json practice/*.json'
  drive 0 0 'sealkey matrix report --out page.html --practice practice'
  drive 0 0 'sealkey virtual models'
  drive 130 0 'sealkey virtual run --udp 0' 'ready udp' ctrl-c
  drive 0 1 "sealkey delete --identity Ada --out marker.json $v" 'type: delete' delete "$pin" "$secret-2"
  # Nothing was left out.
  for verb in $known; do grep -qxF -- "$verb" "$driven" || die "$verb was not driven"; done
done
echo "every command: all $passed checks passed"

#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Drives sealkey as a person does, under tmux at 80 and 40 columns and with TERM=dumb, against the virtual key with a touch
# that comes late: what is asked, when, and what is left behind. Real pinentry-curses and pinentry-tty are driven too.
#
#   Tests/Integration/terminal.sh [path of sealkey]
set -euo pipefail
cd "$(dirname "$0")/../.."
. Tests/Integration/screen.sh

key="--key virtual --data-dir $work/data"
tries_left() { "$sealkey" pin status $key --json | grep -o '"triesLeft":[0-9]*' | cut -d: -f2; }
set_pin() { printf '%s\n' "$secret" >"$work/pin"; "$sealkey" pin set $key --pin-fd 7 --quiet 7<"$work/pin" >/dev/null; rm "$work/pin"; }
never_seen() { if screen | grep -qF -- "$secret"; then die 'the PIN is on the screen'; fi; }

for place in 80:xterm 40:xterm 80:dumb 40:dumb; do
  begin "${place%:*}" "${place#*:}"
  at="at $columns columns, TERM=${place#*:}"

  run "$sealkey register --name Ada --out $work/ada.json $key --virtual-touch 2500 --timeout 25"
  until_seen 'Touch the key now'
  screen | grep -q 'code=[0-9]' && die 'it was asked for too late'
  ends_with 0
  [ "$(screen | tr '\n' ' ' | tr -s ' ' | grep -o 'Touch the key now (25 seconds)' | wc -l)" = 1 ] || die 'not exactly one call'
  check_width
  ok "a touch is asked for while the key waits for it, once $at"

  run "$sealkey register --name Eve --key virtual --data-dir $work/eve --virtual-touch 60000 --timeout 3 --no-store --out $work/eve.json"
  ends_with 5
  until_seen timedOut
  check_width
  ok "a touch that does not come is said $at"

  run "$sealkey pin set $key"
  until_seen '4 to 63 characters'
  until_seen 'New PIN of'
  type_in "$secret"
  until_seen 'The same PIN again'
  type_in "$secret"
  ends_with 0
  never_seen
  check_width
  ok "the rules are told before a PIN is typed, twice $at"

  run "$sealkey passkeys list $key"
  until_seen '8 tries left): '
  type_in 0000
  until_seen 'That PIN was wrong: 7 tries left.'
  type_in "$secret"
  ends_with 0
  never_seen
  check_width
  [ "$(tries_left)" = 8 ] || die 'tries are not what they were'
  ok "a wrong PIN is said with the tries that are left, and asked for again $at"

  run "$sealkey passkeys list $key"
  until_seen 'tries left): '
  type_in ''
  ends_with 4
  until_seen pinEmpty
  run "$sealkey passkeys list $key"
  until_seen 'tries left): '
  tmux send-keys C-c
  ends_with 130
  run 'stty -a | tr " ;" "\n\n" | grep -x echo'
  until_seen 'echo code=0.'
  [ "$(tries_left)" = 8 ] || die 'a try was spent'
  check_width
  ok "an empty PIN and Ctrl-C cost nothing, and the terminal shows what is typed again $at"

  run "$sealkey settings always-uv on $key"
  until_seen 'Type yes to go on. (--yes answers this.)'
  type_in no
  ends_with 6
  check_width
  ok "a setting is explained, and no is no $at"
done

# The PIN while it is in use, and afterwards.
begin 80 xterm
set_pin
run "$sealkey register --name Ada --out $work/ada2.json $key --virtual-touch 4000"
until_seen 'tries left): '
type_in "$secret"
until_seen 'Touch the key now'
process=$(pgrep -f "^$sealkey register --name Ada --out $work/ada2.json" | head -n 1)
tr '\0' '\n' <"/proc/$process/environ" >"$work/environ"
tr '\0' '\n' <"/proc/$process/cmdline" >"$work/cmdline"
ps -eww -o args= | grep -vF grep >"$work/ps"
ends_with 0
never_seen
run 'history -a'
ends_with 0
grep -q 'passkeys\|register' "$work/history" || die 'the history was not written'
if grep -rqF -- "$secret" "$work"; then die "the PIN is in: $(grep -rlF -- "$secret" "$work")"; fi
if journalctl -n 2000 2>/dev/null | grep -qF -- "$secret"; then die 'the PIN is in the journal'; fi
ok 'the PIN is in no environment, argument, history, log or file, while it is used and afterwards'

for program in pinentry-curses pinentry-tty; do
  command -v "$program" >/dev/null || die "$program is not installed"
  for columns in 80 60; do
    begin "$columns" xterm
    set_pin
    run "$sealkey passkeys list $key --pinentry $program"
    until_seen 'tries left'
    until_seen 'PIN:'
    type_in 0000
    until_seen 'That PIN was wrong: 7 tries left.'
    type_in "$secret"
    ends_with 0
    never_seen
    [ "$(tries_left)" = 8 ] || die 'tries are not what they were'
    run "$sealkey passkeys list $key --pinentry $program"
    until_seen 'PIN:'
    type_in ''
    ends_with 4
    until_seen pinEmpty
    run "$sealkey passkeys list $key --pinentry $program"
    until_seen 'PIN:'
    # Curses has a button for it, the second after the field; tty takes an end of file.
    if [ "$program" = pinentry-curses ]; then tmux send-keys Tab Tab Enter; else tmux send-keys C-d; fi
    if [ "$program" = pinentry-curses ]; then ends_with 5; else until_seen 'code='; fi
    [ "$(tries_left)" = 8 ] || die 'a try was spent'
    run 'stty -a | tr " ;" "\n\n" | grep -x echo'
    until_seen 'echo code=0.'
    ok "$program at $columns columns: a wrong PIN, the right one, none, and cancel"
  done
done
echo "terminal: all $passed checks passed"

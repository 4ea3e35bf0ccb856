#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# A terminal that a script sits at, for terminal.sh and everycommand.sh: `begin` opens it, `run` types a command, `until_seen`
# reads the screen. Sets $work (a folder that is gone at the end), $sealkey and $secret.
sealkey=$(realpath "${1:-.build/debug/sealkey}")
work=$(mktemp -d)
terminals=0
socket=$work/tmux
tmux() { command tmux -S "$socket" -f /dev/null "$@"; }
leave() {
  tmux kill-server 2>/dev/null || true
  # The shell in there still writes its history.
  for _ in $(seq 50); do rm -rf "$work" 2>/dev/null && return; sleep 0.1; done
}
trap leave EXIT
passed=0
ok() { passed=$((passed + 1)); echo "ok: $*"; }
die() { echo "FAILED: $*"; echo '--- the screen:'; screen | grep -v '^$' || true; exit 1; }
# What is never to be seen anywhere. Nothing in here or on a command line spells it whole.
secret=$(printf '%s%s' kestrel -4711)

# begin COLUMNS TERM: a shell in a new terminal of that width.
begin() {
  tmux kill-server 2>/dev/null || true
  # A server that is still ending is not taken for the new one.
  terminals=$((terminals + 1))
  socket=$work/tmux$terminals
  rm -rf "$work/data" "$work"/*.json
  columns=$1
  tmux new-session -d -x "$columns" -y 60 "env -i PATH=$PATH HOME=$work HISTFILE=$work/history LANG=C.UTF-8 PS1='ready> ' bash --norc -i"
  until_seen 'ready>'
  run "export TERM=$2"
  until_seen 'ready>'
}
# Lines that tmux had to break are joined again: what is too long then was not broken by sealkey.
screen() { tmux capture-pane -p -J -S - | sed 's/ *$//'; }
# until_seen TEXT: waits until words are on the screen, however they are broken.
until_seen() {
  local tries
  for tries in $(seq 600); do
    if screen | tr '\n' ' ' | tr -s ' ' | grep -qF -- "$1"; then return; fi
    sleep 0.1
  done
  die "never showed '$1'"
}
type_in() { tmux send-keys -l -- "$1"; tmux send-keys Enter; }
# run COMMAND: on a clean screen, its exit code behind it.
run() {
  local tries
  # What the last command left is not taken for this one's.
  for tries in $(seq 100); do
    tmux send-keys -R
    tmux clear-history
    if ! screen | grep -q 'code=[0-9]'; then break; fi
    sleep 0.1
  done
  type_in "clear; $1; echo \"code=\$?.\""
}
ends_with() { until_seen "code=$1."; }
# Whole sentences, broken between words: no line is wider than the terminal unless it is one word.
check_width() {
  screen | grep -v '^<\|clear;' | awk -v w="$columns" 'length($0) > w && $0 !~ /^ *[^ ]+$/ { print; bad = 1 } END { exit bad }' \
    || die "wider than $columns columns"
}

#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# The completions in the three shells themselves: bash, zsh and fish run in a terminal, lines are typed up to a point, the
# tabulator is pressed, and the terminal is read.
#
#   Tests/Integration/completions.sh [SEALKEY]
set -euo pipefail
cd "$(dirname "$0")/../.."

program=$(readlink -f "${1:-.build/debug/sealkey}")
for needed in tmux bash zsh fish; do
  command -v "$needed" >/dev/null || { echo "completions: $needed is missing" >&2; exit 1; }
done
work=$(mktemp -d)
socket=sealkey-completions-$$
# A shell that has lost its terminal may still write for a moment (fish reads man pages in the background).
leave() {
  local i
  tmux -L "$socket" kill-server 2>/dev/null || true
  for i in {1..50}; do rm -rf "$work" 2>/dev/null && return; sleep 0.1; done
  echo "completions: $work could not be removed" >&2
}
trap leave EXIT
mkdir -p "$work/bin" "$work/home/.config/fish/completions" "$work/data" "$work/here/some folder" "$work/zsh"
ln -s "$program" "$work/bin/sealkey"
cp completions/sealkey.fish "$work/home/.config/fish/completions/"
cp completions/_sealkey "$work/zsh/"
touch "$work/here/identity.json" "$work/here/estate.capsule"
export XDG_DATA_HOME=$work/data HOME=$work/home PATH=$work/bin:$PATH LC_ALL=C.UTF-8
unset ZDOTDIR BASH_ENV ENV
sealkey register --name Ada --key virtual --out "$work/ada.json" --quiet
sealkey device make laptop --quiet >/dev/null

cat >"$work/bashrc" <<RC
source '$PWD/completions/sealkey.bash'
PS1='> '; bind 'set bell-style none'; bind 'set completion-query-items 0'; bind 'set page-completions off'
RC
cat >"$work/home/.zshrc" <<RC
fpath=('$work/zsh' \$fpath); autoload -Uz compinit; compinit -u -d '$work/zcompdump'; PS1='> '; setopt nobeep
LISTMAX=1000; unsetopt prompt_cr prompt_sp
RC
echo "function fish_prompt; echo -n '> '; end; set -g fish_greeting; set -g fish_autosuggestion_enabled 0" \
  >"$work/home/.config/fish/config.fish"

screen() { tmux -L "$socket" capture-pane -p -J -t "$shell"; }
bad=0
# What is typed, how often the tabulator is pressed, and what the terminal must then show.
try() {
  local typed=$1 tabs=$2 wanted=$3 i
  # Until the prompt stands alone: a shell that is still at work on the last line takes no key.
  for i in {1..30}; do
    tmux -L "$socket" send-keys -t "$shell" C-c
    tmux -L "$socket" send-keys -t "$shell" C-l
    for _ in {1..10}; do [ "$(screen | grep . | tr -d ' \n')" = '>' ] && break 2; sleep 0.1; done
  done
  tmux -L "$socket" send-keys -t "$shell" -l "$typed"
  for i in $(seq "$tabs"); do sleep 0.3; tmux -L "$socket" send-keys -t "$shell" Tab; done
  for i in {1..150}; do
    if screen | grep -qF -- "$wanted"; then echo "$shell: '$typed' gives '$wanted'"; return; fi
    sleep 0.1
    # Where there are several, bash lists them only at a Tab after which nothing more could be added.
    if [ "$tabs" -gt 1 ] && [ $((i % 20)) = 0 ]; then tmux -L "$socket" send-keys -t "$shell" Tab; fi
  done
  echo "completions: in $shell '$typed' does not give '$wanted'; the terminal shows:" >&2
  screen | grep . >&2 || true
  bad=1
}

commands() {
  case $1 in
    bash) echo "bash --noprofile --rcfile $work/bashrc -i" ;;
    zsh) echo 'zsh -i' ;;
    fish) echo 'fish -i' ;;
  esac
}
for shell in ${SHELLS:-bash zsh fish}; do
  tmux -L "$socket" -f /dev/null new-session -d -s "$shell" -x 120 -y 60 -c "$work/here" "$(commands "$shell")"
  for i in {1..300}; do screen | grep -q '^>' && break; sleep 0.1; done
  try 'sealkey reg' 1 'sealkey register '
  try 'sealkey register --na' 1 'sealkey register --name'
  try 'sealkey register --' 2 '--endorse'
  try 'sealkey capsule m' 1 'sealkey capsule merge '
  try 'sealkey capsule verify es' 1 'sealkey capsule verify estate.capsule'
  try 'sealkey verify iden' 1 'sealkey verify identity.json'
  try 'sealkey tap --capsule es' 1 'sealkey tap --capsule estate.capsule'
  try 'sealkey sign-in --device lap' 1 'sealkey sign-in --device laptop'
  try 'sealkey delete --identity Ad' 1 'sealkey delete --identity Ada'
  try 'sealkey --key virtual:fin' 1 'sealkey --key virtual:final'
  try 'sealkey --key virtual:pa' 1 'sealkey --key virtual:padded-signature'
  try 'sealkey virtual run --model calls' 1 'sealkey virtual run --model calls-right-pin-wrong'
  try 'sealkey info --key virt' 2 'virtual:'
  try 'sealkey --quiet settings alw' 1 'sealkey --quiet settings always-uv'
  try 'sealkey settings always-uv o' 2 'off'
  try 'sealkey commitment release.au' 1 'sealkey commitment release.authorize.v1'
  try 'sealkey demo --stage auth' 1 'sealkey demo --stage authorized'
  try 'sealkey help res' 1 'sealkey help reset'
  try 'sealkey demo --dir so' 1 'sealkey demo --dir some\ folder'
  try 'sealkey request tap --cl' 1 'sealkey request tap --claim'
done
[ $bad = 0 ] && echo 'completions: bash, zsh and fish complete what they should'
exit $bad

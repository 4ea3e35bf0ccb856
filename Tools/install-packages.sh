#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Installs the Debian packages that a task needs and this machine lacks, saying which and why.
#
#   Tools/install-packages.sh build|release|test|integration|browser
#
# Without root it installs nothing: it says what is missing and the one command an administrator would run.
set -euo pipefail

group=${1:-build}
# name|why
build=(
  'pkg-config|finds the C libraries'
  'libfido2-dev|speaks CTAP to security keys'
  'libssl-dev|every cryptographic primitive'
  'libcbor-dev|reads and writes CBOR'
  'libudev-dev|finds keys on the USB bus'
  'libunistring-dev|brings PINs into one Unicode form'
)
release=(
  "${build[@]}"
  'g++|its C++ library, which Swift'"'"'s own libraries stand on when they become part of the program'
)
test=(
  "${build[@]}"
  'fido2-tools|an independent program that checks our output'
  'openssl|an independent program that checks our output'
  'python3-venv|holds the independent Python client'
  'strace|stops a program between two system calls, for the tests of the store'
  'gdb|takes core dumps in which the tests look for secrets'
)
integration=(
  "${test[@]}"
  'pcscd|a real smart card daemon for the NFC tests'
  'vsmartcard-vpcd|a virtual reader for it'
  'python3-pyscard|an independent PC/SC client'
  'qemu-system-x86|a real kernel with hidraw and USB'
  'kmod|prepares its modules'
  'xz-utils|unpacks it'
  'openssh-client|ssh-keygen, an independent user of keys'
  'tmux|a terminal for the tests of completions and prompts'
  'pinentry-curses|asks for PINs in a terminal of its own'
  'pinentry-tty|the same, line by line'
  'zsh|a shell with completions of its own'
  'fish|a shell with completions of its own'
  'mandoc|checks the man pages'
  'man-db|shows them'
  'lintian|checks the Debian package'
  'dpkg-dev|makes it'
  'valgrind|watches memory from outside'
  'udev|reads our rules in the tests of doctor'
)
browser=(
  "${test[@]}"
  'chromium|an independent WebAuthn client, and the judge of our pages'
  'tidy|an HTML validator'
)
case $group in
  build) wanted=("${build[@]}") ;;
  release) wanted=("${release[@]}") ;;
  test) wanted=("${test[@]}") ;;
  integration) wanted=("${integration[@]}") ;;
  browser) wanted=("${browser[@]}") ;;
  *) echo "install-packages: unknown group '$group'; use build, release, test, integration or browser" >&2; exit 2 ;;
esac

missing=()
for entry in "${wanted[@]}"; do
  package=${entry%%|*}
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$entry")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo 'These Debian packages are needed and missing:' >&2
names=()
for entry in "${missing[@]}"; do
  printf '  %-18s %s\n' "${entry%%|*}" "${entry#*|}" >&2
  names+=("${entry%%|*}")
done
if [ "$(id -u)" != 0 ]; then
  echo 'You are not root, so nothing was installed. Ask an administrator to run:' >&2
  echo "  apt-get install --no-install-recommends ${names[*]}" >&2
  exit 1
fi
echo 'Installing them now.' >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o DPkg::Options::=--force-confold install -y -q \
    --no-install-recommends "${names[@]}" >"$log" 2>&1
}
# The package lists of a fresh machine are empty or old: one update, then once more.
install || { apt-get -o DPkg::Lock::Timeout=300 update -q >"$log" 2>&1 && install; } || {
  tail -n 20 "$log" >&2
  echo 'The packages could not be installed; the last lines above say why.' >&2
  exit 1
}

#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Installs the package as a person would, and uses it: for a machine that may be thrown away (see Tools/clean-room.sh).
#
#   Tools/try-package.sh [PACKAGE]      without one it is built first
set -euo pipefail
cd "$(dirname "$0")/.."
export DEBIAN_FRONTEND=noninteractive

if [ $# = 0 ]; then
  apt-get update -q >/dev/null
  apt-get install -y -q --no-install-recommends dpkg-dev >/dev/null
  make deb
  set -- "$(Tools/deb.sh)"
fi
package=$(readlink -f "$1")
apt-get update -q >/dev/null
apt-get install -y -q --no-install-recommends "$package" man-db
cd "$(mktemp -d)"
sealkey --version
sealkey demo
sealkey verify sealkey-demo/tap.json --identity sealkey-demo/identity.json
MANPAGER=cat man sealkey-tap | grep -c "cannot be taken back" >/dev/null
MANPAGER=cat man sealkey | head -n 12
for file in share/bash-completion/completions/sealkey share/zsh/vendor-completions/_sealkey \
  share/fish/vendor_completions.d/sealkey.fish share/sealkey/schemas/error.schema.json lib/udev/rules.d/70-sealkey.rules; do
  test -f "/usr/$file"
done
# Nothing of the Swift toolchain is needed.
env -i PATH=/usr/bin sealkey commitment identity.delete.v1 nonce="$(printf '00%.0s' {1..32})" >/dev/null
apt-get purge -y -q sealkey >/dev/null
test ! -e /usr/bin/sealkey
echo 'package: installed, used and removed'

#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Puts a built sealkey where it belongs, under $DESTDIR$PREFIX: the program, man pages, completions, schemas, udev rule.
#
#   DESTDIR=/tmp/root PREFIX=/usr Tools/install.sh [SEALKEY]
set -euo pipefail
cd "$(dirname "$0")/.."

program=${1:-.build/release/sealkey}
[ -x "$program" ] || { echo "install: $program is not built: make release" >&2; exit 1; }
root=${DESTDIR:-}${PREFIX:-/usr/local}
put() { install -D -m "$1" "$2" "$root/$3"; }

put 755 "$program" bin/sealkey
for page in man/*.[15]; do
  section=${page##*.}
  put 644 "$page" "share/man/man$section/$(basename "$page")"
  # A page for each command it describes: `man sealkey-tap`.
  sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \(sealkey-[a-z-]*\).*/\1/p' "$page" | while read -r name; do
    [ "$name.$section" = "$(basename "$page")" ] ||
      ln -sf "$(basename "$page")" "$root/share/man/man$section/$name.$section"
  done
done
put 644 completions/sealkey.bash share/bash-completion/completions/sealkey
# Where the system's own packages put it, and where a person's do.
[ "${PREFIX:-/usr/local}" = /usr ] && zsh=share/zsh/vendor-completions || zsh=share/zsh/site-functions
put 644 completions/_sealkey "$zsh/_sealkey"
put 644 completions/sealkey.fish share/fish/vendor_completions.d/sealkey.fish
for schema in schemas/*.json; do put 644 "$schema" "share/sealkey/$schema"; done
put 644 matrix/run-record.schema.json share/sealkey/schemas/run-record.schema.json
put 644 Packaging/70-sealkey.rules lib/udev/rules.d/70-sealkey.rules

#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Runs a command in a clean clone inside a fresh Debian that has git, make and this machine's Swift, and nothing else.
#
#   Tools/clean-room.sh bookworm|trixie COMMAND...
#
# Needs root and the package debootstrap. The fresh system is kept in $SEALKEY_ROOMS (default /var/cache/sealkey-rooms)
# and copied for each run, so a second run starts as clean as the first and faster.
set -euo pipefail
cd "$(dirname "$0")/.."

release=${1:?which Debian: bookworm or trixie}
shift
[ $# -gt 0 ] || { echo 'clean-room: no command' >&2; exit 2; }
case $release in bookworm | trixie) ;; *) echo "clean-room: unknown release $release" >&2; exit 2 ;; esac
[ "$(id -u)" = 0 ] || { echo 'clean-room: needs root, for chroot and mounts' >&2; exit 1; }
command -v debootstrap >/dev/null || { echo 'clean-room: install debootstrap first' >&2; exit 1; }

rooms=${SEALKEY_ROOMS:-/var/cache/sealkey-rooms}
toolchain=$(dirname "$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")")
# The mirror this machine uses; debootstrap's own default when it cannot be told.
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
  sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\).*/\2/p' | head -n 1) || true
base=$rooms/$release
mkdir -p "$rooms"
if [ ! -e "$base/.ready" ]; then
  rm -rf "$base"
  # What the Swift toolchain itself needs (swift.org's list for Debian 12), plus git and make.
  needs=ca-certificates,git,make,python3,binutils,gcc,libc6-dev,libstdc++-12-dev,libedit2,libgcc-12-dev,libsqlite3-0
  needs+=,libxml2,libz3-4,libncurses6,tzdata,zlib1g-dev
  case $release in bookworm) needs+=,libcurl4 ;; *) needs+=,libcurl4t64 ;; esac
  debootstrap --variant=minbase --include="$needs" \
    "$release" "$base" ${mirror:+"$mirror"} >"$rooms/$release.log" 2>&1 || { tail -n 20 "$rooms/$release.log" >&2; exit 1; }
  cp /etc/apt/apt.conf.d/*proxy* "$base/etc/apt/apt.conf.d/" 2>/dev/null || true
  touch "$base/.ready"
fi

room=$(mktemp -d "$rooms/run-XXXXXX")
cleanup() {
  umount -R -l "$room" 2>/dev/null || true
  # Whatever is still mounted there is not the room's.
  rm -rf --one-file-system "$room"
}
trap cleanup EXIT
cp -a "$base/." "$room/"
# A mount of its own, as the root of a machine is: whoever makes a mount namespace in there must find one.
mount --bind "$room" "$room"
mount --make-private "$room"
mkdir -p "$room$toolchain" "$room/src"
mount --bind "$toolchain" "$room$toolchain"
mount -t proc proc "$room/proc"
# With /dev/pts and /dev/shm; what is unmounted there stays mounted here.
mount --rbind /dev "$room/dev"
mount --make-rslave "$room/dev"
cp /etc/resolv.conf "$room/etc/resolv.conf" 2>/dev/null || true
cp /etc/apt/apt.conf "$room/etc/apt/" 2>/dev/null || true
# What this machine's administrator wrote there, and no package: a package would ask whose file is to stay.
for file in /etc/apt/apt.conf.d/*; do
  dpkg -S "$file" >/dev/null 2>&1 || cp "$file" "$room/etc/apt/apt.conf.d/" 2>/dev/null || true
done
[ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$room/etc/pip.conf"
# Whatever lets this machine reach the registries lets the room reach them too.
cp -L /etc/ssl/certs/ca-certificates.crt "$room/etc/ssl/certs/ca-certificates.crt" 2>/dev/null || true
git clone -q . "$room/src/sealkey"
corpus=${SEALKEY_CORPUS:-../shared/corpus}
# Files that the command is to find in /src.
for file in ${SEALKEY_ROOM_FILES:-}; do cp "$file" "$room/src/"; done
if [ -d "$corpus" ]; then mkdir -p "$room/src/shared" && cp -r "$corpus" "$room/src/shared/corpus"; fi
# What the tests are told by the one who runs them.
settings=$(env | grep -E '^(CI|SEALKEY_(FULL|SLOWNESS)|VM_LIMIT)=' || true)
proxies=$(env | grep -iE '^(https?_proxy|no_proxy|pip_[a-z_]*|ssl_cert_[a-z]*|requests_ca_bundle)=' || true)
mapfile -t pass < <(printf '%s\n' "$settings" "$proxies" | grep .)
env -i "${pass[@]}" PATH="$toolchain/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root LANG=C.UTF-8 \
  chroot "$room" bash -c 'cd /src/sealkey && exec "$@"' clean-room "$@"

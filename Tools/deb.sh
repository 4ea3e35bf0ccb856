#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# A package for the Debian release this runs on, from a built program; the same program gives the same package.
#
#   Tools/deb.sh [SEALKEY] [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC

program=${1:-.build/release/sealkey}
folder=${2:-.build/deb}
for needed in dpkg-deb dpkg-shlibdeps strip gzip; do
  command -v "$needed" >/dev/null || { echo "deb: $needed is missing (packages dpkg-dev and binutils)" >&2; exit 1; }
done
# Every time in the package is that of the last change to the sources.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
maintainer=${SEALKEY_MAINTAINER:-$(git log -1 --format='%an <%ae>')}
. /etc/os-release
upstream=$("$program" --version | sed 's/^sealkey //')
version=$upstream-1~deb${VERSION_ID:?this system does not say which Debian it is}
arch=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

umask 022
DESTDIR=$root PREFIX=/usr Tools/install.sh "$program"
strip --strip-all --remove-section=.comment --remove-section=.note --remove-section=.swift1_autolink_entries \
  "$root/usr/bin/sealkey"
find "$root/usr/share/man" -type f -exec gzip -9n {} +
find "$root/usr/share/man" -type l | while read -r link; do
  ln -s "$(readlink "$link").gz" "$link.gz"
  rm "$link"
done
doc=$root/usr/share/doc/sealkey
install -D -m 644 Packaging/copyright "$doc/copyright"
install -D -m 644 Packaging/lintian-overrides "$root/usr/share/lintian/overrides/sealkey"
gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
cat <<CHANGES | gzip -9nc >"$doc/changelog.Debian.gz"
sealkey ($version) unstable; urgency=medium

  * See /usr/share/doc/sealkey/changelog.gz.

 -- $maintainer  $(date -R -d "@$SOURCE_DATE_EPOCH")
CHANGES

# What the program is linked with decides what it needs, and from which version on.
mkdir -p "$work/debian" "$root/DEBIAN"
printf 'Source: sealkey\n\nPackage: sealkey\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O --warnings=0 root/usr/bin/sealkey | sed -n 's/^shlibs:Depends=//p')
size=$(du -k -s --apparent-size "$root/usr" | cut -f 1)
sed -e "s|@VERSION@|$version|; s|@ARCH@|$arch|; s|@SIZE@|$size|; s|@DEPENDS@|$depends|; s|@MAINTAINER@|$maintainer|" Packaging/control.in \
  >"$root/DEBIAN/control"
(cd "$root" && find usr -type f | sort | xargs md5sum) >"$root/DEBIAN/md5sums"
find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$folder"
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$folder" >/dev/null
echo "$folder/sealkey_${version}_$arch.deb"

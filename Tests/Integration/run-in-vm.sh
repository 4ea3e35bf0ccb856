#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# run-in-vm.sh - run one command as root inside a throw-away QEMU guest that has
# a stock Debian kernel with uhid, hidraw and USB HID (for FIDO2 HID tests on a
# machine whose own kernel has none of them).
#
#   VM_CACHE=/dir run-in-vm.sh [options] [--] COMMAND [ARG...]
#   VM_CACHE=/dir run-in-vm.sh --prepare
#
#   -i DIR    share DIR read-only in the guest at /in          (default: none)
#   -o DIR    share DIR writable in the guest at /out          (default: none)
#   -r MODE   mini = root is a small initramfs: busybox, fido2-tools and what they load
#             host = root is this machine's own / through 9p: never written to, writes
#                    go to the guest's memory; same paths, same working directory
#                                                             (default: $VM_ROOT or mini)
#   -m MODS   more kernel modules to load, separated by spaces (always loaded: uhid
#             hid-generic usbhid)
#   -t SECS   hard limit for everything after preparation      (default: $VM_LIMIT or 120)
#   -a ACCEL  auto, or kvm and tcg in the order to be tried: kvm,tcg  (default: $VM_ACCEL or auto)
#   -e NAME   pass environment variable NAME on (may be repeated)
#   -v        report times and the accelerator used on standard error
#
# Standard output and error are the command's, passed on as they are written. Exit
# status: the command's; 124 the limit was passed; 125 the guest failed before or
# while running the command (its console is then shown); 126 preparation failed.
# Guest output is a pipe. Standard input is empty.
set -uo pipefail
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin

VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/run-in-vm}
root=${VM_ROOT:-mini} limit=${VM_LIMIT:-120} accel=${VM_ACCEL:-auto}
in='' out='' mods='' verbose=0 only_prepare=0
mem=${VM_MEM:-768} cpus=${VM_CPUS:-2} kvm_wait=${VM_KVM_WAIT:-20}
names=()

say() { printf 'run-in-vm: %s\n' "$*" >&2; }
die() { local s=$1; shift; say "$*"; exit "$s"; }
now() { date +%s%N; }
ms() { echo $((($(now) - $1) / 1000000)); }

while [ $# -gt 0 ]; do
	case $1 in
	-i) in=$2; shift 2 ;;
	-o) out=$2; shift 2 ;;
	-r) root=$2; shift 2 ;;
	-m) mods=$2; shift 2 ;;
	-t) limit=$2; shift 2 ;;
	-a) accel=$2; shift 2 ;;
	-e) names+=("$2"); shift 2 ;;
	-v) verbose=1; shift ;;
	--prepare) only_prepare=1; shift ;;
	--) shift; break ;;
	-*) die 126 "unknown option $1" ;;
	*) break ;;
	esac
done
[ $only_prepare = 1 ] || [ $# -gt 0 ] || die 126 'no command'
case $root in mini | host) ;; *) die 126 "bad -r $root" ;; esac

# ------------------------------------------------------------------ preparation
# Bump when what the cache holds changes.
FORMAT=5
# Modules put in the guest, with whatever they depend on.
MODULES='virtio_pci virtio_console virtio_rng 9p 9pnet_virtio overlay
 hid uhid hid-generic usbhid usbcore uhci-hcd ehci-pci xhci-pci
 usbip-core vhci-hcd usbip-host usbip-vudc dummy_hcd libcomposite usb_f_hid
 nfc nfcsim'
# Packages whose files make up the small guest root, with what libfido2 depends on
# in this release. They are unpacked in the cache, not installed.
GUEST_PACKAGES='busybox-static fido2-tools libfido2-1 libc6'

apt_update_done=0
apt_try() { # apt_try COMMAND...: run it, once more after apt-get update
	"$@" && return 0
	[ $apt_update_done = 1 ] && return 1
	apt_update_done=1
	apt-get -o DPkg::Lock::Timeout=300 update -qq >&2 || true
	"$@"
}
download() { # download DIR PACKAGE...
	local d=$1; shift
	(cd "$d" && apt_try apt-get -qq -o APT::Sandbox::User=root download "$@" >&2)
}
kernel_package() {
	apt-cache depends linux-image-amd64 2>/dev/null |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1
}
libraries() {
	depends() { apt-cache depends "$@" 2>/dev/null | sed -n 's/^ *Depends: \(lib[a-z].*\|zlib.*\)$/\1/p' | sort -u; }
	local first
	first=$(depends libfido2-1)
	printf '%s\n' $first $(depends $first) | sort -u
}

prepare() (
	set -e
	mkdir -p "$VM_CACHE"
	exec 9>"$VM_CACHE/lock"
	flock 9
	need=()
	command -v qemu-system-x86_64 >/dev/null || need+=(qemu-system-x86)
	command -v depmod >/dev/null || need+=(kmod)
	command -v xz >/dev/null || need+=(xz-utils)
	if [ ${#need[@]} -gt 0 ]; then
		install() {
			DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
				install -y -q --no-install-recommends "${need[@]}" >"$VM_CACHE/apt.log" 2>&1 9>&-
		}
		apt_try install || { tail -n 20 "$VM_CACHE/apt.log" >&2; exit 1; }
	fi
	[ "$(cat "$VM_CACHE/ready" 2>/dev/null)" != "$FORMAT" ] || exit 0

	rm -rf "$VM_CACHE/new"; mkdir -p "$VM_CACHE/new/deb" "$VM_CACHE/new/kernel" "$VM_CACHE/new/root"
	cd "$VM_CACHE/new"
	k=$(kernel_package)
	[ -n "$k" ] || { apt-get update -qq >&2; apt_update_done=1; k=$(kernel_package); }
	[ -n "$k" ] || { say 'no kernel package'; exit 1; }
	download deb "$k" $GUEST_PACKAGES $(libraries)
	# Whether a release has its files in /lib or in /usr/lib, here both are one.
	for d in kernel root; do
		mkdir -p $d/usr/lib $d/usr/lib64 $d/usr/bin $d/usr/sbin
		ln -s usr/lib usr/lib64 usr/bin usr/sbin $d/
	done
	for d in deb/*.deb; do
		case $d in
		deb/linux-image*)
			# Left out: big parts that nothing in $MODULES depends on.
			dpkg-deb --fsys-tarfile "$d" | tar -x -C kernel --keep-directory-symlink \
				--exclude='*/lib/modules/*/kernel/sound' \
				--exclude='*/lib/modules/*/kernel/drivers/gpu' \
				--exclude='*/lib/modules/*/kernel/drivers/media' \
				--exclude='*/lib/modules/*/kernel/drivers/net' \
				--exclude='./usr/share' ;;
		*) dpkg-deb --fsys-tarfile "$d" | tar -x -C root --keep-directory-symlink --exclude='./usr/share' ;;
		esac
	done

	# The kernel proper, out of its self-extracting wrapper: unpacking it inside an
	# emulated CPU would cost more than the rest of the boot. The offsets are those of
	# the x86 boot protocol (setup_sects, payload_offset, payload_length).
	z=$(echo kernel/boot/vmlinuz-*)
	word() { od -An -v -tu"$2" -j"$1" -N"$2" "$z" | tr -d ' '; }
	start=$((($(word 497 1) + 1) * 512 + $(word 584 4)))
	tail -c +$((start + 1)) "$z" | head -c $(($(word 588 4) - 4)) | xz -dc --single-stream >vmlinux 2>/dev/null || true
	# Anything wrong with it: boot the wrapper instead, which is slower and always works.
	[ "$(head -c 4 vmlinux | tail -c 3)" = ELF ] || cp "$z" vmlinux

	# Small root: only what is needed, from the unpacked packages.
	b=$PWD/root/bin/busybox
	v=$(basename kernel/lib/modules/*)
	mkdir -p base/{bin,dev,proc,sys,run,tmp,etc,root,in,out,lib/x86_64-linux-gnu,lib64,usr/bin,newroot} "base/lib/modules/$v"
	cp "$b" base/bin/busybox
	"$b" --list | while read -r a; do [ -e "base/bin/$a" ] || ln -s busybox "base/bin/$a"; done
	cp root/usr/bin/fido2-* base/usr/bin/
	cp -L root/lib64/ld-linux-x86-64.so.2 base/lib64/
	l=base/lib/x86_64-linux-gnu
	cp -L root/lib/x86_64-linux-gnu/{libc,libm,libdl,libpthread,librt,libresolv}.so.? $l/
	for f in root/lib/x86_64-linux-gnu/{libz.so.1,libzstd.so.1,libcap.so.2,libfido2.so.1,libcbor.so.0.*,libcrypto.so.3,libudev.so.1}; do
		[ ! -e "$f" ] || cp -L "$f" $l/
	done
	printf 'root:x:0:0:root:/root:/bin/sh\n' >base/etc/passwd
	printf 'root:x:0:\n' >base/etc/group
	printf '/lib/x86_64-linux-gnu\n' >base/etc/ld.so.conf

	ln -s ../lib base/usr/lib
	# Modules: the named ones and all that they depend on.
	depmod -b "$PWD/kernel" "$v"
	for m in $MODULES; do
		grep -E "(^|/)$(echo "$m" | sed 's/[-_]/[-_]/g')\.ko(\.xz)?:" "kernel/lib/modules/$v/modules.dep" | tr -d ':' | tr ' ' '\n'
	done | sort -u | sed '/^$/d' | while read -r m; do
		m=${m#/lib/modules/$v/}
		mkdir -p "base/lib/modules/$v/$(dirname "$m")"
		cp "kernel/lib/modules/$v/$m" "base/lib/modules/$v/$m"
		case $m in *.xz) xz -d "base/lib/modules/$v/$m" ;; esac
	done
	cp kernel/lib/modules/"$v"/modules.{builtin,builtin.modinfo,order} "base/lib/modules/$v/"
	depmod -b "$PWD/base" "$v"
	write_init >base/init
	chmod 755 base/init
	(cd base && find . | LC_ALL=C sort | "$b" cpio -o -H newc 2>/dev/null) >base.cpio
	cp "$b" busybox
	echo "$v" >version
	rm -rf kernel root base deb
	rm -f "$VM_CACHE/ready"; rm -rf "$VM_CACHE/cur"
	mv "$VM_CACHE/new" "$VM_CACHE/cur"
	echo $FORMAT >"$VM_CACHE/ready"
)


write_init() { cat <<'INIT'; }
#!/bin/busybox sh
# First program of the guest. Settings: /vm/env. The command, as a script: /vm/cmd.
export PATH=/bin:/usr/bin:/sbin:/usr/sbin HOME=/root
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /dev/pts /dev/shm
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
mount -t tmpfs shm /dev/shm
mount -t devpts devpts /dev/pts
for l in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do ln -sf "/proc/self/${l#*:}" "/dev/${l%%:*}"; done
. /vm/env

# Three ports of the console device: standard output, standard error, state. Their
# nodes' numbers depend on the other devices, their names do not; and a node can be
# there a moment before it can be opened.
modprobe virtio_pci && modprobe virtio_console
n=0
while :; do
	p1='' p2='' p3=''
	for d in /sys/class/virtio-ports/*; do
		case "$(cat "$d/name" 2>/dev/null)" in
		vm.out) p1=/dev/${d##*/} ;;
		vm.err) p2=/dev/${d##*/} ;;
		vm.state) p3=/dev/${d##*/} ;;
		esac
	done
	[ -c "$p1" ] && [ -c "$p2" ] && [ -c "$p3" ] && (: >"$p1" && : >"$p2" && : >"$p3") 2>/dev/null && break
	n=$((n + 1)); [ $n -lt 500 ] || { echo 'no console ports' >/dev/console; reboot -f; }
	usleep 5000
done
exec 8>"$p3"
state() { echo "$*" >&8; }
fail() { state "fail $*"; sync; reboot -f; }
up() { cut -d' ' -f1 /proc/uptime; }
state "boot $(up)"

nine() { mount -t 9p -o "trans=virtio,version=9p2000.L,msize=512000,$3" "$1" "$2" || fail "mount $1"; }
if [ "$VM_ROOT$VM_IN$VM_OUT" != mini ]; then modprobe 9pnet_virtio && modprobe 9p || fail 9p; fi
r=
if [ "$VM_ROOT" = host ]; then
	modprobe overlay || fail overlay
	r=/newroot
	mkdir -p /run/lower /run/rw
	nine root /run/lower ro,cache=loose
	mount -t tmpfs rw /run/rw && mkdir /run/rw/u /run/rw/w &&
		mount -t overlay -o lowerdir=/run/lower,upperdir=/run/rw/u,workdir=/run/rw/w overlay $r || fail overlay
	mkdir -p $r/in $r/out $r/lib/modules $r/dev $r/proc $r/sys $r/run $r/tmp
	mount -o bind /lib/modules $r/lib/modules
	for d in dev proc sys; do mount -o rbind /$d $r/$d; done
	mount -t tmpfs run $r/run
	[ -z "$VM_TMP" ] || mount -t tmpfs -o mode=1777 tmp $r/tmp
fi
[ -z "$VM_IN" ] || nine in $r/in ro,cache=loose
[ -z "$VM_OUT" ] || nine out $r/out cache=none
for m in hid-generic uhid usbhid $VM_MODS; do modprobe "$m" || fail "modprobe $m"; done
ip link set lo up
mkdir -p $r/run/vm
cp /vm/cmd /bin/busybox $r/run/vm/
mkfifo /run/o /run/e
cat /run/o >"$p1" & o=$!
cat /run/e >"$p2" & e=$!
state "ready $(up)"
chroot "$r/" /run/vm/busybox sh /run/vm/cmd </dev/null >/run/o 2>/run/e 8>&-
s=$?
# What the command wrote is passed on in full, unless something it started and left
# behind keeps the pipes open.
n=0
while [ $n -lt 200 ] && { kill -0 $o || kill -0 $e; } 2>/dev/null; do usleep 10000; n=$((n + 1)); done
state "exit $s $(up)"
sync
reboot -f
INIT

t0=$(now)
( prepare ) || die 126 'preparation failed'
[ $verbose = 0 ] || say "preparation $(ms $t0) ms"
[ $only_prepare = 0 ] || exit 0

# ------------------------------------------------------------------ one run
run=$(mktemp -d "${TMPDIR:-/tmp}/run-in-vm.XXXXXX") || die 126 'no temporary directory'
vm='' readers=()
cleanup() {
	# TERM, not KILL: timeout passes it on to QEMU, and its readers end with that.
	[ -z "$vm" ] || { kill -TERM "$vm"; wait "$vm" "${readers[@]}"; } 2>/dev/null
	rm -rf "$run"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

quote() { printf " '%s'" "${1//\'/\'\\\'\'}"; }
mkdir "$run/cpio" "$run/cpio/vm"
{
	printf 'VM_ROOT=%s VM_IN=%s VM_OUT=%s VM_TMP=%s' "$root" "${in:+1}" "${out:+1}" "${VM_TMP-1}"
	printf ' VM_MODS='; quote "$mods"
} | sed 's/VM_MODS= /VM_MODS=/' >"$run/cpio/vm/env"
{
	[ ${#names[@]} = 0 ] || for n in "${names[@]}"; do
		[ -z "${!n+x}" ] || echo "export $n=$(quote "${!n}" | cut -c2-)"
	done
	if [ "$root" = host ]; then
		echo "export PATH=$(quote "$PATH" | cut -c2-):/run/vm"
		echo "cd$(quote "$PWD") || exit 125"
	fi
	printf 'exec'
	for a in "$@"; do quote "$a"; done
	echo
} >"$run/cpio/vm/cmd"
cur=$VM_CACHE/cur
(cd "$run/cpio" && find . | "$cur/busybox" cpio -o -H newc 2>/dev/null) >"$run/extra" || die 126 'no cpio'
cat "$cur/base.cpio" "$run/extra" >"$run/initrd" || die 126 'no room for the initramfs'

share() { # share TAG DIR EXTRA: 9p arguments, commas doubled as QEMU wants
	args+=(-fsdev "local,id=$1,path=${2//,/,,},security_model=none,multidevs=remap$3"
		-device "virtio-9p-pci,fsdev=$1,mount_tag=$1")
}
boot() { # boot ACCEL SECONDS-TO-READY: 0 and $status if it ran; 1 if never ready
	local a=$1 wait=$2 line left word value rest _
	local -a args
	[ "$a" = kvm ] && args=(-accel kvm -cpu "${VM_KVM_CPU:-host}") || args=(-accel tcg,thread=multi -cpu max)
	[ "$root" != host ] || share root / ,readonly=on
	[ -z "$in" ] || share in "$in" ,readonly=on
	[ -z "$out" ] || share out "$out" ''
	# no_timer_check: on a crowded machine the emulated timer ticks too seldom for the
	# kernel's own test of it, and a panic follows.
	rm -f "$run"/{out,err,state}; mkfifo "$run/out" "$run/err" "$run/state"
	readers=()
	(
		# Hold the write ends until QEMU has them, so that no reader waits for ever.
		exec 5>"$run/out" 6>"$run/err" 7>"$run/state"
		exec timeout -k 2 "$(((deadline - $(now)) / 1000000000 + 1))" qemu-system-x86_64 \
			-M pc,usb=off,graphics=off "${args[@]}" -smp "$cpus" -m "$mem" \
			-nodefaults -no-user-config -display none -no-reboot -nic none \
			-kernel "$cur/vmlinux" -initrd "$run/initrd" \
			-append 'console=ttyS0 quiet panic=-1 reboot=t no_timer_check mitigations=off nokaslr audit=0 apparmor=0 cryptomgr.notests random.trust_cpu=on' \
			-serial "file:$run/console" \
			-device virtio-serial-pci \
			-chardev "file,id=o,path=$run/out" -device virtserialport,chardev=o,name=vm.out \
			-chardev "file,id=e,path=$run/err" -device virtserialport,chardev=e,name=vm.err \
			-chardev "file,id=s,path=$run/state" -device virtserialport,chardev=s,name=vm.state \
			"${args_extra[@]}" </dev/null >"$run/qemu.log" 2>&1
	) &
	vm=$!
	cat <"$run/out" & readers+=($!)
	cat <"$run/err" >&2 & readers+=($!)
	exec 4<"$run/state"
	status='' reached=''
	while :; do
		left=$(((deadline - $(now)) / 1000000))
		[ -n "$reached" ] || [ $left -lt $((wait * 1000)) ] || left=$((wait * 1000 - $(ms $t1)))
		[ $left -gt 0 ] || break
		IFS= read -r -t "$((left / 1000)).$(printf %03d $((left % 1000)))" -u 4 line || break
		[ $verbose = 0 ] || say "$a: $line (guest s), $(ms $t1) ms since QEMU was started"
		read -r word value rest <<<"$line"
		case $word in
		ready) reached=1 ;;
		exit) status=$value; break ;;
		fail) say "guest: $line"; break ;;
		esac
	done
	# QEMU ends by itself after the last line; anything else is ended here.
	if [ -n "$status" ]; then
		for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do kill -0 $vm 2>/dev/null || break; sleep 0.05; done
	fi
	kill -TERM $vm 2>/dev/null
	wait $vm 2>/dev/null; wait "${readers[@]}"
	exec 4<&-
	vm='' readers=()
	[ -n "$reached" ]
}

args_extra=()
t1=$(now)
deadline=$((t1 + limit * 1000000000))
case $accel in
auto)
	# A /dev/kvm that opens is not enough: without the processor's own virtualization
	# (a software KVM such as kvm_pvm) a stock kernel does not come up in it.
	try=(tcg)
	if [ -r /dev/kvm ] && [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then try=(kvm tcg); fi ;;
*) IFS=, read -r -a try <<<"$accel" ;;
esac
for a in "${try[@]}"; do
	t1=$(now)
	if [ "$a" = "${try[-1]}" ]; then w=$limit; else w=$kvm_wait; fi
	boot "$a" "$w" && break
	[ "$a" = "${try[-1]}" ] || say "$a: not ready, trying the next"
done
[ $verbose = 0 ] || say "$a: total $(ms $t0) ms, exit ${status:-none}"
[ -z "$status" ] || exit "$status"
if [ $(($(now))) -ge "$deadline" ]; then
	say "limit of $limit s passed"
	code=124
else
	say 'the guest ended before the command did'
	code=125
fi
tail -n "${VM_TAIL:-40}" "$run/qemu.log" "$run/console" 2>/dev/null | tr -d '\r' >&2
exit $code

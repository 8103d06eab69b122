#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Builds the modules out of tree: vread-core.ko, xen-vreadfront.ko and vread-ivshmem.ko.
#
#   build.sh KVER KDIR OUTDIR    for kernel KVER with its headers in KDIR;
#                                the modules end up in OUTDIR
#   build.sh --sources DIR       only exports a source folder that stands alone, for
#                                DKMS: /usr/src/vread-VERSION
#
# Kbuild writes beside its sources, so it gets a copy of them.  Files that did not
# change keep their times: a second run builds nothing.
set -euo pipefail

usage() {
	sed -n '3,11s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
schema=$here/../xenstore-schema
changed=no

# update DIR FILE...: copies the files to DIR, if they differ from the copies there.
update() {
	local dir=$1 file to
	shift
	mkdir -p "$dir"
	for file in "$@"; do
		to=$dir/$(basename "$file")
		if ! cmp -s "$file" "$to"; then
			cp "$file" "$to"
			changed=yes
		fi
	done
}

# sources FOLDER: the sources below a folder, by their paths there.
sources() {
	(cd "$1" && find . -name '*.[ch]' -printf '%P\n')
}

# prune DIR: removes sources from DIR that no longer exist here.
prune() {
	local file
	while read -r file; do
		case $file in
		vreadif.h | vread-ivshmem.h | vread-nodes.h | *.mod.c) continue ;;
		esac
		if [ ! -e "$here/$file" ]; then
			rm "$1/$file"
			changed=yes
		fi
	done < <(sources "$1")
}

# generate_names DIR: makes vread-nodes.h, the names of the xenstore nodes, from the schema.
generate_names() {
	local folder
	folder=$(mktemp -d)
	python3 "$schema/generate.py" "$schema/vread.schema.json" "$folder"
	update "$1" "$folder/vread-nodes.h"
	rm -r "$folder"
}

# generate_dkms_conf DIR: takes the version from version.h, so that no other file has to name it.
generate_dkms_conf() {
	local folder version
	folder=$(mktemp -d)
	version=$(sed -n 's/^#define VREAD_VERSION "\(.*\)"/\1/p' "$here/../xen-backend/base/version.h")
	sed "s/#MODULE_VERSION#/$version/" "$here/dkms.conf" >"$folder/dkms.conf"
	update "$1" "$folder/dkms.conf"
	rm -r "$folder"
}

export_sources() {
	local file
	update "$1" "$here"/{Kbuild,LICENSE,60-vread.rules} "$schema"/{vreadif,vread-ivshmem}.h
	while read -r file; do
		update "$(dirname "$1/$file")" "$here/$file"
	done < <(sources "$here")
	generate_dkms_conf "$1"
	generate_names "$1"
	prune "$1"
}

# compile KDIR DIR: compiles with all warnings, and through sparse if it is installed.  A warning of
# the compiler or of sparse is an error.
compile() {
	local log=$2/build.log checks=()
	if command -v sparse >/dev/null; then
		checks=(C=2 CF=-Wsparse-error)
	fi
	if ! make -s -C "$1" M="$2" W=1 "${checks[@]}" modules >"$log" 2>&1; then
		cat "$log" >&2
		return 1
	fi
	if grep -E 'warning:|error:' "$log" >&2; then
		echo "build.sh: the warnings above are errors here; all output is in $log" >&2
		return 1
	fi
}

if [ $# -eq 2 ] && [ "$1" = --sources ]; then
	export_sources "$2"
	exit 0
fi
if [ $# -ne 3 ] || [ -z "$1" ]; then
	usage
fi
kver=$1 kdir=$2
if [ ! -f "$kdir/Makefile" ]; then
	echo "build.sh: $kdir has no headers of kernel $kver; install linux-headers-$kver" >&2
	exit 1
fi
mkdir -p "$3"
out=$(cd "$3" && pwd)

export_sources "$out"
if [ $changed = no ] && [ "$(cat "$out/.built" 2>/dev/null)" = "$kver $kdir" ]; then
	exit 0
fi
rm -f "$out/.built"
echo "  MODULE  modules for $kver"
compile "$kdir" "$out"
echo "$kver $kdir" >"$out/.built"

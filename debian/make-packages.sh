#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the packages in a copy of the work tree, FOLDER/tree, puts them in FOLDER and runs lintian.
# Their version is that of the tree and of this release of Debian (changelog-of-release.sh).
# The copy keeps its objects for the next run. If no input of the packages has changed, the packages
# of the last run stay. FOLDER/vread.spdx.json is their bill of materials. The jar's classes must have
# been built. `make deb` calls this script.
# Usage: make-packages.sh FOLDER
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
tree=$out/tree
exec 9>"$out/lock"
flock 9
changelog=$("$top/debian/changelog-of-release.sh" /etc/os-release "$top/debian/changelog")

# Lists the files that git tracks, and new ones that it does not ignore.
list_tree() {
	# shellcheck disable=SC2185  # paths come from its input
	git -C "$top" ls-files -z --cached --others --exclude-standard |
		(cd "$top" && find -files0-from - -maxdepth 0 -print0 2>/dev/null)
}

# Makes the copy equal to the work tree, times of files included, but keeps the copy's build/. Only its
# changelog is that of the release. Objects of another version are not kept: they may be of another
# release's compiler.
copy_tree() {
	if ! echo "$changelog" | cmp -s - "$tree/debian/changelog"; then
		rm -rf "$tree"
	fi
	mkdir -p "$tree"
	find "$tree" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
	list_tree | (cd "$top" && tar -c --null -T -) | tar -x -C "$tree"
	echo "$changelog" >"$tree/debian/changelog"
}

# A digest of names, modes and contents, without tests and the lab: they are in no package. The
# release is part of it, because a system is upgraded with its build/.
digest() {
	{
		echo "$changelog"
		list_tree | grep -zEv '^(tests|tools/lab)/' | LC_ALL=C sort -z |
			(cd "$top" && tar -c --null -T - --mtime=@0 --owner=0 --group=0)
	} | sha256sum
}

# Copies classes and headers, and dates them as new, so that the build does not run Maven again.
copy_classes() {
	rm -rf "$tree/build/java"
	mkdir -p "$tree/build/java/target"
	cp "$top/build/java/target/vread-hdfs.jar" "$tree/build/java/target"
	cp -a "$top/build/java/include" "$tree/build/java"
	cp "$top/build/java/vread-bench.jar" "$tree/build/java"
	touch "$tree/build/java/compiled" "$tree/build/java/vread-bench.jar"
}

build() {
	if ! (cd "$tree" && dpkg-buildpackage -b -nc -us -uc) >"$out/build.log" 2>&1; then
		tail -n 40 "$out/build.log" >&2
		echo "make-packages.sh: no packages; all output is in $out/build.log" >&2
		exit 1
	fi
}

now=$(digest)
if [ "$(cat "$out/made-of" 2>/dev/null)" != "$now" ]; then
	rm -f "$out"/*.deb "$out"/*.changes "$out"/*.buildinfo "$out/made-of"
	copy_tree
	copy_classes
	build
	lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$out"/*.changes
	echo "$now" >"$out/made-of"
fi
/usr/bin/python3 "$top/tools/sbom.py" "$out"
(cd "$out" && ls -- *.deb *.spdx.json)

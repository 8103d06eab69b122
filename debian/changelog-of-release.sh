#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints debian/changelog as the packages of one release of Debian have it: the version of the newest
# entry names the release, 0.1.0+deb12u1 for Debian 12, 0.1.0+deb13u1 for Debian 13. So one repository
# can hold the packages of both, and the upgrade of a system from Debian 12 to 13 upgrades them.
# make-packages.sh calls this script.
# Usage: changelog-of-release.sh OS-RELEASE CHANGELOG    OS-RELEASE: a file such as /etc/os-release
set -eu

ID='' VERSION_ID='' VERSION_CODENAME=''
# shellcheck disable=SC1090  # the caller names it
. "$1"
if [ "$ID" != debian ] || [ -z "$VERSION_ID" ]; then
	echo "changelog-of-release.sh: $1 is of ${PRETTY_NAME:-an unknown system}:" \
		"make the packages on Debian 12 or 13" >&2
	exit 1
fi

sed "1s/^\([^ ]*\) (\([^)]*\)) [^;]*;/\1 (\2+deb${VERSION_ID}u1) $VERSION_CODENAME;/" "$2"

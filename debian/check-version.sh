#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The changelog must be of the version that the programs say they are.
# Usage: check-version.sh VERSION
set -eu

changelog=$(dpkg-parsechangelog -S Version)
if [ "${changelog%%[-+~]*}" != "$1" ]; then
	echo "debian/changelog is of version $changelog, xen-backend/base/version.h of $1:" \
		"add an entry to the one or correct the other" >&2
	exit 1
fi

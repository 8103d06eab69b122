#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Fails unless debian/changelog is of VERSION, that of the programs. debian/rules calls it.
# Usage: check-version.sh VERSION
set -eu

changelog=$(dpkg-parsechangelog -S Version)
if [ "${changelog%%[-+~]*}" != "$1" ]; then
	echo "debian/changelog is of version $changelog, xen-backend/base/version.h of $1:" \
		"add an entry to the one or correct the other" >&2
	exit 1
fi

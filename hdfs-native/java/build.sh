#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs Maven on this module, or on that of the environment's POM. The Makefile and tests/hdfs call it.
# One build runs at a time. Maven runs offline once it has fetched what it needs. Its output is shown
# only if it fails.
# Usage: build.sh ARGUMENT... (as for mvn)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
pom=${POM:-$here/pom.xml}
build=$here/../../build/java
mkdir -p "$build"

# What Maven fetches depends on the POM and on the goals asked for.
key=$(printf '%s ' "$@" | cat - "$pom" | sha256sum | cut -c 1-16)
exec 9>"$build/lock"
flock 9
if [ -e "$build/fetched-$key" ]; then
	set -- -o "$@"
fi
if ! mvn -q -B -Dstyle.color=never -f "$pom" "$@" >"$build/maven.log" 2>&1; then
	sed 's/\x1b\[[0-9;]*m//g' "$build/maven.log"
	exit 1
fi
touch "$build/fetched-$key"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timed.sh NAME COMMAND...: runs a command, says how long it took, and ends with its status.
# The Makefile runs what is built for the tests by it.
set -u
name=$1
shift
began=$SECONDS
"$@"
status=$?
printf '  TIME  %s: %d s\n' "$name" "$((SECONDS - began))"
exit "$status"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timed.sh NAME COMMAND...: runs a command, prints how long it took, and exits with its status.
# The Makefile's target `builds` runs each build through it.
set -u
name=$1
shift
began=$SECONDS
"$@"
status=$?
printf '  TIME  %s: %d s\n' "$name" "$((SECONDS - began))"
exit "$status"

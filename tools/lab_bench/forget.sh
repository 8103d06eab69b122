#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the vreadd of an emulated dom0 forget what it has verified and cached of its datanodes: a
# datanode whose section has changed is served anew.  xen.py has this program in dom0, for sequential
# reads.  image-mode is what changes; both values read a block device with O_DIRECT.
set -e
conf=/etc/vread/vread.conf socket=/run/vread/control.sock
if grep -q '^image-mode = auto' $conf; then
	sed -i 's/^image-mode = auto/image-mode = direct/' $conf
else
	sed -i 's/^image-mode = direct/image-mode = auto/' $conf
fi
xl-vread reload --socket $socket >/dev/null
tries=0
while xl-vread status --socket $socket --json | grep -q '"state": *"looking"'; do
	tries=$((tries + 1))
	[ $tries -lt 300 ] || exit 1
	sleep 0.1
done

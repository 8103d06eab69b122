#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes a vreadd forget the verified bytes that it keeps of images read with O_DIRECT.  xen.py has this
# program in dom0, and bare.py uses it, for sequential reads.  [vreadd] must be the first section.
# Usage: forget.sh [CONFIGURATION CONTROL-SOCKET XL-VREAD]
set -e
conf=${1:-/etc/vread/vread.conf} socket=${2:-/run/vread/control.sock} xl_vread=${3:-xl-vread}
sed -i '1a cache = 0' "$conf"
"$xl_vread" reload --socket "$socket" >/dev/null
sed -i '/^cache = 0$/d' "$conf"
"$xl_vread" reload --socket "$socket" >/dev/null

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hypervisor.h - whether this machine runs under Xen.  Called by control/daemon.c and by the
 * commands of xl-vread(8). */
#ifndef VREAD_HYPERVISOR_H
#define VREAD_HYPERVISOR_H

#include <stdbool.h>

/* True in dom0 and in guests of Xen, as the kernel says. */
bool hypervisor_is_xen(void);

#endif

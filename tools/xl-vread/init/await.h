/* SPDX-License-Identifier: GPL-2.0-or-later */
/* await.h - waits until vreadd has taken up what `xl-vread init` wrote.  Otherwise the doctor would
 * report as faults what vreadd is about to do.  Called by init.c. */
#ifndef XL_VREAD_INIT_AWAIT_H
#define XL_VREAD_INIT_AWAIT_H

#include "plan.h"

/* Waits until vreadd has looked into the disks of the datanodes and has seen the devices, at most
 * for some seconds each.  Returns at once if vreadd does not answer. */
void await_vreadd(const struct plan *p, const struct config *c);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plan.h - what `xl-vread init` writes for the domains that the operator chose.  Called by
 * init.c. */
#ifndef XL_VREAD_INIT_PLAN_H
#define XL_VREAD_INIT_PLAN_H

#include "look.h"

struct plan {
	const struct looked **domain; /* that get a device: datanodes first */
	char **device;                /* as in vread = [ ... ], of each */
	unsigned count;
};

/*
 * Plans a device for each of `count` domains that has a use and no device yet.  Clients may read
 * exactly the datanodes that were chosen.  Fails if a domain has other devices, or if a device
 * cannot be: what is there is never replaced.  CLI_OK, or an exit code of cli.h after printing what
 * is wrong.  plan_free() *ret in any case.
 */
int plan_make(const struct looked *looked, unsigned count, struct plan *ret);
void plan_free(struct plan *p);
/* Prints each device, and the record that gets it. */
void plan_print(const struct plan *p);
/* Writes the files and makes the devices, one domain after the other.  Stops at the first failure,
 * and says so.  CLI_OK, or an exit code of cli.h after printing what is wrong. */
int plan_carry_out(const struct plan *p);

#endif

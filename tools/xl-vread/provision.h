/* SPDX-License-Identifier: GPL-2.0-or-later */
/* provision.h - gives a domain the devices of its record, and has vreadd serve its disks
 * (datanode.h).  Called by the commands of xl-vread(8) that make or move domains, and by watch. */
#ifndef XL_VREAD_PROVISION_H
#define XL_VREAD_PROVISION_H

#include "domains.h"
#include "spec.h"

/* Makes the devices of the domain's record that the domain does not have yet, and writes the keys
 * of datanodes.  *ret: the record's devices; specs_free() it; empty after an error.  *ret_made: how
 * many devices were made, also before an error.  CLI_OK, or an exit code of cli.h after printing
 * what is wrong. */
int provision(const struct domain *d, struct specs *ret, unsigned *ret_made);
/* The same, and waits for vreadd's word about the keys (datanode.h). */
int provision_recorded(const struct domain *d, struct specs *ret);
/* Waits until all devices are connected, up to `seconds` for each.  CLI_OK, or an exit code of
 * cli.h after printing what is wrong. */
int provision_wait(const struct domain *d, const struct specs *s, unsigned seconds);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* provision.h - gives a domain the devices its record says, and vreadd the disks it says (datanode.h). */
#ifndef XL_VREAD_PROVISION_H
#define XL_VREAD_PROVISION_H

#include "domains.h"
#include "spec.h"

/* Those it does not have yet.  An exit code of cli.h, after printing what is wrong; *ret_made: how
 * many were made. */
int provision(const struct domain *d, const struct specs *s, unsigned *ret_made);
/* The same with what its record says.  *ret: that; specs_free() it, it is empty after an error. */
int provision_recorded(const struct domain *d, struct specs *ret);
/* Its record goes, and vreadd does not serve its disks any more. */
int provision_forget(const struct domain *d);
/* Until all are connected, up to so many seconds each.  An exit code of cli.h, likewise. */
int provision_wait(const struct domain *d, const struct specs *s, unsigned seconds);

#endif

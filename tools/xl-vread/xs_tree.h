/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xs_tree.h - lists the vread devices of a live xenstore, and checks their nodes against the
 * schema.  Called by `xl-vread xenstore check` and `xl-vread doctor`.
 */
#ifndef VREAD_XS_TREE_H
#define VREAD_XS_TREE_H

#include <jansson.h>
#include <xenstore.h>

#define XS_ANY_DOMID 65535U

/* The id of the domain this runs in: 0 in dom0, another id in a driver domain. */
unsigned xs_own_domid(struct xs_handle *xs);
/* Calls fn with the backend directory of each device that this domain is the backend of.  Returns
 * how many devices there are. */
typedef void xs_device_fn(void *ctx, const char *backend_dir);
unsigned xs_each_device(struct xs_handle *xs, xs_device_fn *fn, void *ctx);
/*
 * Checks the devices that this domain is the backend of, of guest domid or XS_ANY_DOMID.  Returns
 * an array of problems; NULL: out of memory.  A problem is an object: path, device (as vreadd names
 * it; null: no device), found, expected, remedy.  A problem that may exist for a moment only is
 * checked again, for up to a second.  *ret_devices: how many devices there are.
 */
json_t *xs_check(struct xs_handle *xs, unsigned domid, unsigned *ret_devices);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xs_tree.h - the vread devices of a live xenstore, and whether their nodes are what the schema allows.
 */
#ifndef VREAD_XS_TREE_H
#define VREAD_XS_TREE_H

#include <jansson.h>
#include <xenstore.h>

#define XS_MAX_DOMID 32751
#define XS_ANY_DOMID 65535U

/* The domain this runs in; a driver domain is not 0. */
unsigned xs_own_domid(struct xs_handle *xs);
/* Calls fn with the backend directory of each device of this domain's; returns how many. */
typedef void xs_device_fn(void *ctx, const char *backend_dir);
unsigned xs_each_device(struct xs_handle *xs, xs_device_fn *fn, void *ctx);
/*
 * What is wrong with the devices whose backend is this domain, of guest domid or XS_ANY_DOMID: an array
 * of objects path, device (as vreadd names it; null: of none), found, expected, remedy.  What may be so for
 * a moment only is looked at again, for up to a second.  NULL: out of memory.  *ret_devices: how many there are.
 */
json_t *xs_check(struct xs_handle *xs, unsigned domid, unsigned *ret_devices);

#endif

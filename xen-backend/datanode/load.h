/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load.h - looks into a datanode's images and makes a `served` of what they hold. Called by
 * refresh.c and registry.c only.
 */
#ifndef VREAD_DATANODE_LOAD_H
#define VREAD_DATANODE_LOAD_H

#include "datanode/datanode_private.h"

/* Serves by the layout file, as far as the images can be opened. Returns 0 and `*ret`, or
 * negative errno with `*ret_error` (free() it). */
int load_by_layout(struct datanode *dn, struct served **ret, char **ret_error);
/* The same, but an error becomes a `served` that holds only the reason, and whether the error was a
 * shortage of vreadd's own. Returns NULL if out of memory. */
struct served *load_by_layout_again(struct datanode *dn);

/* Serves by the names of the data directories. If nothing can be served yet, the `served` holds
 * only the reason, as above. Returns NULL if out of memory. */
struct served *load_by_data_dirs(struct datanode *dn);

/* Makes a `served` that holds nothing but the reason. Returns NULL if out of memory. */
struct served *load_nothing(struct datanode *dn, const char *reason);

/* True if both are of the same images, read in the same way, with the same layout, guards,
 * missing parts and refused storages. */
bool served_equal(const struct served *a, const struct served *b);

#endif

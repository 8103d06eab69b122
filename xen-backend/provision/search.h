/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search.h - the datanode's data directories in a mounted file system: those that
 * have a current/VERSION with storageType=DATA_NODE.
 */
#ifndef VREAD_PROVISION_SEARCH_H
#define VREAD_PROVISION_SEARCH_H

#include <guestfs.h>

#include "layout/layout.h"

/*
 * Looks at each of the hints (paths in the file system), or, with none, through
 * the directories down to a bounded depth and number.  Appends to lfs->data_dirs.
 * where names the file system in warnings.  0, or negative errno with *ret_error.
 */
int search_data_dirs(guestfs_h *g, const char *where, const char *const *hints, unsigned num_hints,
		     struct layout_filesystem *lfs, char **ret_error);

#endif

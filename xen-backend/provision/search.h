/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search.h - finds a datanode's data directories in a mounted file system: the directories
 * whose current/VERSION says storageType=DATA_NODE.  inspect.c calls it.
 */
#ifndef VREAD_PROVISION_SEARCH_H
#define VREAD_PROVISION_SEARCH_H

#include <guestfs.h>

#include "layout/layout.h"

/* Looks at each of the hints (paths in the file system).  Without hints, searches the
 * directories down to a bounded depth and number.  Appends to lfs->data_dirs.  where: name of
 * the file system for warnings.  0, or negative errno with *ret_error (free() it). */
int search_data_dirs(guestfs_h *g, const char *where, const char *const *hints, unsigned num_hints,
		     struct layout_filesystem *lfs, char **ret_error);

#endif

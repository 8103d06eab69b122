/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agree.h - checks that libguestfs, which is the authority, and vreadd's own code find the same
 * volumes on the disks.  inspect.c calls these functions.  A layout by which vreadd would read
 * other bytes than the kernel does is never written.
 */
#ifndef VREAD_PROVISION_AGREE_H
#define VREAD_PROVISION_AGREE_H

#include <guestfs.h>

#include "parser/disks/volumes.h"

/* 0, or -EBADMSG with *ret_error (free() it): the two differ about a file system. */
int agree_on_volume(const struct layout_filesystem *said, const struct volumes *own,
		    char **ret_error);

/* Checks the segments of a logical volume: asks the appliance's kernel for its map.  own says
 * where the physical volumes are.  0, or negative errno with *ret_error (free() it); -EBADMSG:
 * the two differ. */
int agree_on_segments(guestfs_h *g, const struct layout_filesystem *logical,
		      const struct volumes *own, char **ret_error);

#endif

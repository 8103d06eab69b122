/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agree.h - whether libguestfs, which is the authority, and vreadd's own look at the
 * disks tell the same.  A layout by which vreadd would read other bytes than the
 * kernel does is never written.
 */
#ifndef VREAD_PROVISION_AGREE_H
#define VREAD_PROVISION_AGREE_H

#include <guestfs.h>

#include "parser/disks/volumes.h"

/* 0, or -EBADMSG with *ret_error (free() it): they differ about a file system. */
int agree_on_volume(const struct layout_filesystem *said, const struct volumes *own,
		    char **ret_error);

/* The same of a logical volume's segments: the appliance's kernel is asked for its map.  own
 * says where physical volumes are. */
int agree_on_segments(guestfs_h *g, const struct layout_filesystem *logical,
		      const struct volumes *own, char **ret_error);

#endif

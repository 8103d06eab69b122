/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_overlay.h - what an XFS's log holds of inodes and blocks, newest first and last;
 * private to fs/.
 *
 * A log item has everything that was changed since the thing was last written home
 * whole; so the newest one, over what is at home, is all there is to know.
 */
#ifndef VREAD_FS_XFS_OVERLAY_H
#define VREAD_FS_XFS_OVERLAY_H

#include "parser/fs/xfs_record.h"

/* What is kept apart: inodes by number, blocks by where they lie, counted in blocks. */
#define XFS_KEY_INODE (UINT64_C(1) << 63)

struct xfs_change {
	uint64_t key;
	uint32_t id;         /* of the checkpoint, counted by us */
	struct xfs_place at; /* of the record with the checkpoint's COMMIT */
	uint32_t size;
	uint8_t *item; /* as in xfs_item.h; NULL: what is at home counts */
	bool used;     /* the slot */
};

struct xfs_overlay {
	struct xfs_change *slots;
	size_t capacity, count, bytes;
};

const struct xfs_change *xfs_overlay_find(const struct xfs_overlay *o, uint64_t key);
/* Replaces what is known of c->key, and takes over c->item in any case.  false: out of memory. */
bool xfs_overlay_put(struct xfs_overlay *o, const struct xfs_change *c);
/* Forgets what is home since the tail is there; false: out of memory, nothing changed. */
bool xfs_overlay_forget(struct xfs_overlay *o, struct xfs_place tail);
void xfs_overlay_clear(struct xfs_overlay *o);

#endif

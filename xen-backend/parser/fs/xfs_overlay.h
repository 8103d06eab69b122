/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_overlay.h - the newest log item of each inode and block; private to fs/.
 * xfs_log.c calls it.
 *
 * "Home" is the own place of an inode or block in the file system, as opposed to the log.  A log
 * item holds everything that was changed since the inode or block was last written home as a
 * whole.  Therefore the bytes at home, with the newest item applied, are the current state.
 */
#ifndef VREAD_FS_XFS_OVERLAY_H
#define VREAD_FS_XFS_OVERLAY_H

#include "base/table.h"
#include "parser/fs/xfs_record.h"

/* A key is an inode's number with this bit set, or a block's place in the volume, counted in
 * blocks. */
#define XFS_KEY_INODE (UINT64_C(1) << 63)

struct xfs_change {
	uint64_t tag;        /* the table's */
	uint32_t id;         /* number of the checkpoint, as in struct xfs_mark */
	struct xfs_place at; /* place of the record with the checkpoint's COMMIT */
	uint32_t size;
	uint8_t *item; /* as in xfs_item.h; NULL: the bytes at home are current */
};

struct xfs_overlay {
	struct table changes; /* struct xfs_change by key */
	size_t bytes;         /* of all items */
};

/* An empty overlay; needs no memory yet. */
#define XFS_OVERLAY_EMPTY ((struct xfs_overlay){.changes = TABLE_OF(struct xfs_change)})

/* NULL: no change of key is known.  The result is valid until the overlay changes. */
const struct xfs_change *xfs_overlay_find(const struct xfs_overlay *o, uint64_t key);
/* Sets the change of key to *c.  Takes over c->item in any case.  false: out of memory. */
bool xfs_overlay_put(struct xfs_overlay *o, uint64_t key, const struct xfs_change *c);
/* Removes and frees changes that were committed before tail, which are all home.  false: out of
 * memory, nothing changed. */
bool xfs_overlay_forget(struct xfs_overlay *o, struct xfs_place tail);
void xfs_overlay_clear(struct xfs_overlay *o);

#endif

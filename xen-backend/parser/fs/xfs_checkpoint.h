/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_checkpoint.h - assembles the operations in an XFS log's records into checkpoints and log
 * items; private to fs/.  xfs_log.c calls it.
 *
 * XFS commits the changes of many transactions in one checkpoint.  A checkpoint is a sequence of
 * operations with the same number (tid), from a START to a COMMIT.  The operations are spread over
 * any number of records, between operations of other checkpoints.  An operation carries a region
 * or a piece of a region.  One or more regions make a log item.  A checkpoint without a COMMIT is
 * ignored.
 */
#ifndef VREAD_FS_XFS_CHECKPOINT_H
#define VREAD_FS_XFS_CHECKPOINT_H

#include "parser/fs/xfs_record.h"

#define XFS_MAX_OPEN 16U /* checkpoints that are not committed yet */
#define XFS_CHECKPOINT_MAX_BYTES (64U << 20)
#define XFS_ITEM_MAX_REGIONS 4096U

struct xfs_region {
	const uint8_t *data;
	uint32_t length;
};

struct xfs_open_checkpoint;

struct xfs_checkpoints {
	struct xfs_open_checkpoint *open[XFS_MAX_OPEN];
	struct xfs_place first; /* place of the first record taken; set by the caller */
	/* A checkpoint that had begun before first was committed later; its content is unknown. */
	bool missed;
};

/* Callbacks for what was committed, in the order of the log: item() for each item of a checkpoint,
 * then commit(); unmount() for an unmount record. */
struct xfs_checkpoint_ops {
	int (*item)(void *ctx, const struct xfs_region *regions, unsigned count);
	int (*commit)(void *ctx);
	int (*unmount)(void *ctx);
};

/*
 * Takes the operations of an unpacked record.  data: the record with its header.  Returns 0, or the
 * negative result of a callback; -EOPNOTSUPP: the operations make no sense, or are more than XFS
 * writes; -ENOMEM.
 */
int xfs_checkpoints_take(struct xfs_checkpoints *c, const struct xfs_record *r, const uint8_t *data,
			 const struct xfs_checkpoint_ops *ops, void *ctx);
/* True if the record says that the file system was unmounted, and nothing else.  Then all changes
 * are written to their places in the file system. */
bool xfs_record_is_unmount(const struct xfs_record *r, const uint8_t *data);
/* Forgets all checkpoints that are not committed, and clears missed. */
void xfs_checkpoints_clear(struct xfs_checkpoints *c);

#endif

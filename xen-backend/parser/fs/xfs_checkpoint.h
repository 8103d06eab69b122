/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_checkpoint.h - what the records of an XFS's log say, put together; private to fs/.
 *
 * XFS commits what many transactions did in one checkpoint: operations with one number
 * (tid), from a START to a COMMIT, over any number of records and between those of other
 * checkpoints.  An operation carries a region, or a piece of one; regions make log items.
 * A checkpoint without its COMMIT counts for nothing.
 */
#ifndef VREAD_FS_XFS_CHECKPOINT_H
#define VREAD_FS_XFS_CHECKPOINT_H

#include "parser/fs/xfs_record.h"

#define XFS_MAX_OPEN 16U /* checkpoints at a time */
#define XFS_CHECKPOINT_MAX_BYTES (64U << 20)
#define XFS_ITEM_MAX_REGIONS 4096U

struct xfs_region {
	const uint8_t *data;
	uint32_t length;
};

struct xfs_open_checkpoint;

struct xfs_checkpoints {
	struct xfs_open_checkpoint *open[XFS_MAX_OPEN];
	struct xfs_place first; /* the record that was taken first, by whoever began here */
	bool missed; /* one was committed later that had begun before: what it said is not known */
};

/* Called for what was committed, in order. */
struct xfs_checkpoint_ops {
	int (*item)(void *ctx, const struct xfs_region *regions, unsigned count);
	int (*commit)(void *ctx);
	int (*unmount)(void *ctx);
};

/*
 * Takes the operations of a record, unpacked: 0; what an op returned; -EOPNOTSUPP they make
 * no sense or are more than XFS writes, -ENOMEM.
 */
int xfs_checkpoints_take(struct xfs_checkpoints *c, const struct xfs_record *r, const uint8_t *data,
			 const struct xfs_checkpoint_ops *ops, void *ctx);
/* Whether all it says is that the file system was unmounted, and hence is home. */
bool xfs_record_is_unmount(const struct xfs_record *r, const uint8_t *data);
void xfs_checkpoints_clear(struct xfs_checkpoints *c);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_item.h - reads XFS log items and applies them to the inodes and blocks they change; private
 * to fs/.  xfs_log.c calls it.
 *
 * "Home" is the own place of an inode or block in the file system, as opposed to the log.  All
 * functions are pure.
 */
#ifndef VREAD_FS_XFS_ITEM_H
#define VREAD_FS_XFS_ITEM_H

#include "parser/fs/xfs_checkpoint.h"

/* Gets one inode or block that an item changed, by its key (xfs_overlay.h).  Takes over item, of
 * size bytes, which the functions below apply to the bytes at home; free() it.  NULL: the bytes at
 * home will be used as they are. */
typedef int xfs_item_cb(void *ctx, uint64_t key, uint8_t *item, uint32_t size);

/* Calls cb for each inode and block that an item changed.  Returns 0, a result of cb other than 0,
 * -ENOMEM, or -EOPNOTSUPP: an unknown or damaged item.  Sets *ret_owners to true if the item gives
 * blocks of an extent tree to another file without naming the blocks; otherwise leaves it alone. */
int xfs_item_take(const struct xfs_super *s, const struct xfs_region *regions, unsigned count,
		  bool *ret_owners, xfs_item_cb *cb, void *ctx);

/* Applies an item to block, which has s->block_size bytes as read from home. */
void xfs_item_lay_on_block(const struct xfs_super *s, const uint8_t *item, uint32_t size,
			   uint8_t *block);

/*
 * Applies an item to inode, which has s->inode_size bytes as read from home.  Does not update the
 * inode's checksum.  home: true if the bytes at home are a valid inode with that number.  -EAGAIN:
 * the item leaves out the data fork, and the bytes at home do not have the fork either; -EIO.
 */
int xfs_item_lay_on_inode(const struct xfs_super *s, uint64_t number, const uint8_t *item,
			  uint32_t size, bool home, uint8_t *inode);

#endif

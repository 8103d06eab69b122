/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_item.h - log items of XFS: what they change, and how that is laid over what is at
 * home; private to fs/.  All of it is pure.
 */
#ifndef VREAD_FS_XFS_ITEM_H
#define VREAD_FS_XFS_ITEM_H

#include "parser/fs/xfs_checkpoint.h"

/* One thing that an item changed, by its key (xfs_overlay.h).  Takes over item, of size bytes, to
 * be laid over what is at home by the functions below; NULL: what is at home will count. */
typedef int xfs_item_cb(void *ctx, uint64_t key, uint8_t *item, uint32_t size);

/* 0, what cb returned, -ENOMEM, -EOPNOTSUPP: an unknown or damaged item.
 * *ret_owners is set if blocks of trees were given to other files without being named. */
int xfs_item_take(const struct xfs_super *s, const struct xfs_region *regions, unsigned count,
		  bool *ret_owners, xfs_item_cb *cb, void *ctx);

/* block, of s->block_size bytes, as the item has it. */
void xfs_item_lay_on_block(const struct xfs_super *s, const uint8_t *item, uint32_t size,
			   uint8_t *block);

/*
 * inode, of s->inode_size bytes as they are at home, as the item has it; its checksum is not
 * kept up.  home: whether what is at home is an inode at all.  -EAGAIN: what the item leaves
 * out is not there; -EIO.
 */
int xfs_item_lay_on_inode(const struct xfs_super *s, uint64_t number, const uint8_t *item,
			  uint32_t size, bool home, uint8_t *inode);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs.h - the XFS reader; private to fs/.
 *
 * xfs_super.c checks the superblock; xfs_record.c, xfs_checkpoint.c and xfs_item.c read the
 * log, xfs_overlay.c keeps what it holds, xfs_find_head.c and xfs_log.c follow it; xfs_view.c reads
 * inodes and blocks as of one moment, xfs_map.c turns an inode into extents, xfs_dir.c
 * looks into directories; xfs.c ties them to fs_impl.h.
 */
#ifndef VREAD_FS_XFS_H
#define VREAD_FS_XFS_H

#include "parser/fs/fs_impl.h"
#include "parser/fs/xfs_log.h"

#define XFS_READ_BUCKETS 256U

extern const struct fs_ops xfs_ops;

struct xfs_view {
	struct fs_view view; /* first: see fs_impl.h */
	struct xfs_log *log;
	struct xfs_now since;
	uint64_t budget; /* bytes of metadata this view may still read */
	bool lost;       /* something was being written all the time */
	uint32_t count, capacity;
	struct meta_block **reads;
	uint32_t *chain; /* of the same bucket, by index */
	uint32_t bucket[XFS_READ_BUCKETS];
};

int xfs_view_begin(struct xfs_view *v, const char **ret_reason);
void xfs_view_end(struct xfs_view *v);
/* The inode, or block, of that key: belongs to v.  -EIO also: no such thing, or v had enough. */
int xfs_view_read(struct xfs_view *v, uint64_t key, const struct meta_block **ret);
int xfs_view_inode(struct xfs_view *v, uint64_t number, const uint8_t **ret);
int xfs_view_confirm(struct xfs_view *v, struct fs_basis **ret, struct fs_watch *ret_watch);
int xfs_basis_check(struct xfs_log *log, struct fs *fs, struct fs_basis *b,
		    struct fs_watch *ret_watch);

/* Extents that hold written bytes; also those of directories. */
int xfs_map(struct xfs_view *v, uint64_t number, const uint8_t *inode, struct fs_file *ret);

/* Calls cb for each name but "." and ".." until it does not return 0. */
typedef int xfs_name_cb(void *ctx, const uint8_t *name, unsigned length, uint64_t inode);
int xfs_dir_names(struct xfs_view *v, uint64_t number, xfs_name_cb *cb, void *ctx);

#endif

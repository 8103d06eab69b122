/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs.h - the XFS reader; private to fs/.  fs.c calls the reader through xfs_ops.
 *
 * xfs.c             implements struct fs_ops with the files below
 * xfs_super.c       checks the superblock
 * xfs_record.c      reads records of the log
 * xfs_checkpoint.c  assembles the operations of records into checkpoints and log items
 * xfs_item.c        reads log items and applies them to inodes and blocks
 * xfs_overlay.c     keeps the newest log item of each inode and block
 * xfs_find_head.c   finds where following the log begins
 * xfs_log.c         follows the log
 * xfs_view.c        reads inodes and blocks as of one moment
 * xfs_map.c         turns an inode into extents
 * xfs_dir.c         reads directories
 * xfs_link.c        reads symbolic links
 * xfs_sum.c         computes checksums
 */
#ifndef VREAD_FS_XFS_H
#define VREAD_FS_XFS_H

#include "parser/fs/fs_impl.h"
#include "parser/fs/xfs_log.h"

extern const struct fs_ops xfs_ops;

struct xfs_view {
	struct fs_view view; /* first: see fs_impl.h */
	struct xfs_log *log;
	struct xfs_now since; /* state of the log when the view was opened */
	uint64_t budget;      /* bytes of metadata this view may still read */
	bool lost;            /* a read failed with -EAGAIN: the owner was writing */
	uint32_t count, capacity;
	struct meta_block **reads; /* everything the view has read */
	struct table index;        /* struct fs_read by key: where in reads */
};

/* Opens a view; v->view.fs and v->log must be set.  0, or an error as xfs_log_refresh(). */
int xfs_view_begin(struct xfs_view *v, const char **ret_reason);
/* Frees what v holds, but not v.  Also called after xfs_view_begin() failed. */
void xfs_view_end(struct xfs_view *v);
/* Reads the inode or block of a key (xfs_overlay.h).  *ret belongs to v.  -EIO also if there is no
 * such inode or block, or v has used up its budget. */
int xfs_view_read(struct xfs_view *v, uint64_t key, const struct meta_block **ret);
/* Reads an inode by its number.  *ret belongs to v. */
int xfs_view_inode(struct xfs_view *v, uint64_t number, const uint8_t **ret);
/* The next two: as fs_view_confirm() and fs_basis_check(). */
int xfs_view_confirm(struct xfs_view *v, struct fs_basis **ret, struct fs_watch *ret_watch);
int xfs_basis_check(struct xfs_log *log, struct fs *fs, struct fs_basis *b,
		    struct fs_watch *ret_watch);

/* Sets *ret to the extents that hold written bytes.  inode may be a file or a directory. */
int xfs_map(struct xfs_view *v, uint64_t number, const uint8_t *inode, struct fs_file *ret);

/* As readlink() in struct fs_ops. */
int xfs_readlink(struct xfs_view *v, uint64_t number, char buf[FS_MAX_LINK]);

/* Calls cb for each name of directory number, except "." and "..".  cb returns 0 to go on.  Any
 * other value ends the listing, and xfs_dir_names() returns that value. */
typedef int xfs_name_cb(void *ctx, const uint8_t *name, unsigned length, uint64_t inode);
int xfs_dir_names(struct xfs_view *v, uint64_t number, xfs_name_cb *cb, void *ctx);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_log.h - follows the log of an XFS and reads inodes and blocks in their newest committed
 * state; private to fs/.  xfs.c, xfs_view.c, xfs_map.c and xfs_dir.c call it.
 *
 * "Home" is the own place of an inode or block in the file system, as opposed to the log.  XFS
 * writes an inode or a buffer home only after the checkpoint that changed it is whole in the log.
 * XFS lets the log's tail pass that checkpoint only after the inode or buffer is home.  Therefore
 * the bytes at home, with all log items from the tail on applied to them, are the newest committed
 * state.
 *
 * xfs_log_refresh() learns which checkpoints were committed since the last call.  The function
 * first reads the place where the next record will begin, and then the header of the last known
 * record.  If that header is still in place, the log is the same one and has not wrapped.
 *
 * A mark is a moment of the log's history.  An inode or block that xfs_log_read() gives after a
 * mark is as it was at the mark, unless xfs_log_unchanged() returns false.
 *
 * Threads: any thread may call any function.  One thread at a time reads new records; other
 * threads wait for that thread only if they need these records.
 */
#ifndef VREAD_FS_XFS_LOG_H
#define VREAD_FS_XFS_LOG_H

#include "parser/fs/meta_cache.h"
#include "parser/fs/xfs_overlay.h"

struct xfs_log;

struct xfs_mark {
	uint64_t era; /* a new era begins at an unmount, or if checkpoints may have been missed */
	uint32_t id;  /* the first checkpoint that is not known to be committed */
};

struct xfs_now {
	struct xfs_mark mark;
	/* The file system was unmounted, and nothing was committed since.  All changes are written
	 * home.  A repair of the file system would leave no trace in the log. */
	bool idle;
	struct xfs_super super;
};

/* Where the content of a meta_block comes from.  A meta_block of XFS has one byte with this value
 * behind its data. */
enum xfs_origin {
	XFS_AT_HOME,
	XFS_LAID_OVER, /* a log item was applied; the checksum is out of date */
	XFS_DAMAGED,   /* not a valid inode */
};
enum xfs_origin xfs_origin(const struct xfs_super *s, const struct meta_block *m);

struct xfs_log *xfs_log_new(void); /* NULL: out of memory */
void xfs_log_free(struct xfs_log *l);

/* Reads and checks the superblock at home.  0; -EIO, -EOPNOTSUPP, -ENOMEM with *ret_reason. */
int xfs_log_super(struct fs *fs, uint8_t raw[XFS_SUPER_BYTES], struct xfs_super *ret,
		  const char **ret_reason);

/*
 * Learns which checkpoints were committed by now.  Returns 0 and sets *ret.  watch may be NULL;
 * *watch gets the pieces of the volume that were read, if these pieces alone can tell that nothing
 * more was committed.  -EAGAIN: the log changes too fast; -EBUSY: the log holds something unknown
 * to this code; other errors as xfs_log_super().
 */
int xfs_log_refresh(struct xfs_log *l, struct fs *fs, struct xfs_now *ret, struct fs_watch *watch,
		    const char **ret_reason);

/* The bytes of the volume that a key (xfs_overlay.h) stands for.  false: the key is impossible. */
bool xfs_key_place(const struct xfs_super *s, uint64_t key, uint64_t *ret_offset,
		   uint32_t *ret_size);
/* Reads the inode or block of a key.  Release *ret with meta_block_put().  0; -EIO, -ENOMEM;
 * -EAGAIN: the owner is writing a part of the inode or block. */
int xfs_log_read(struct xfs_log *l, struct fs *fs, const struct xfs_super *s, uint64_t key,
		 struct meta_block **ret);

/* True if no checkpoint learned so far has changed one of the keys since the mark. */
bool xfs_log_unchanged(struct xfs_log *l, const struct xfs_mark *since, const uint64_t *keys,
		       size_t count);
/* As xfs_log_unchanged(), for what was read after the mark of since.  If true, the reads are the
 * current content, and are added to the cache (unless the file system is idle). */
bool xfs_log_confirm(struct xfs_log *l, const struct xfs_now *since,
		     struct meta_block *const *reads, size_t count);

#endif

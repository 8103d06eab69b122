/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_log.h - what an XFS's log says, known to all readers; private to fs/.
 *
 * XFS writes an inode or a buffer home only after the checkpoint that changed it is whole in
 * the log, and lets the log's tail pass that checkpoint only after it is home.  Hence all from
 * the tail on, laid over what is at home, is the newest committed state.
 *
 * xfs_log_refresh() learns what was committed meanwhile.  It reads the place where the
 * next record will begin first, and the header of the last one known second: as that still stands
 * there, the log is the same, and did not go round.
 *
 * A mark is a moment of that knowledge.  What xfs_log_read() gives after a mark is as it
 * was at the mark, unless xfs_log_unchanged() says otherwise.
 *
 * Threads: all functions, any thread.  One thread at a time learns; others wait only if
 * they need what it is learning.
 */
#ifndef VREAD_FS_XFS_LOG_H
#define VREAD_FS_XFS_LOG_H

#include "parser/fs/meta_cache.h"
#include "parser/fs/xfs_overlay.h"

struct xfs_log;

struct xfs_mark {
	uint64_t era; /* begins anew whenever the thread of checkpoints was lost, or unmounted */
	uint32_t id;  /* of the first checkpoint not known to be committed */
};

struct xfs_now {
	struct xfs_mark mark;
	/* It was unmounted, and nothing was committed since: all is at home, and what repairs it
	 * leaves no trace in the log. */
	bool idle;
	struct xfs_super super;
};

/* How the content of a meta_block came about; its byte behind the data. */
enum xfs_origin {
	XFS_AT_HOME,
	XFS_LAID_OVER, /* with what the log has; checksums are out of date */
	XFS_DAMAGED,   /* an inode that is none */
};
enum xfs_origin xfs_origin(const struct xfs_super *s, const struct meta_block *m);

struct xfs_log *xfs_log_new(void); /* NULL: out of memory */
void xfs_log_free(struct xfs_log *l);

/* Reads and checks the superblock at home.  0; -EIO, -EOPNOTSUPP with *ret_reason. */
int xfs_log_super(struct fs *fs, uint8_t raw[XFS_SUPER_BYTES], struct xfs_super *ret,
		  const char **ret_reason);

/*
 * Learns what was committed by now: 0, and *watch, if wanted, gets what was looked at if that alone
 * can tell that there is nothing more; -EAGAIN it is changing too fast; -EBUSY its log has what
 * is not known here; else as xfs_log_super().
 */
int xfs_log_refresh(struct xfs_log *l, struct fs *fs, struct xfs_now *ret, struct fs_watch *watch,
		    const char **ret_reason);

/* Bytes that a key stands for; false: it cannot be. */
bool xfs_key_place(const struct xfs_super *s, uint64_t key, uint64_t *ret_offset,
		   uint32_t *ret_size);
/* 0; -EIO, -ENOMEM; -EAGAIN a part of it is being written. */
int xfs_log_read(struct xfs_log *l, struct fs *fs, const struct xfs_super *s, uint64_t key,
		 struct meta_block **ret);

/* Whether, to present knowledge, nothing of keys was changed since the mark. */
bool xfs_log_unchanged(struct xfs_log *l, const struct xfs_mark *since, const uint64_t *keys,
		       size_t count);
/* Likewise of what was read since; it is then what holds now, and cached. */
bool xfs_log_confirm(struct xfs_log *l, const struct xfs_now *since,
		     struct meta_block *const *reads, size_t count);

#endif

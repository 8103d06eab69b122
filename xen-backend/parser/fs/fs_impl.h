/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fs_impl.h - what a file-system reader (ext4.c, xfs.c) provides to fs.c; private to fs/.
 * The readers implement struct fs_ops; fs.c calls the operations.
 */
#ifndef VREAD_FS_FS_IMPL_H
#define VREAD_FS_FS_IMPL_H

#include <stdatomic.h>
#include <string.h>

#include "base/table.h"
#include "parser/fs/fs.h"

struct fs_reader; /* the state a reader keeps for one struct fs */

/*
 * A moment at which the file system was cleanly unmounted.  Two equal stamps prove that nobody
 * wrote between the two moments: mounting, checking or tuning the file system changes the
 * superblock.
 */
struct fs_stamp {
	uint64_t changes; /* the value of volume_changes() */
	uint8_t super[FS_SUPER_BYTES];
};

/* Where a view keeps what it has read of a block; in a table by the block's number or key. */
struct fs_read {
	uint64_t tag; /* the table's */
	uint32_t at;  /* index in the view's array */
};

/* One piece of memory without pointers, because fs_basis_pack() sends a basis out of the process
 * and fs_basis_unpack() takes the basis back. */
struct fs_basis {
	bool live;
	struct fs_stamp stamp; /* if not live */

	uint64_t era;    /* as in struct journal_mark or struct xfs_mark */
	atomic_uint id;  /* no transaction before this one contradicts the answer */
	uint64_t digest; /* of the content of the blocks; private to the reader */
	size_t count;
	uint64_t blocks[]; /* the blocks that were read, as the reader numbers them */
};

struct fs_ops {
	/* As fs_bytes(). */
	uint64_t (*bytes)(struct volume *volume);
	int (*init)(struct fs *fs);
	void (*release)(struct fs *fs);
	enum fs_state (*state)(struct fs *fs, const char **ret_reason);
	int (*view_open)(struct fs *fs, struct fs_view **ret, const char **ret_reason);
	void (*view_close)(struct fs_view *v);
	/* Here and below: ret_watch may be NULL; otherwise fs.c has set its count to 0. */
	int (*view_confirm)(struct fs_view *v, struct fs_basis **ret, struct fs_watch *ret_watch);
	uint64_t (*root)(struct fs_view *v);
	int (*lookup)(struct fs_view *v, uint64_t dir, const char *name, size_t length,
		      uint64_t *ret_inode);
	/* Reads the target of a symbolic link.  -EINVAL: the inode is none. */
	int (*readlink)(struct fs_view *v, uint64_t inode, char buf[FS_MAX_LINK]);
	int (*list)(struct fs_view *v, uint64_t dir, fs_list_cb *cb, void *ctx);
	/* As fs_view_map(). */
	int (*map)(struct fs_view *v, uint64_t inode, struct fs_file *ret);
	/* As fs_basis_check(). */
	int (*check)(struct fs *fs, struct fs_basis *b, struct fs_watch *ret_watch);
	/* True if these bytes of the file system are at their own place: the journal holds no
	 * newer copy.  Called after view_confirm() or check(). */
	bool (*settled)(struct fs *fs, uint64_t offset, uint64_t length);
};

struct fs {
	const struct fs_ops *ops;
	struct volume *volume;
	uint64_t length; /* bytes of the volume */
	uint8_t uuid[16];
	struct fs_reader *reader;
};

/* The first member of a reader's own view structure. */
struct fs_view {
	struct fs *fs;
	bool live;
};

/* Sets ret->changes. */
int fs_stamp_begin(struct fs *fs, struct fs_stamp *ret);
/* True if nothing was written between the two stamps. */
bool fs_stamp_equal(const struct fs_stamp *a, const struct fs_stamp *b);

/* As fs_file_extend(). */
int fs_file_add_extent(struct fs *fs, struct fs_file *f, uint64_t logical, uint64_t physical,
		       uint64_t length);
/* Adds a piece of the volume that was just read, of at most FS_SUPER_BYTES.  A watch takes at most
 * FS_MAX_WATCHED pieces. */
static inline void fs_watch_add(struct fs_watch *w, uint64_t offset, const void *bytes,
				size_t length)
{
	struct fs_watch_piece *p = &w->piece[w->count++];

	p->offset = offset;
	p->length = (uint32_t)length;
	memcpy(p->bytes, bytes, length);
}

#endif

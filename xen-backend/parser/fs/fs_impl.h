/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fs_impl.h - what a file-system reader provides to fs.c; private to fs/.
 */
#ifndef VREAD_FS_FS_IMPL_H
#define VREAD_FS_FS_IMPL_H

#include <stdatomic.h>
#include <string.h>

#include "parser/fs/fs.h"

struct fs_reader; /* what a reader keeps with a file system */

/*
 * A moment at which the file system was cleanly unmounted.  Two that are equal
 * prove that nobody wrote between them: what mounting, checking or tuning would
 * have changed is the same.
 */
struct fs_stamp {
	uint64_t changes; /* of the images, as volume_changes() */
	uint8_t super[FS_SUPER_BYTES];
};

/* One piece of memory without pointers: it leaves the process and comes back (fs_basis_pack()). */
struct fs_basis {
	bool live;
	struct fs_stamp stamp; /* unless live */

	uint64_t era;    /* of the journal's knowledge, as in journal.h */
	atomic_uint id;  /* transactions before it are known to agree */
	uint64_t digest; /* a reader's own: of what the blocks held */
	size_t count;
	uint64_t blocks[]; /* that were read; a reader's numbers */
};

struct fs_ops {
	int (*init)(struct fs *fs);
	void (*release)(struct fs *fs);
	enum fs_state (*state)(struct fs *fs, const char **ret_reason);
	int (*view_open)(struct fs *fs, struct fs_view **ret, const char **ret_reason);
	void (*view_close)(struct fs_view *v);
	/* *ret_watch, if wanted, is empty: here and below. */
	int (*view_confirm)(struct fs_view *v, struct fs_basis **ret, struct fs_watch *ret_watch);
	uint64_t (*root)(struct fs_view *v);
	int (*lookup)(struct fs_view *v, uint64_t dir, const char *name, size_t length,
		      uint64_t *ret_inode);
	int (*list)(struct fs_view *v, uint64_t dir, fs_list_cb *cb, void *ctx);
	/* As fs_view_map(), with ret->mapped left to fs.c. */
	int (*map)(struct fs_view *v, uint64_t inode, struct fs_file *ret);
	/* As fs_basis_check(). */
	int (*check)(struct fs *fs, struct fs_basis *b, struct fs_watch *ret_watch);
	/* Whether bytes of the file system are at home; to be asked after one of these. */
	bool (*settled)(struct fs *fs, uint64_t offset, uint64_t length);
};

struct fs {
	const struct fs_ops *ops;
	struct volume *volume;
	uint64_t length; /* of the volume */
	uint8_t uuid[16];
	struct fs_reader *reader;
};

/* First member of every reader's own view. */
struct fs_view {
	struct fs *fs;
	bool live;
};

/* Fills a stamp's changes. */
int fs_stamp_begin(struct fs *fs, struct fs_stamp *ret);
/* Nothing was written between the two. */
bool fs_stamp_equal(const struct fs_stamp *a, const struct fs_stamp *b);

/* As fs_file_extend(). */
int fs_file_add_extent(struct fs *fs, struct fs_file *f, uint64_t logical, uint64_t physical,
		       uint64_t length);
/* Adds what was just looked at: at most FS_SUPER_BYTES, FS_MAX_WATCHED times. */
static inline void fs_watch_add(struct fs_watch *w, uint64_t offset, const void *bytes,
				size_t length)
{
	struct fs_watch_piece *p = &w->piece[w->count++];

	p->offset = offset;
	p->length = (uint32_t)length;
	memcpy(p->bytes, bytes, length);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fs_impl.h - what a file-system reader provides to fs.c; private to image/.
 */
#ifndef VREAD_IMAGE_FS_IMPL_H
#define VREAD_IMAGE_FS_IMPL_H

#include "image/fs.h"

struct fs_ops {
	int (*view_open)(struct fs *fs, struct fs_view **ret, const char **ret_reason);
	void (*view_close)(struct fs_view *v);
	uint64_t (*root)(struct fs_view *v);
	int (*lookup)(struct fs_view *v, uint64_t dir, const char *name, size_t length,
		      uint64_t *ret_inode);
	int (*list)(struct fs_view *v, uint64_t dir, fs_list_cb *cb, void *ctx);
	/* As fs_view_map(), with ret->mapped left to fs.c. */
	int (*map)(struct fs_view *v, uint64_t inode, struct fs_file *ret);
	/* Reads what every mount for writing changes; as fs_stamp_take(). */
	int (*stamp)(struct fs *fs, uint8_t super[FS_SUPER_BYTES]);
};

struct fs {
	const struct fs_ops *ops;
	struct image_source *source;
	uint64_t offset;
	uint64_t length;
	uint8_t uuid[16];
};

/* First member of every reader's own view. */
struct fs_view {
	struct fs *fs;
};

/* Appends to f->extents, merging neighbours.  Refuses what is not ascending or not
 * inside fs with -EIO; physical is relative to the file system. */
int fs_file_add_extent(struct fs *fs, struct fs_file *f, uint64_t logical, uint64_t physical,
		       uint64_t length);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fs.h - files of a file system inside an image, by path, as ranges of the image.
 *
 * struct fs is where a file system lies; it lives as long as the image is
 * served.  struct fs_view is its metadata as of one moment: opened for one
 * question, so that the answer is as fresh as the image, then closed.
 * struct fs_file is the answer: where a file's bytes are.
 *
 * Metadata is read where it is at home, without the file system's journal: it
 * is true only while nobody has the file system mounted for writing.  A struct
 * fs_stamp, which can be had only then, tells whether that was so all the
 * time between two moments; callers take one before they ask and compare it
 * with another before they let bytes out.
 *
 * Everything read from the image is written by a guest and may be made to
 * harm: all sizes, counts and depths are bounded here.
 *
 * Threads: a struct fs is shared by all; a view belongs to one thread.
 * Errors: -ENOENT no such file, -ENOTDIR, -ENODATA bytes not in written plain
 * extents, -EBUSY in use by its owner, -EIO image unreadable or file system
 * damaged, -ENOMEM.
 */
#ifndef VREAD_IMAGE_FS_H
#define VREAD_IMAGE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/source.h"

#define FS_MAX_EXTENTS 65536U
#define FS_MAX_NAME 255U
#define FS_SUPER_BYTES 1024U

struct fs;
struct fs_view;

struct fs_extent {
	uint64_t logical;  /* offset in the file */
	uint64_t physical; /* offset in the image */
	uint64_t length;   /* bytes */
};

struct fs_file {
	uint64_t size;
	uint64_t mapped; /* bytes from 0 up that lie in written extents; <= size */
	unsigned num_extents;
	struct fs_extent *extents; /* ascending, without overlap, inside the file system */
};

/*
 * A moment at which the file system was cleanly unmounted.  Two that are equal
 * prove that nobody wrote between them: what mounting, checking or tuning would
 * have changed is the same.
 */
struct fs_stamp {
	struct image_identity image;
	uint8_t super[FS_SUPER_BYTES];
};

/* type: "ext2", "ext3" or "ext4"; uuid: in lower-case text form; offset and length
 * inside the source, which must outlive the fs.  -EOPNOTSUPP: no reader for type. */
int fs_new(struct image_source *source, uint64_t offset, uint64_t length, const char *type,
	   const char *uuid, struct fs **ret);
void fs_free(struct fs *fs); /* NULL is ignored */

/* *ret_reason, if wanted, is a static text on failure. */
int fs_view_open(struct fs *fs, struct fs_view **ret, const char **ret_reason);
void fs_view_close(struct fs_view *v); /* NULL is ignored */

uint64_t fs_view_root(struct fs_view *v);
/* One inode number for a path of names separated by '/', from directory dir.
 * Symbolic links are not followed. */
int fs_view_lookup(struct fs_view *v, uint64_t dir, const char *path, uint64_t *ret_inode);

/* Calls cb for each entry but "." and ".."; cb returns 0 to go on, else the
 * listing ends with its value. */
typedef int fs_list_cb(void *ctx, const char *name, uint64_t inode);
int fs_view_list(struct fs_view *v, uint64_t dir, fs_list_cb *cb, void *ctx);

/* Fills *ret, to be released with fs_file_clear(). */
int fs_view_map(struct fs_view *v, uint64_t inode, struct fs_file *ret);
void fs_file_clear(struct fs_file *f);

/* Bytes [offset, offset + length) of f: 0, -ENODATA beyond f->mapped, -EIO. */
int fs_file_read(struct fs *fs, const struct fs_file *f, uint64_t offset, void *buf, size_t length);

/* -EBUSY: mounted for writing, or not cleanly unmounted; -EIO: no longer there. */
int fs_stamp_take(struct fs *fs, struct fs_stamp *ret);
/* Nothing was written between the two. */
bool fs_stamp_equal(const struct fs_stamp *a, const struct fs_stamp *b);

#endif

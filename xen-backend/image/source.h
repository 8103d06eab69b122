/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source.h - the bytes of one disk image, read-only.
 *
 * A regular file is read through the page cache, which its writer shares.  A
 * block device is read with O_DIRECT: a guest's writes reach it by bio and
 * leave dom0's page cache stale.  Reads are bounds-checked and complete or
 * fail; any thread may read.
 */
#ifndef VREAD_IMAGE_SOURCE_H
#define VREAD_IMAGE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct image_source;

enum image_mode {
	IMAGE_AUTO, /* direct for a block device, buffered for a file */
	IMAGE_BUFFERED,
	IMAGE_DIRECT,
};

/* Which file this is and, for a regular file, when it was last written. */
struct image_identity {
	dev_t dev;
	ino_t ino;
	uint64_t size;
	struct timespec mtime, ctime; /* zero for a block device */
};

/* 0, or negative errno with *ret_error (free() it) saying what is wrong with path. */
int image_source_open(const char *path, enum image_mode mode, struct image_source **ret,
		      char **ret_error);
void image_source_close(struct image_source *s); /* NULL is ignored */

const char *image_source_path(const struct image_source *s);
uint64_t image_source_size(const struct image_source *s);
bool image_source_is_direct(const struct image_source *s);

/* Exactly length bytes at offset: 0, or -EIO (also outside the image), -ENOMEM. */
int image_source_read(struct image_source *s, uint64_t offset, void *buf, size_t length);

/* Of the file as it is now. */
int image_source_identity(struct image_source *s, struct image_identity *ret);

#endif

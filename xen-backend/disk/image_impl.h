/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image_impl.h - what a format provides to image.c; private to disk/.
 */
#ifndef VREAD_DISK_IMAGE_IMPL_H
#define VREAD_DISK_IMAGE_IMPL_H

#include <pthread.h>

#include "disk/image.h"

struct image_ops {
	/* source is open: fills size, and state if it needs one.  As image_open(). */
	int (*open)(struct image *img, char **ret_error);
	void (*close)(struct image *img); /* also after open() failed; may be NULL */
	/* As image_map(). */
	int (*map)(struct image *img, uint64_t offset, uint64_t length, struct image_run *ret);
	/* Reads where map() answers -EOPNOTSUPP: *ret_done bytes, at least one.  NULL where it
	 * never does. */
	int (*unpack)(struct image *img, uint64_t offset, void *buf, size_t length,
		      size_t *ret_done);
	/* Whether it is not any more what was opened, and fails all reads.  NULL: never. */
	bool (*is_stale)(struct image *img);
	bool moves; /* as image_moves() */
};

/* What an operator calls it. */
struct image_format {
	const char *name;
	const struct image_ops *ops;
};

extern const struct image_ops image_raw, image_qcow2, image_vhd;

struct image {
	const struct image_format *format;
	struct source *source; /* the file that was named */
	enum source_mode mode;
	uint64_t size;
	void *state;
	struct image *backing; /* what is not in this file is there; NULL: nowhere */
	struct image *above;   /* whose backing it is */

	pthread_mutex_t lock; /* of the two below */
	struct source_identity known;
	uint64_t changes;
};

/* Opens one file in a format; above: whose backing it is, or NULL.  As image_open(). */
int image_open_layer(const struct image_format *format, const char *path, enum source_mode mode,
		     struct image *above, struct image **ret, char **ret_error);
/* Opens img->backing: a file named in the file of img, so relative to that, in the format named
 * there.  As image_open(). */
int image_open_backing(struct image *img, const char *name, const char *format, char **ret_error);

#endif

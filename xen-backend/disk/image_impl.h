/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image_impl.h - what a format provides to image.c; private to disk/.
 */
#ifndef VREAD_DISK_IMAGE_IMPL_H
#define VREAD_DISK_IMAGE_IMPL_H

#include <pthread.h>

#include "disk/image.h"

struct image_ops {
	const char *name;
	/* source is open: fills size, and state if it needs one.  As image_open(). */
	int (*open)(struct image *img, char **ret_error);
	void (*close)(struct image *img); /* also after open() failed; may be NULL */
	/* As image_map() and image_read(); one of them is NULL. */
	int (*map)(struct image *img, uint64_t offset, uint64_t length, struct image_run *ret);
	int (*read)(struct image *img, uint64_t offset, void *buf, size_t length);
	/* As image_for_each_file(), of files beyond img->source; may be NULL. */
	int (*for_each_file)(struct image *img, int (*cb)(void *ctx, struct source *file),
			     void *ctx);
	bool moves;   /* as image_moves() */
	bool current; /* as image_is_current() */
};

extern const struct image_ops image_raw;

struct image {
	const struct image_ops *ops;
	char *spec;
	struct source *source; /* the file that was named */
	enum source_mode mode;
	uint64_t size;
	void *state;

	pthread_mutex_t lock; /* of the two below */
	struct source_identity known;
	uint64_t changes;
};

#endif

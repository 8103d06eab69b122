/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image_impl.h - the operations that an image format provides to disk/image.c, and struct image;
 * private to disk/.
 */
#ifndef VREAD_DISK_IMAGE_IMPL_H
#define VREAD_DISK_IMAGE_IMPL_H

#include <pthread.h>

#include "disk/image.h"

struct image_ops {
	/* Fills size, and state if the format needs one.  source is already open.  Returns as
	 * image_open() does. */
	int (*open)(struct image *img, char **ret_error);
	void (*close)(struct image *img); /* also called if open() failed; may be NULL */
	/* Like image_map(). */
	int (*map)(struct image *img, uint64_t offset, uint64_t length, struct image_run *ret);
	/* Reads bytes for which map() returns -EOPNOTSUPP: *ret_done bytes, at least one.  NULL if
	 * map() never returns -EOPNOTSUPP. */
	int (*unpack)(struct image *img, uint64_t offset, void *buf, size_t length,
		      size_t *ret_done);
	/* True if the file is no longer the image that was opened, and all reads fail.  NULL:
	 * never. */
	bool (*is_stale)(struct image *img);
	bool moves; /* the answer of image_moves() */
};

/* A format, and the name that an operator gives in a spec. */
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
	struct image *backing; /* holds the bytes that are not in this file; NULL: none */
	struct image *above;   /* the image that this one backs; NULL: none */
	const struct image_folders *folders; /* for files that it names; only while it is opened */

	pthread_mutex_t lock; /* protects the two below */
	struct source_identity known;
	uint64_t changes;
};

/* Opens one file in a format.  above is the image that the file backs, or NULL.  Returns as
 * image_open_within() does. */
int image_open_layer(const struct image_format *format, const char *path, enum source_mode mode,
		     const struct image_folders *folders, struct image *above, struct image **ret,
		     char **ret_error);
/* Opens img->backing.  name and format come from the file of img; name is relative to the folder of
 * that file.  Returns as image_open() does. */
int image_open_backing(struct image *img, const char *name, const char *format, char **ret_error);
/* Sets *ret to how many of the bytes at offset lie in img->backing, from the first one on.  Bytes
 * behind its end are zeros.  Returns 0, or -EAGAIN while the backing file is the newer one: it was
 * written later than the file that was named. */
int image_look_below(struct image *img, uint64_t offset, uint64_t length, uint64_t *ret);

#endif

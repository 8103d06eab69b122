/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * volume.h - where a file system lies: a partition, or a logical volume made of
 * pieces of one disk or several.
 *
 * Threads: any number may read.  Errors as in image.h.
 */
#ifndef VREAD_DISK_VOLUME_H
#define VREAD_DISK_VOLUME_H

#include "disk/image.h"

#define VOLUME_MAX_SEGMENTS 4096U
#define VOLUME_MAX_STRIPES 128U

struct volume;

struct volume_stripe {
	struct image *image;
	uint64_t offset; /* bytes, in the image */
};

/* stripe_size bytes of the first stripe, as many of the second, and round again. */
struct volume_segment {
	uint64_t length;      /* bytes, of all stripes together */
	uint64_t stripe_size; /* bytes; without meaning if there is one stripe only */
	unsigned num_stripes;
	const struct volume_stripe *stripes;
};

/* The segments, one behind the other; they are copied, their images must outlive the volume.
 * 0, -EINVAL: stripes that make no sense, -ERANGE: bytes outside an image, -ENOMEM. */
int volume_new(const struct volume_segment *segments, unsigned num_segments, struct volume **ret);
/* [offset, offset + length) of one image. */
int volume_new_range(struct image *image, uint64_t offset, uint64_t length, struct volume **ret);
void volume_free(struct volume *v); /* NULL is ignored */

uint64_t volume_size(const struct volume *v);
/* Whether all of it is read with O_DIRECT. */
bool volume_is_direct(const struct volume *v);

/* Exactly length bytes at offset. */
int volume_read(struct volume *v, uint64_t offset, void *buf, size_t length);

/* As image_changes(), of all images. */
int volume_changes(struct volume *v, uint64_t *ret);

/*
 * Bytes that say where the volume lies, as they were before that was concluded from them.  Its
 * owner writes them before it uses the volume at another place.
 */
#define VOLUME_GUARD_BYTES 512U
#define VOLUME_MAX_GUARDS 128U
struct volume_guard {
	struct image *image;
	uint64_t offset;
	uint8_t bytes[VOLUME_GUARD_BYTES];
};

/* Copies them, in the place of those it has.  -ENOMEM, -ERANGE: outside an image, -E2BIG. */
int volume_set_guards(struct volume *v, const struct volume_guard *guards, unsigned num_guards);
/* Whether all that was read of it up to now was its own: 0, -ESTALE: it may lie elsewhere now, or
 * errors of reading. */
int volume_check(struct volume *v);

/* Where the byte at offset is, and how many bytes up to length follow it there; offset and length
 * are inside the volume. */
void volume_locate(const struct volume *v, uint64_t offset, uint64_t length,
		   struct volume_stripe *ret, uint64_t *ret_length);

#endif

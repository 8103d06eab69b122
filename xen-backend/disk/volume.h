/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * volume.h - the place of a file system: a partition, or a logical volume made of pieces of one or
 * several disks.  layout/place.c and parser/disks make volumes; parser/ and datanode/ read them,
 * and read/file_runs.c asks where their bytes are.
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

/* The bytes of a segment: stripe_size bytes of the first stripe, as many of the second, and so on,
 * then the next stripe_size bytes of the first. */
struct volume_segment {
	uint64_t length;      /* bytes, of all stripes together */
	uint64_t stripe_size; /* bytes; ignored if there is only one stripe */
	unsigned num_stripes;
	const struct volume_stripe *stripes;
};

/* Makes a volume of segments, one behind the other.  The segments are copied; their images must
 * outlive the volume.  Returns 0; -EINVAL: impossible segments or stripes; -ERANGE: bytes outside
 * an image; -ENOMEM. */
int volume_new(const struct volume_segment *segments, unsigned num_segments, struct volume **ret);
/* Makes a volume of [offset, offset + length) of one image.  Returns as volume_new() does. */
int volume_new_range(struct image *image, uint64_t offset, uint64_t length, struct volume **ret);
void volume_free(struct volume *v); /* NULL is ignored */

uint64_t volume_size(const struct volume *v);
/* True if all images of the volume are read with O_DIRECT. */
bool volume_is_direct(const struct volume *v);

/* Reads exactly length bytes at offset. */
int volume_read(struct volume *v, uint64_t offset, void *buf, size_t length);

/* Like image_changes(), for all images of the volume. */
int volume_changes(struct volume *v, uint64_t *ret);

/*
 * A guard is a copy of bytes that say where the volume lies: a sector of a partition table, or the
 * header of an LVM metadata area.  The copy was read before the volume's place was derived from it.
 * The owner changes the bytes on the disk before it uses the volume at another place.
 */
#define VOLUME_GUARD_BYTES 512U
#define VOLUME_MAX_GUARDS 128U
struct volume_guard {
	struct image *image;
	uint64_t offset;
	uint8_t bytes[VOLUME_GUARD_BYTES];
};

/* Copies the guards; they replace the guards that the volume has.  Returns 0; -ENOMEM; -ERANGE: a
 * guard outside an image; -E2BIG: more than VOLUME_MAX_GUARDS. */
int volume_set_guards(struct volume *v, const struct volume_guard *guards, unsigned num_guards);
/* Compares the guards with the disk.  Returns 0 if all bytes read from the volume up to now were
 * the volume's own; -ESTALE if the volume may lie elsewhere now; or an error of reading. */
int volume_check(struct volume *v);

/* Finds the image and offset of the byte at offset, and how many bytes, at most length, lie there
 * in one piece.  [offset, offset + length) must be inside the volume. */
void volume_locate(const struct volume *v, uint64_t offset, uint64_t length,
		   struct volume_stripe *ret, uint64_t *ret_length);

#endif

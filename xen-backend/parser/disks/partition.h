/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * partition.h - what lies on an image (partition tables, signatures of file systems, by libblkid),
 * and whether a layout still fits the images.
 *
 * A disk that was used before in another way has signatures and tables of both uses, and an image
 * does not say in which sectors its tables count. So these functions give all possible readings,
 * and the caller looks which of them has the data.
 */
#ifndef VREAD_LAYOUT_PARTITION_H
#define VREAD_LAYOUT_PARTITION_H

#include "disk/volume.h"
#include "layout/layout.h"

#define DISK_MAX_PARTITIONS 128U /* in one table */
#define DISK_MAX_SIGNATURES 4U   /* in one place */

struct disk_partition {
	unsigned number;
	uint64_t offset, length; /* bytes */
};

struct disk_table {
	unsigned unit;          /* bytes of a sector: 512 or 4096 */
	enum layout_table kind; /* LAYOUT_NONE: there is no table */
	unsigned num_partitions;
	struct disk_partition partition[DISK_MAX_PARTITIONS];
};

struct disk_signature {
	char type[32]; /* "ext4", "LVM2_member", "crypto_LUKS" */
	char uuid[40];
};

struct disk_signatures {
	struct disk_signature list[DISK_MAX_SIGNATURES];
	unsigned count;
};

/* Checks that a raw image is not a file of another format. Returns 0, or -EMEDIUMTYPE with
 * `*ret_error` (free() it). */
int disk_check_format(struct image *img, char **ret_error);
/* Reads the partition table as one of a disk with sectors of `unit` bytes. Returns 0 and `*ret`,
 * or negative errno with `*ret_error` (free() it): -ERANGE if the table needs a longer image, or an
 * error of reading. */
int disk_read_table(struct image *img, unsigned unit, struct disk_table *ret, char **ret_error);
/* Writes that the image is too short for `what`, which ends at byte `end`. Returns -ERANGE. */
int disk_truncated(struct image *img, const char *what, uint64_t end, char **ret_error);

/* Sets `*ret` to what lies on a volume: several signatures if one of them is a left-over. Returns 0
 * or negative errno. */
int disk_probe(struct volume *v, struct disk_signatures *ret);
/* True if a type that disk_probe() returned is an encrypted volume. */
bool disk_type_is_encrypted(const char *type);
/* Says why a volume of a type that disk_probe() returned is not read, and what to do instead: a
 * static string that begins with a verb.  NULL: there is nothing to say about the type. */
const char *disk_type_remedy(const char *type);

/* Checks that every file system of the layout is still where the layout says. Returns 0 and sets
 * the guards of the file systems; else -ESTALE or another negative errno, with `*ret_error`
 * saying what changed and what to do. An image may be NULL: then nothing of the layout lies on
 * it. */
int layout_check_fit(struct image *const *images, unsigned num_images, struct image_layout *layout,
		     const char *layout_path, char **ret_error);

#endif

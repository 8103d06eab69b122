/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * partition.h - what an image is (partition table, file system, by libblkid), and whether a
 * layout still fits the images. Called by parser/disks/, parser/hdfs/discover.c, parser/serve.c
 * and vread-provision.
 */
#ifndef VREAD_LAYOUT_PARTITION_H
#define VREAD_LAYOUT_PARTITION_H

#include "disk/volume.h"
#include "layout/layout.h"

#define DISK_MAX_PARTITIONS 128U

struct disk_partition {
	unsigned number;
	uint64_t offset, length; /* bytes */
};

struct disk {
	enum layout_table table;
	char type[32]; /* on the whole disk: "ext4", "LVM2_member", "crypto_LUKS", "" */
	unsigned num_partitions;
	struct disk_partition partition[DISK_MAX_PARTITIONS];
};

/* Examines an image. Returns 0 and `*ret`, or negative errno with `*ret_error` (free() it):
 * -ENODATA if it is not a disk, -ERANGE if it is truncated, -EMEDIUMTYPE if it is not in the
 * format it is configured as, or an error of reading. */
int disk_examine(struct image *img, struct disk *ret, char **ret_error);

/* Sets `type` to what lies on a volume, "" if nothing known does. `uuid` may be NULL. Returns 0
 * or negative errno. */
int disk_probe(struct volume *v, char type[32], char uuid[40]);
/* The same for a range of an image. */
int disk_probe_range(struct image *img, uint64_t offset, uint64_t length, char type[32],
		     char uuid[40]);
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

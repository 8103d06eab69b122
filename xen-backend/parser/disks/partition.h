/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * partition.h - what an image is, at a glance (libblkid), and whether a layout
 * still fits it.
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
	char type[32]; /* what lies on the whole disk: "ext4", "LVM2_member", "crypto_LUKS", "" */
	unsigned num_partitions;
	struct disk_partition partition[DISK_MAX_PARTITIONS];
};

/* 0 and *ret, or negative errno with *ret_error (free() it): -ENODATA not a disk,
 * -ERANGE truncated, -EMEDIUMTYPE not in the format it is said to be in. */
int disk_examine(struct image *img, struct disk *ret, char **ret_error);

/* What lies on a volume; "" if nothing known does.  uuid may be NULL. */
int disk_probe(struct volume *v, char type[32], char uuid[40]);
/* The same of a range of an image. */
int disk_probe_range(struct image *img, uint64_t offset, uint64_t length, char type[32],
		     char uuid[40]);
/* Whether a type as disk_probe() tells it is encryption's. */
bool disk_type_is_encrypted(const char *type);

/* 0 if every file system of the layout is still where it says, and its guards are set; else -ESTALE
 * or another negative errno with *ret_error saying what changed and what to do.  An image may be
 * NULL: nothing of the layout lies on it. */
int layout_check_fit(struct image *const *images, unsigned num_images, struct image_layout *layout,
		     const char *layout_path, char **ret_error);

#endif

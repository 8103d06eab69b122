/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inspect.h - finds what a datanode's images hold: volumes (partitions, whole disks, logical
 * volumes), file systems and data directories.  main.c and summary.c call these functions.
 */
#ifndef VREAD_PROVISION_INSPECT_H
#define VREAD_PROVISION_INSPECT_H

#include <stdbool.h>
#include <guestfs.h>

#include "layout/layout.h"
#include "parser/disks/volumes.h"

struct inspected {
	struct layout_filesystem fs;       /* type is "" if the volume holds nothing known */
	char name[LAYOUT_MAX_VOLUME_NAME]; /* as in the layout: "gpt:2" */
	const char *obstacle;              /* why vRead cannot read it; NULL if it can */
};

struct inspection {
	uint64_t *image_sizes;
	enum layout_table *tables; /* one per image */
	unsigned num_images;
	/* sorted by image, logical volumes last */
	struct inspected *volumes;
	unsigned num_volumes;
	struct volumes own; /* what vreadd would find */
};

/* 0, or negative errno with *ret_error (free() it).  -EBADMSG: libguestfs and vreadd would read
 * something differently. */
int inspect_images(guestfs_h *g, struct image *const *images, unsigned num_images,
		   const char *const *hints, unsigned num_hints, struct inspection *ret,
		   char **ret_error);
void inspection_clear(struct inspection *i);

unsigned inspection_data_dirs(const struct inspection *i);

/* Makes a layout of the volumes with data directories.  The layout shares i's memory: free() its
 * filesystems only.  False: out of memory. */
bool inspection_layout(struct inspection *i, struct image_layout *ret);

#endif

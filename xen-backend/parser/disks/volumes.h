/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * volumes.h - finds everything on a datanode's disks that may hold a file system: whole disks,
 * partitions and logical volumes. Called by fit.c, parser/hdfs/discover.c and vread-provision.
 */
#ifndef VREAD_LAYOUT_VOLUMES_H
#define VREAD_LAYOUT_VOLUMES_H

#include "layout/layout.h"

struct found_volume {
	struct layout_filesystem at; /* type is "" if nothing known is on it; no data_dirs */
	char *problem;               /* why it cannot be used; NULL: it can */
	char *group;                 /* the volume group it is a physical volume of, or NULL */
};

struct volumes {
	struct found_volume *list; /* ordered by image and partition; LVM volumes last */
	unsigned count;
	char **problems; /* one per image: why it cannot be used; NULL: it can */
	int *errors;     /* one per image: that problem as negative errno, or 0 */
	unsigned num_images;
	bool cut; /* there are too many logical volumes; some are missing */
};

#define VOLUMES_LVM_MEMBER "LVM2_member" /* the type of an LVM physical volume */

/* Skips images that are NULL. Returns 0 and `*ret` (volumes_clear() it), or -ENOMEM. */
int volumes_find(struct image *const *images, unsigned num_images, struct volumes *ret);
void volumes_clear(struct volumes *v);

#endif

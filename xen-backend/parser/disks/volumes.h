/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * volumes.h - finds everything on a datanode's disks that may hold a file system: whole disks,
 * partitions and logical volumes.
 *
 * A disk that was used before in another way has signatures or tables of both uses. Then the list
 * has the volumes of all readings, which share bytes, and the caller must look which one is in use.
 */
#ifndef VREAD_LAYOUT_VOLUMES_H
#define VREAD_LAYOUT_VOLUMES_H

#include "layout/layout.h"

struct found_volume {
	unsigned reading;            /* equal for volumes of one disk that exist side by side */
	bool alternative;            /* in the same place as the one before it in the list */
	unsigned unit;               /* bytes of a sector of its partition table; 0: in none */
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

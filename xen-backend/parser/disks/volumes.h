/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * volumes.h - everything on a datanode's disks that a file system may lie on:
 * whole disks, partitions and logical volumes.
 */
#ifndef VREAD_LAYOUT_VOLUMES_H
#define VREAD_LAYOUT_VOLUMES_H

#include "layout/layout.h"

struct found_volume {
	struct layout_filesystem at; /* type is what is on it, "" nothing known; no data_dirs */
	char *problem;               /* why nothing can be told of it; NULL: none */
	char *group;                 /* of LVM, which it belongs to as a physical volume, or NULL */
};

struct volumes {
	struct found_volume *list; /* by images, partitions in their order; then LVM's */
	unsigned count;
	char **problems; /* one per image: why it cannot be used; NULL: it can */
	int *errors;     /* one per image: the same as disk_examine() returned it */
	unsigned num_images;
	bool cut; /* logical volumes were left out, there are so many */
};

#define VOLUMES_LVM_MEMBER "LVM2_member" /* the type of a physical volume */

/* An image that is NULL is passed over.  0 and *ret (free with volumes_clear()), or -ENOMEM. */
int volumes_find(struct image *const *images, unsigned num_images, struct volumes *ret);
void volumes_clear(struct volumes *v);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lvm.h - finds the LVM2 logical volumes on a datanode's disks, and where the bytes of linear
 * and striped ones lie. Called by volumes.c.
 *
 * The physical volumes of a group are matched by their UUIDs, as the newest metadata of the
 * group says. A volume that cannot be read by adding offsets (mirror, RAID, thin volume,
 * snapshot, cache), or that is incomplete, is reported with the reason.
 *
 * A guest can write all of this data. So nothing found here lies outside its physical volumes,
 * and all counts are limited.
 */
#ifndef VREAD_LAYOUT_LVM_H
#define VREAD_LAYOUT_LVM_H

#include "layout/layout.h"

#define LVM_MAX_PHYSICAL 256U
#define LVM_MAX_VOLUMES 256U
#define LVM_MAX_NAME 127U /* name of a group, or of a volume in it */

/* One physical volume. The caller fills in where it lies; lvm_find() fills in the rest. */
struct lvm_physical {
	unsigned image;
	uint64_t offset, length;

	char group[LVM_MAX_NAME + 1]; /* "": it is in no group, or the group is unknown */
	const char *problem;          /* static text; NULL: none */
	struct layout_guards guards;  /* headers of its copies of the group's metadata */
};

struct lvm_volume {
	char name[LAYOUT_MAX_LV_NAME]; /* "group/volume" */
	struct layout_segment *segments;
	unsigned num_segments;
	bool uses[LVM_MAX_PHYSICAL]; /* which of the physical volumes it lies on */
	struct layout_guards guards;
	char *problem; /* why it cannot be read; NULL: it can */
};

struct lvm_found {
	struct lvm_volume *volumes; /* those visible to their owner */
	unsigned num_volumes;
	bool cut; /* there are more than LVM_MAX_VOLUMES */
};

/* Returns 0 and `*ret` (lvm_found_clear() it), or -ENOMEM. The caller must clear the guards of
 * `physical` in both cases. */
int lvm_find(struct image *const *images, struct lvm_physical *physical, unsigned num_physical,
	     struct lvm_found *ret);
void lvm_found_clear(struct lvm_found *f);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lvm.h - the logical volumes on a datanode's disks: which there are, and where
 * the bytes of those are that lie there plainly (linear or striped).
 *
 * A volume group is put together from physical volumes by their UUIDs, as its
 * newest metadata says.  What cannot be read by adding offsets (mirrors, RAID, thin
 * volumes, snapshots, caches), or is not whole, is told with its reason.
 *
 * Everything is a guest's to write: nothing found here lies outside its physical volumes,
 * and counts are bounded.
 */
#ifndef VREAD_LAYOUT_LVM_H
#define VREAD_LAYOUT_LVM_H

#include "layout/layout.h"

#define LVM_MAX_PHYSICAL 256U
#define LVM_MAX_VOLUMES 256U
#define LVM_MAX_NAME 127U /* of a group, and of a volume in it */

/* Where a physical volume lies; the rest is filled by lvm_find(). */
struct lvm_physical {
	unsigned image;
	uint64_t offset, length;

	char group[LVM_MAX_NAME + 1]; /* "": it is in none, or that is not known */
	const char *problem;          /* static; NULL: none */
	struct layout_guards guards;  /* headers of its copies of the group's metadata */
};

struct lvm_volume {
	char name[LAYOUT_MAX_LV_NAME]; /* "group/volume" */
	struct layout_segment *segments;
	unsigned num_segments;
	bool uses[LVM_MAX_PHYSICAL]; /* which physical volumes it lies on */
	struct layout_guards guards;
	char *problem; /* why it cannot be read; NULL: it can */
};

struct lvm_found {
	struct lvm_volume *volumes; /* those their owner can see */
	unsigned num_volumes;
	bool cut; /* there are more than LVM_MAX_VOLUMES */
};

/* 0 and *ret (free with lvm_found_clear()), or -ENOMEM; guards of physical are to be cleared in any
 * case. */
int lvm_find(struct image *const *images, struct lvm_physical *physical, unsigned num_physical,
	     struct lvm_found *ret);
void lvm_found_clear(struct lvm_found *f);

#endif

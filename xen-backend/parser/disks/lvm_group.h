/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lvm_group.h - the LVM2 volume groups on a set of physical volumes. lvm_group.c implements it;
 * only lvm.c calls it.
 *
 * For each group, the newest intact copy of its metadata is used.
 */
#ifndef VREAD_LAYOUT_LVM_GROUP_H
#define VREAD_LAYOUT_LVM_GROUP_H

#include "parser/disks/lvm.h"
#include "parser/disks/lvm_label.h"
#include "parser/disks/lvm_text.h"

#define LVM_SECTOR 512U

/* What a physical volume says about its own group. */
struct lvm_member {
	char uuid[LVM_UUID_LENGTH + 1];
	char group[LVM_UUID_LENGTH + 1]; /* UUID of the group; "": unknown */
	bool alone;                      /* it is in no group */
};

/* One volume group, as its newest metadata describes it. */
struct lvm_group {
	char uuid[LVM_UUID_LENGTH + 1];
	char name[LVM_MAX_NAME + 1];
	uint64_t seqno;
	char *raw;
	size_t length;
	struct lvm_text *text;
	const struct lvm_node *node;
	uint64_t extent; /* bytes per extent */
};

struct lvm_groups {
	struct image *const *images;
	struct lvm_physical *physical;
	unsigned num_physical;
	struct lvm_member *members; /* one per physical volume */
	struct lvm_group *list;
	unsigned count;
	size_t text_bytes; /* of the metadata of all groups together */
};

/* Reads all physical volumes and fills in their `group`, `problem` and `guards`; the caller has
 * filled in where they lie. Returns 0 and `*ret` (lvm_groups_clear() it), or -ENOMEM. */
int lvm_groups_read(struct image *const *images, struct lvm_physical *physical,
		    unsigned num_physical, struct lvm_groups *ret);
void lvm_groups_clear(struct lvm_groups *g);

/* Copies a name to `to`. Returns false if LVM does not allow such a name. */
bool lvm_take_name(struct lvm_span from, char to[LVM_MAX_NAME + 1]);
/* Copies the "id" of a section to `to`, without dashes. Returns false if the section has no
 * valid id. */
bool lvm_take_uuid(const struct lvm_node *parent, char to[LVM_UUID_LENGTH + 1]);
bool lvm_same_span(struct lvm_span a, struct lvm_span b);

#endif

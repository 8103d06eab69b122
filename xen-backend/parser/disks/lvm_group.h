/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lvm_group.h - volume groups of LVM2, put together from the physical volumes that are there;
 * private to layout/lvm*.c.
 *
 * Of each group the newest whole copy of its metadata counts.
 */
#ifndef VREAD_LAYOUT_LVM_GROUP_H
#define VREAD_LAYOUT_LVM_GROUP_H

#include "parser/disks/lvm.h"
#include "parser/disks/lvm_label.h"
#include "parser/disks/lvm_text.h"

#define LVM_SECTOR 512U

/* What a physical volume itself says of its group. */
struct lvm_member {
	char uuid[LVM_UUID_LENGTH + 1];
	char group[LVM_UUID_LENGTH + 1]; /* UUID; "": not known */
	bool alone;                      /* it is in none */
};

/* One volume group, by the newest metadata found of it. */
struct lvm_group {
	char uuid[LVM_UUID_LENGTH + 1];
	char name[LVM_MAX_NAME + 1];
	uint64_t seqno;
	char *raw;
	size_t length;
	struct lvm_text *text;
	const struct lvm_node *node;
	uint64_t extent; /* bytes */
};

struct lvm_groups {
	struct image *const *images;
	struct lvm_physical *physical;
	unsigned num_physical;
	struct lvm_member *members; /* one per physical */
	struct lvm_group *list;
	unsigned count;
	size_t text_bytes; /* of all together */
};

/* Reads all physical volumes, whose places are told, and fills in the rest of them.  0 and *ret
 * (free with lvm_groups_clear()), or -ENOMEM. */
int lvm_groups_read(struct image *const *images, struct lvm_physical *physical,
		    unsigned num_physical, struct lvm_groups *ret);
void lvm_groups_clear(struct lvm_groups *g);

/* False: from is none that LVM allows. */
bool lvm_take_name(struct lvm_span from, char to[LVM_MAX_NAME + 1]);
/* The id of a section. */
bool lvm_take_uuid(const struct lvm_node *parent, char to[LVM_UUID_LENGTH + 1]);
bool lvm_same_span(struct lvm_span a, struct lvm_span b);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the physical volumes and puts their volume groups together. lvm.c calls it; lvm_group.h
 * describes the functions.
 */
#include "parser/disks/lvm_group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT_BYTES LVM_TEXT_MAX_BYTES /* metadata of all groups together */

/* ---- names and UUIDs --------------------------------------------------------------- */

bool lvm_take_name(struct lvm_span from, char to[LVM_MAX_NAME + 1])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789+_.-";

	if (from.length == 0 || from.length > LVM_MAX_NAME || from.at[0] == '-' ||
	    (from.at[0] == '.' && from.length <= 2))
		return false;
	memcpy(to, from.at, from.length);
	to[from.length] = '\0';
	return strspn(to, letters) == from.length;
}

bool lvm_same_span(struct lvm_span a, struct lvm_span b)
{
	return a.length == b.length && !memcmp(a.at, b.at, a.length);
}

/* In the text, a UUID has dashes. */
bool lvm_take_uuid(const struct lvm_node *parent, char to[LVM_UUID_LENGTH + 1])
{
	const struct lvm_node *id = lvm_child(parent, "id", LVM_STRING);
	size_t n = 0;

	for (size_t i = 0; id && i < id->string.length; i++) {
		if (id->string.at[i] == '-')
			continue;
		if (n == LVM_UUID_LENGTH)
			return false;
		to[n++] = id->string.at[i];
	}
	to[n] = '\0';
	return n == LVM_UUID_LENGTH;
}

/* ---- groups --------------------------------------------------------------------- */

static void group_clear(struct lvm_group *g)
{
	lvm_text_free(g->text);
	free(g->raw);
	*g = (struct lvm_group){0};
}

/* Finds the only section of a metadata text, and the name, UUID, number and extent size in it.
 * Returns false if one is missing. */
static bool describe_group(struct lvm_group *g)
{
	const struct lvm_node *n = lvm_text_root(g->text)->child;
	uint64_t sectors = 0;

	while (n && n->kind != LVM_SECTION)
		n = n->next;
	g->node = n;
	return n && lvm_take_name(n->name, g->name) && lvm_take_uuid(n, g->uuid) &&
	       lvm_number(n, "seqno", &g->seqno) && lvm_number(n, "extent_size", &sectors) &&
	       sectors != 0 && !__builtin_mul_overflow(sectors, LVM_SECTOR, &g->extent);
}

/* Takes over `*g`. Of two copies of a group's metadata, only the newer one is kept. */
static void keep_newest(struct lvm_groups *all, struct lvm_group *g)
{
	for (unsigned i = 0; i < all->count; i++) {
		struct lvm_group *known = &all->list[i], older = *known;

		if (strcmp(known->uuid, g->uuid))
			continue;
		if (g->seqno > known->seqno)
			*known = *g;
		else
			older = *g;
		all->text_bytes -= older.length;
		group_clear(&older);
		return;
	}
	all->list[all->count++] = *g;
}

/* Returns 0 or an error of lvm_metadata_read() or lvm_text_parse(). */
static int read_group(struct lvm_groups *all, struct volume *pv, const struct lvm_area *area,
		      uint8_t ret_header[LVM_HEADER_BYTES], struct lvm_group *ret,
		      const char **ret_reason)
{
	int r = lvm_metadata_read(pv, area, ret_header, &ret->raw, &ret->length, ret_reason);

	if (r == 0 && ret->length > MAX_TEXT_BYTES - all->text_bytes) {
		*ret_reason = "the LVM metadata of all images together is too long";
		return -EINVAL;
	}
	if (r == 0)
		r = lvm_text_parse(ret->raw, ret->length, &ret->text, ret_reason);
	if (r == 0 && !describe_group(ret)) {
		*ret_reason = "its metadata does not describe a volume group";
		return -EINVAL;
	}
	return r;
}

static int read_area(struct lvm_groups *all, struct volume *pv, const struct lvm_area *area,
		     unsigned number)
{
	struct lvm_physical *physical = &all->physical[number];
	struct layout_guard guard = {physical->image, physical->offset + area->offset, {0}};
	struct lvm_group g = {0};
	int r = read_group(all, pv, area, guard.bytes, &g, &physical->problem);

	if (r == 0)
		r = layout_guards_add(&physical->guards, &guard);
	if (r < 0) {
		group_clear(&g);
		return r;
	}
	strcpy(physical->group, g.name);
	strcpy(all->members[number].group, g.uuid);
	all->text_bytes += g.length;
	keep_newest(all, &g);
	return 0;
}

/* Reads all metadata areas. One intact copy is enough. */
static int read_areas(struct lvm_groups *all, struct volume *pv, const struct lvm_label *label,
		      unsigned number)
{
	unsigned whole = 0, empty = 0;

	for (unsigned i = 0; i < label->num_metadata; i++) {
		int r = read_area(all, pv, &label->metadata[i], number);

		if (r == -ENOMEM)
			return r;
		whole += r == 0;
		empty += r == -ENODATA;
	}
	if (whole)
		all->physical[number].problem = NULL;
	all->members[number].alone = empty && empty == label->num_metadata;
	return 0;
}

static int read_physical(struct lvm_groups *all, unsigned number)
{
	struct lvm_physical *physical = &all->physical[number];
	struct lvm_label label = {0};
	struct volume *pv;
	int r = volume_new_range(all->images[physical->image], physical->offset, physical->length,
				 &pv);

	physical->group[0] = '\0';
	physical->problem = NULL;
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		physical->problem = "it lies outside the image";
		return 0;
	}
	if (lvm_label_read(pv, &label, &physical->problem) == 0) {
		strcpy(all->members[number].uuid, label.uuid);
		r = read_areas(all, pv, &label, number);
	}
	volume_free(pv);
	return r;
}

int lvm_groups_read(struct image *const *images, struct lvm_physical *physical,
		    unsigned num_physical, struct lvm_groups *ret)
{
	int r = 0;

	*ret = (struct lvm_groups){.images = images,
				   .physical = physical,
				   .num_physical = num_physical};
	/* Each area may hold the metadata of a different group. */
	ret->list = calloc((size_t)num_physical * LVM_MAX_METADATA_AREAS, sizeof(*ret->list));
	ret->members = calloc(num_physical, sizeof(*ret->members));
	if (!ret->list || !ret->members)
		r = -ENOMEM;
	for (unsigned i = 0; i < num_physical && r == 0; i++)
		r = read_physical(ret, i);
	if (r < 0)
		lvm_groups_clear(ret);
	return r;
}

void lvm_groups_clear(struct lvm_groups *g)
{
	for (unsigned i = 0; i < g->count; i++)
		group_clear(&g->list[i]);
	free(g->list);
	free(g->members);
	*g = (struct lvm_groups){0};
}

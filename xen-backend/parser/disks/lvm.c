// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the logical volumes of LVM2 groups and maps them segment by segment. volumes.c calls it;
 * lvm.h describes the functions.
 */
#include "parser/disks/lvm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser/disks/lvm_group.h"

#define MAX_GROUP_PHYSICAL 1024U

struct finder {
	struct lvm_groups groups;
	struct lvm_found *found;
};

/* The volume that is being examined. */
struct candidate {
	const struct lvm_group *group;
	const struct lvm_node *node;
	struct lvm_volume *volume;
};

/* Records why the volume cannot be read. Returns -EINVAL, or -ENOMEM if there is no memory for
 * the reason. */
__attribute__((format(printf, 2, 3))) static int refuse(struct candidate *c, const char *format,
							...)
{
	va_list ap;
	int r;

	va_start(ap, format);
	r = vasprintf(&c->volume->problem, format, ap);
	va_end(ap);
	if (r < 0)
		c->volume->problem = NULL;
	return r < 0 ? -ENOMEM : -EINVAL;
}

/* Finds the physical volume with that UUID. There must be exactly one. */
static int find_place(const struct finder *f, struct candidate *c, const char *uuid,
		      const struct lvm_physical **ret)
{
	const struct lvm_member *m = NULL;

	for (unsigned i = 0; i < f->groups.num_physical; i++) {
		if (strcmp(f->groups.members[i].uuid, uuid))
			continue;
		if (m)
			return refuse(c, "there are two physical volumes with the UUID %s", uuid);
		m = &f->groups.members[i];
		*ret = &f->groups.physical[i];
	}
	if (!m)
		return refuse(c, "physical volume %s of its group is on none of the disks", uuid);
	/* Metadata left on a disk that was missing for a time can be older than the physical
	 * volume's move to another group. */
	if (m->alone || (m->group[0] && strcmp(m->group, c->group->uuid)))
		return refuse(c, "physical volume %s is no longer in its group", uuid);
	c->volume->uses[m - f->groups.members] = true;
	return 0;
}

static int find_physical(const struct finder *f, struct candidate *c, struct lvm_span name,
			 const struct lvm_node **ret_node, const struct lvm_physical **ret)
{
	const struct lvm_node *all = lvm_child(c->group->node, "physical_volumes", LVM_SECTION);
	const struct lvm_node *n = all ? all->child : NULL;
	char uuid[LVM_UUID_LENGTH + 1];

	while (n && !(n->kind == LVM_SECTION && lvm_same_span(n->name, name)))
		n = n->next;
	if (!n)
		return refuse(
			c, "it lies on %.*s, which is not a physical volume (it is being moved?)",
			(int)(name.length < LVM_MAX_NAME ? name.length : LVM_MAX_NAME), name.at);
	if (!lvm_take_uuid(n, uuid))
		return refuse(c, "a physical volume of its group has no UUID");
	if (lvm_has_flag(n, "flags", "MISSING") || lvm_has_flag(n, "status", "MISSING"))
		return refuse(c, "physical volume %s is marked as missing", uuid);
	*ret_node = n;
	return find_place(f, c, uuid, ret);
}

/* Finds where extent `first` of a physical volume lies in its image. Returns false if not all of
 * the `count` extents from there are inside the physical volume. */
static bool place_extents(const struct candidate *c, const struct lvm_node *pv,
			  const struct lvm_physical *at, uint64_t first, uint64_t count,
			  struct layout_stripe *ret)
{
	uint64_t start = 0, extents = 0, end, offset;

	if (!lvm_number(pv, "pe_start", &start) || !lvm_number(pv, "pe_count", &extents) ||
	    first > extents || count > extents - first)
		return false;
	if (__builtin_mul_overflow(start, LVM_SECTOR, &start) ||
	    __builtin_mul_overflow(first, c->group->extent, &offset) ||
	    __builtin_add_overflow(offset, start, &offset) ||
	    __builtin_mul_overflow(count, c->group->extent, &end) ||
	    __builtin_add_overflow(end, offset, &end) || end > at->length)
		return false;
	*ret = (struct layout_stripe){at->image, at->offset + offset};
	return true;
}

/* Reads stripes = ["pv0", FIRST-EXTENT, "pv1", FIRST-EXTENT ...]; each stripe has `count`
 * extents. */
static int add_stripes(const struct finder *f, struct candidate *c, const struct lvm_node *segment,
		       uint64_t count, struct layout_segment *s)
{
	const struct lvm_node *list = lvm_child(segment, "stripes", LVM_LIST);
	const struct lvm_node *n = list ? list->child : NULL;

	for (unsigned i = 0; i < s->num_stripes; i++) {
		const struct lvm_physical *at = NULL;
		const struct lvm_node *pv = NULL;
		int r;

		if (!n || n->kind != LVM_STRING || !n->next || n->next->kind != LVM_NUMBER)
			return refuse(c, "a segment's list of stripes is invalid");
		r = find_physical(f, c, n->string, &pv, &at);
		if (r < 0)
			return r;
		if (!place_extents(c, pv, at, n->next->number, count, &s->stripes[i]))
			return refuse(c, "a segment lies outside its physical volume");
		n = n->next->next;
	}
	return n ? refuse(c, "a segment's list of stripes is invalid") : 0;
}

static bool segment_numbers(const struct candidate *c, const struct lvm_node *segment,
			    uint64_t extents, struct layout_segment *ret)
{
	uint64_t stripes = 0, size = 0;

	if (!lvm_number(segment, "stripe_count", &stripes) || stripes == 0 ||
	    stripes > VOLUME_MAX_STRIPES || extents == 0 || extents % stripes ||
	    __builtin_mul_overflow(extents, c->group->extent, &ret->length))
		return false;
	ret->num_stripes = (unsigned)stripes;
	if (stripes == 1)
		return true;
	return lvm_number(segment, "stripe_size", &size) && size != 0 &&
	       !__builtin_mul_overflow(size, LVM_SECTOR, &ret->stripe_size) &&
	       ret->length / stripes % ret->stripe_size == 0;
}

/* `*extents` is the number of extents before this segment; this segment's are added. */
static int add_segment(const struct finder *f, struct candidate *c, const struct lvm_node *segment,
		       uint64_t *extents)
{
	const struct lvm_node *type = lvm_child(segment, "type", LVM_STRING);
	struct layout_segment *s = &c->volume->segments[c->volume->num_segments];
	uint64_t start = 0, count = 0;

	if (!type)
		return refuse(c, "one of its segments has no type");
	if (!lvm_span_is(type->string, "striped") && !lvm_span_is(type->string, "linear"))
		return refuse(c, "it is of type %.*s",
			      (int)(type->string.length < 32 ? type->string.length : 32),
			      type->string.at);
	if (!lvm_number(segment, "start_extent", &start) || start != *extents ||
	    !lvm_number(segment, "extent_count", &count) ||
	    __builtin_add_overflow(start, count, extents) || !segment_numbers(c, segment, count, s))
		return refuse(c, "a segment has an invalid start, length or number of stripes");
	s->stripes = calloc(s->num_stripes, sizeof(*s->stripes));
	if (!s->stripes)
		return -ENOMEM;
	c->volume->num_segments++;
	return add_stripes(f, c, segment, count / s->num_stripes, s);
}

static bool is_segment(const struct lvm_node *n)
{
	return n->kind == LVM_SECTION && n->name.length > 7 && !memcmp(n->name.at, "segment", 7);
}

static int add_segments(const struct finder *f, struct candidate *c)
{
	uint64_t told = 0, extents = 0;
	int r = 0;

	if (!lvm_number(c->node, "segment_count", &told) || told == 0 || told > VOLUME_MAX_SEGMENTS)
		return refuse(c, "it has no segments, or more than %u", VOLUME_MAX_SEGMENTS);
	c->volume->segments = calloc((size_t)told, sizeof(*c->volume->segments));
	if (!c->volume->segments)
		return -ENOMEM;
	for (const struct lvm_node *n = c->node->child; n && r == 0; n = n->next) {
		if (!is_segment(n))
			continue;
		r = c->volume->num_segments == told
			    ? refuse(c, "it has more segments than its segment_count")
			    : add_segment(f, c, n, &extents);
	}
	if (r == 0 && c->volume->num_segments != told)
		r = refuse(c, "it has fewer segments than its segment_count");
	return r;
}

static bool is_named(const struct lvm_node *segment, const char *role, struct lvm_span name)
{
	const struct lvm_node *n = lvm_child(segment, role, LVM_STRING);

	return n && lvm_same_span(n->string, name);
}

static int check_snapshot(struct candidate *c, const struct lvm_node *segment)
{
	struct lvm_span name = c->node->name;

	if (is_named(segment, "cow_store", name) || is_named(segment, "merging_store", name))
		return refuse(c, "it is of type snapshot");
	if (is_named(segment, "origin", name) && lvm_child(segment, "merging_store", LVM_STRING))
		return refuse(c, "a snapshot is being merged into it");
	return 0;
}

/* A snapshot is a hidden volume whose segment names the volumes that take part. Nothing in those
 * volumes says so. So the segments of all volumes are searched. */
static int check_snapshots(struct candidate *c)
{
	const struct lvm_node *all = lvm_child(c->group->node, "logical_volumes", LVM_SECTION);
	int r = 0;

	for (const struct lvm_node *lv = all->child; lv && r == 0; lv = lv->next)
		for (const struct lvm_node *s = lv->child; s && r == 0; s = s->next)
			if (is_segment(s))
				r = check_snapshot(c, s);
	return r;
}

static int check_group(const struct finder *f, struct candidate *c)
{
	const struct lvm_group *g = c->group;
	const struct lvm_node *all = lvm_child(g->node, "physical_volumes", LVM_SECTION);
	unsigned count = 0;

	/* The list is searched once for each stripe, so its length is limited. */
	for (const struct lvm_node *n = all ? all->child : NULL; n; n = n->next)
		if (++count > MAX_GROUP_PHYSICAL)
			return refuse(c, "its group has more than %u physical volumes",
				      MAX_GROUP_PHYSICAL);
	for (unsigned i = 0; i < f->groups.count; i++)
		if (&f->groups.list[i] != g && !strcmp(f->groups.list[i].name, g->name))
			return refuse(c, "there are two volume groups of that name; rename one "
					 "(vgrename)");
	if (lvm_has_flag(g->node, "status", "EXPORTED") ||
	    lvm_has_flag(g->node, "flags", "EXPORTED"))
		return refuse(c, "its volume group is exported");
	if (lvm_has_flag(g->node, "status", "PARTIAL") || lvm_has_flag(g->node, "flags", "PARTIAL"))
		return refuse(c, "its volume group is partial");
	return 0;
}

/* Refuses a volume that has any status but these, which do not affect where bytes lie. */
static int check_status(struct candidate *c)
{
	static const char *const harmless[] = {"READ",   "WRITE",       "VISIBLE",
					       "LOCKED", "FIXED_MINOR", "WRITE_LOCKED"};
	const struct lvm_node *list = lvm_child(c->node, "status", LVM_LIST);

	for (const struct lvm_node *n = list->child; n; n = n->next) {
		bool known = false;

		for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
			known |= n->kind == LVM_STRING && lvm_span_is(n->string, harmless[i]);
		if (!known)
			return refuse(c, "it has the status %.*s",
				      (int)(n->string.length < 32 ? n->string.length : 32),
				      n->string.length ? n->string.at : "");
	}
	return 0;
}

/* Collects the guards of a volume. LVM writes a change to all physical volumes before the
 * changed extents are used. So the metadata headers on the volume's own physical volumes are
 * enough. If those have no metadata, all others of the group are taken. */
static int add_guards(const struct finder *f, struct candidate *c)
{
	struct lvm_volume *v = c->volume;
	bool any = false;
	int r = 0;

	for (unsigned i = 0; i < f->groups.num_physical; i++)
		any |= v->uses[i] && f->groups.physical[i].guards.count;
	for (unsigned i = 0; i < f->groups.num_physical && r == 0; i++)
		if (any ? v->uses[i] : !strcmp(f->groups.members[i].group, c->group->uuid))
			r = layout_guards_add_all(&v->guards, &f->groups.physical[i].guards);
	if (r == -E2BIG)
		return refuse(c, "its place depends on more than %u copies of its group's metadata",
			      VOLUME_MAX_GUARDS);
	return r;
}

static int fill_volume(const struct finder *f, struct candidate *c)
{
	int r = check_group(f, c);

	if (r == 0)
		r = check_status(c);
	if (r == 0)
		r = check_snapshots(c);
	if (r == 0)
		r = add_segments(f, c);
	return r < 0 ? r : add_guards(f, c);
}

static void clear_segments(struct lvm_volume *v)
{
	for (unsigned i = 0; i < v->num_segments; i++)
		free(v->segments[i].stripes);
	free(v->segments);
	v->segments = NULL;
	v->num_segments = 0;
}

static int add_volume(struct finder *f, const struct lvm_group *g, const struct lvm_node *node)
{
	struct lvm_volume *v = &f->found->volumes[f->found->num_volumes];
	struct candidate c = {g, node, v};
	char name[LVM_MAX_NAME + 1];
	int r;

	if (node->kind != LVM_SECTION || !lvm_has_flag(node, "status", "VISIBLE") ||
	    !lvm_take_name(node->name, name))
		return 0;
	if (f->found->num_volumes == LVM_MAX_VOLUMES) {
		f->found->cut = true;
		return 0;
	}
	f->found->num_volumes++;
	snprintf(v->name, sizeof(v->name), "%s/%s", g->name, name);
	r = fill_volume(f, &c);
	if (r < 0)
		clear_segments(v);
	return r == -ENOMEM ? r : 0;
}

static int add_volumes(struct finder *f)
{
	int r = 0;

	f->found->volumes = calloc(LVM_MAX_VOLUMES + 1, sizeof(*f->found->volumes));
	if (!f->found->volumes)
		return -ENOMEM;
	for (unsigned i = 0; i < f->groups.count; i++) {
		const struct lvm_node *all =
			lvm_child(f->groups.list[i].node, "logical_volumes", LVM_SECTION);

		for (const struct lvm_node *n = all ? all->child : NULL; n && r == 0; n = n->next)
			r = add_volume(f, &f->groups.list[i], n);
	}
	return r;
}

int lvm_find(struct image *const *images, struct lvm_physical *physical, unsigned num_physical,
	     struct lvm_found *ret)
{
	struct lvm_found found = {0};
	struct finder f = {.found = &found};
	int r = 0;

	if (num_physical)
		r = lvm_groups_read(images, physical, num_physical, &f.groups);
	if (r == 0)
		r = add_volumes(&f);
	lvm_groups_clear(&f.groups);
	if (r < 0)
		lvm_found_clear(&found);
	else
		*ret = found;
	return r;
}

void lvm_found_clear(struct lvm_found *f)
{
	for (unsigned i = 0; i < f->num_volumes; i++) {
		clear_segments(&f->volumes[i]);
		layout_guards_clear(&f->volumes[i].guards);
		free(f->volumes[i].problem);
	}
	free(f->volumes);
	*f = (struct lvm_found){0};
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds volumes that share bytes: sorts the pieces of all volumes by their place on the disks, and
 * compares each piece with the one before it that reaches farthest. volumes.c calls it; overlap.h
 * describes the function.
 */
#include "parser/disks/overlap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes of one image that belong to a volume. */
struct piece {
	unsigned image;
	uint64_t start, end;
	unsigned volume; /* index in the list of volumes */
};

struct pieces {
	struct piece *list;
	size_t count;
};

/* Physical volumes and extended partitions contain other volumes; nobody reads files from them. */
static bool can_be_read(const struct found_volume *v)
{
	return !v->problem && layout_type_valid(v->at.type);
}

static size_t count_pieces(const struct layout_filesystem *at)
{
	size_t count = 0;

	if (!at->num_segments)
		return 1;
	for (unsigned i = 0; i < at->num_segments; i++)
		count += at->segments[i].num_stripes;
	return count;
}

static void add_pieces(struct pieces *p, const struct layout_filesystem *at, unsigned volume)
{
	if (!at->num_segments)
		p->list[p->count++] =
			(struct piece){at->image, at->offset, at->offset + at->length, volume};
	for (unsigned i = 0; i < at->num_segments; i++) {
		const struct layout_segment *s = &at->segments[i];

		for (unsigned k = 0; k < s->num_stripes; k++) {
			const struct layout_stripe *at_stripe = &s->stripes[k];
			uint64_t length = s->length / s->num_stripes;

			p->list[p->count++] = (struct piece){at_stripe->image, at_stripe->offset,
							     at_stripe->offset + length, volume};
		}
	}
}

static int collect(const struct volumes *v, struct pieces *ret)
{
	size_t count = 0;

	for (unsigned i = 0; i < v->count; i++)
		if (can_be_read(&v->list[i]))
			count += count_pieces(&v->list[i].at);
	ret->list = calloc(count + 1, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	for (unsigned i = 0; i < v->count; i++)
		if (can_be_read(&v->list[i]))
			add_pieces(ret, &v->list[i].at, i);
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct piece *p = a, *q = b;

	if (p->image != q->image)
		return p->image < q->image ? -1 : 1;
	return p->start < q->start ? -1 : p->start > q->start;
}

static int refuse(struct found_volume *v, const struct found_volume *other)
{
	char place[LAYOUT_MAX_PLACE];
	int length;

	if (v->problem)
		return 0;
	length = v == other ? asprintf(&v->problem, "it has the same bytes twice")
			    : asprintf(&v->problem, "it shares bytes with %s",
				       layout_place(&other->at, place));
	if (length >= 0)
		return 0;
	v->problem = NULL;
	return -ENOMEM;
}

static int refuse_both(struct volumes *v, const struct piece *p, const struct piece *q)
{
	struct found_volume *a = &v->list[p->volume], *b = &v->list[q->volume];
	int r = refuse(a, b);

	return r < 0 ? r : refuse(b, a);
}

int volumes_refuse_overlaps(struct volumes *v)
{
	const struct piece *farthest;
	struct pieces p = {0};
	int r = collect(v, &p);

	if (r < 0)
		return r;
	qsort(p.list, p.count, sizeof(*p.list), by_place);
	farthest = p.list;
	for (size_t i = 1; i < p.count && r == 0; i++) {
		const struct piece *next = &p.list[i];

		if (next->image == farthest->image && next->start < farthest->end)
			r = refuse_both(v, farthest, next);
		if (next->image != farthest->image || next->end > farthest->end)
			farthest = next;
	}
	free(p.list);
	return r;
}

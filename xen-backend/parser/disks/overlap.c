// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds volumes that share bytes: sorts the pieces of all volumes by their place on the disks, and
 * compares each piece with the one before it that reaches farthest.
 */
#include "parser/disks/overlap.h"

#include <errno.h>
#include <stdlib.h>

/* Bytes of one image that belong to a volume. */
struct piece {
	unsigned reading, image;
	uint64_t start, end;
	unsigned volume; /* index in the list of volumes */
};

struct pieces {
	struct piece *list;
	size_t count;
};

static size_t count_pieces(const struct layout_filesystem *at)
{
	size_t count = 0;

	if (!at->num_segments)
		return 1;
	for (unsigned i = 0; i < at->num_segments; i++)
		count += at->segments[i].num_stripes;
	return count;
}

static void add_piece(struct pieces *p, const struct overlap_volume *v, unsigned volume,
		      const struct layout_stripe *at, uint64_t length)
{
	p->list[p->count++] = (struct piece){.reading = v->reading,
					     .image = at->image,
					     .start = at->offset,
					     .end = at->offset + length,
					     .volume = volume};
}

static void add_pieces(struct pieces *p, const struct overlap_volume *v, unsigned volume)
{
	const struct layout_filesystem *at = v->at;

	if (!at->num_segments)
		add_piece(p, v, volume, &(struct layout_stripe){at->image, at->offset}, at->length);
	for (unsigned i = 0; i < at->num_segments; i++) {
		const struct layout_segment *s = &at->segments[i];

		for (unsigned k = 0; k < s->num_stripes; k++)
			add_piece(p, v, volume, &s->stripes[k], s->length / s->num_stripes);
	}
}

static int collect(const struct overlap_volume *list, unsigned count, struct pieces *ret)
{
	size_t pieces = 0;

	for (unsigned i = 0; i < count; i++)
		if (list[i].at)
			pieces += count_pieces(list[i].at);
	ret->list = calloc(pieces + 1, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++)
		if (list[i].at)
			add_pieces(ret, &list[i], i);
	return 0;
}

static bool same_disk(const struct piece *p, const struct piece *q)
{
	return p->reading == q->reading && p->image == q->image;
}

static int by_place(const void *a, const void *b)
{
	const struct piece *p = a, *q = b;

	if (p->reading != q->reading)
		return p->reading < q->reading ? -1 : 1;
	if (p->image != q->image)
		return p->image < q->image ? -1 : 1;
	return p->start < q->start ? -1 : p->start > q->start;
}

int overlaps_find(const struct overlap_volume *list, unsigned count, overlap_cb *cb, void *ctx)
{
	const struct piece *farthest;
	struct pieces p = {0};
	int r = collect(list, count, &p);

	if (r < 0)
		return r;
	qsort(p.list, p.count, sizeof(*p.list), by_place);
	farthest = p.list;
	for (size_t i = 1; i < p.count && r == 0; i++) {
		const struct piece *next = &p.list[i];

		if (same_disk(next, farthest) && next->start < farthest->end)
			r = cb(ctx, farthest->volume, next->volume);
		if (!same_disk(next, farthest) || next->end > farthest->end)
			farthest = next;
	}
	free(p.list);
	return r;
}

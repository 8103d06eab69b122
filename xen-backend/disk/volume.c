// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a volume piece by piece; see volume.h.  Called by layout/place.c, datanode/, parser/ and
 * read/.
 */
#include "disk/volume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct segment {
	uint64_t start, length;
	uint64_t stripe_size;
	unsigned num_stripes;
	struct volume_stripe *stripes;
};

struct volume {
	uint64_t size;
	struct volume_guard *guards;
	unsigned num_guards;
	unsigned num_segments;
	struct segment segments[];
};

static int check_segment(const struct volume_segment *s)
{
	uint64_t each;

	if (s->length == 0 || s->num_stripes == 0 || s->num_stripes > VOLUME_MAX_STRIPES)
		return -EINVAL;
	each = s->length / s->num_stripes;
	if (s->num_stripes > 1 &&
	    (s->stripe_size == 0 || s->length % s->num_stripes || each % s->stripe_size))
		return -EINVAL;
	for (unsigned i = 0; i < s->num_stripes; i++) {
		uint64_t size = image_size(s->stripes[i].image);

		if (s->stripes[i].offset > size || each > size - s->stripes[i].offset)
			return -ERANGE;
	}
	return 0;
}

static int add_segment(struct volume *v, const struct volume_segment *from)
{
	struct segment *s = &v->segments[v->num_segments];
	int r = check_segment(from);

	if (r < 0)
		return r;
	if (__builtin_add_overflow(v->size, from->length, &v->size))
		return -EINVAL;
	s->stripes = reallocarray(NULL, from->num_stripes, sizeof(*s->stripes));
	if (!s->stripes)
		return -ENOMEM;
	memcpy(s->stripes, from->stripes, from->num_stripes * sizeof(*s->stripes));
	s->start = v->size - from->length;
	s->length = from->length;
	s->stripe_size = from->num_stripes > 1 ? from->stripe_size : from->length;
	s->num_stripes = from->num_stripes;
	v->num_segments++;
	return 0;
}

int volume_new(const struct volume_segment *segments, unsigned num_segments, struct volume **ret)
{
	struct volume *v;
	int r = 0;

	if (num_segments == 0 || num_segments > VOLUME_MAX_SEGMENTS)
		return -EINVAL;
	v = calloc(1, sizeof(*v) + num_segments * sizeof(v->segments[0]));
	if (!v)
		return -ENOMEM;
	for (unsigned i = 0; i < num_segments && r == 0; i++)
		r = add_segment(v, &segments[i]);
	if (r < 0) {
		volume_free(v);
		return r;
	}
	*ret = v;
	return 0;
}

int volume_new_range(struct image *image, uint64_t offset, uint64_t length, struct volume **ret)
{
	struct volume_stripe stripe = {image, offset};

	return volume_new(&(struct volume_segment){length, 0, 1, &stripe}, 1, ret);
}

void volume_free(struct volume *v)
{
	if (!v)
		return;
	for (unsigned i = 0; i < v->num_segments; i++)
		free(v->segments[i].stripes);
	free(v->guards);
	free(v);
}

uint64_t volume_size(const struct volume *v)
{
	return v->size;
}

static const struct segment *find_segment(const struct volume *v, uint64_t offset)
{
	unsigned low = 0, high = v->num_segments;

	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (v->segments[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}
	return &v->segments[low];
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void volume_locate(const struct volume *v, uint64_t offset, uint64_t length,
		   struct volume_stripe *ret, uint64_t *ret_length)
{
	const struct segment *s = find_segment(v, offset);
	uint64_t at = offset - s->start;
	uint64_t stripe = at / s->stripe_size, within = at % s->stripe_size;

	*ret = s->stripes[stripe % s->num_stripes];
	ret->offset += stripe / s->num_stripes * s->stripe_size + within;
	*ret_length = least(length, s->stripe_size - within);
}

int volume_read(struct volume *v, uint64_t offset, void *buf, size_t length)
{
	uint8_t *to = buf;

	if (offset > v->size || length > v->size - offset)
		return -EIO;
	while (length > 0) {
		struct volume_stripe at;
		uint64_t n;
		int r;

		volume_locate(v, offset, length, &at, &n);
		r = image_read(at.image, at.offset, to, (size_t)n);
		if (r < 0)
			return r;
		to += n;
		offset += n;
		length -= (size_t)n;
	}
	return 0;
}

typedef bool image_fn(struct image *image, void *ctx);

/* Calls fn for the image of every stripe until fn returns false. */
static bool for_each_image(const struct volume *v, image_fn *fn, void *ctx)
{
	for (unsigned i = 0; i < v->num_segments; i++)
		for (unsigned k = 0; k < v->segments[i].num_stripes; k++)
			if (!fn(v->segments[i].stripes[k].image, ctx))
				return false;
	return true;
}

static bool is_direct(struct image *image, void *ctx)
{
	(void)ctx;
	return image_is_direct(image);
}

bool volume_is_direct(const struct volume *v)
{
	return for_each_image(v, is_direct, NULL);
}

/* Counts of changes only grow, so their sum is equal only if each count is. */
struct sum {
	const struct image *last;
	uint64_t changes;
	int error;
};

static bool add_changes(struct image *image, void *ctx)
{
	struct sum *sum = ctx;
	uint64_t changes = 0;

	if (image == sum->last)
		return true;
	sum->last = image;
	sum->error = image_changes(image, &changes);
	sum->changes += changes;
	return sum->error == 0;
}

int volume_changes(struct volume *v, uint64_t *ret)
{
	struct sum sum = {0};

	for_each_image(v, add_changes, &sum);
	*ret = sum.changes;
	return sum.error;
}

int volume_set_guards(struct volume *v, const struct volume_guard *guards, unsigned num_guards)
{
	struct volume_guard *copy;

	if (num_guards > VOLUME_MAX_GUARDS)
		return -E2BIG;
	for (unsigned i = 0; i < num_guards; i++) {
		uint64_t size = image_size(guards[i].image);

		if (guards[i].offset > size || VOLUME_GUARD_BYTES > size - guards[i].offset)
			return -ERANGE;
	}
	copy = calloc(num_guards + 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	if (num_guards)
		memcpy(copy, guards, num_guards * sizeof(*copy));
	free(v->guards);
	v->guards = copy;
	v->num_guards = num_guards;
	return 0;
}

int volume_check(struct volume *v)
{
	for (unsigned i = 0; i < v->num_guards; i++) {
		const struct volume_guard *g = &v->guards[i];
		uint8_t now[VOLUME_GUARD_BYTES];
		int r = image_read(g->image, g->offset, now, sizeof(now));

		if (r < 0)
			return r;
		if (memcmp(now, g->bytes, sizeof(now)) != 0)
			return -ESTALE;
	}
	return 0;
}

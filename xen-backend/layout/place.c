// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes a volume of the numbers in a layout; see place.h.  Called by datanode/load.c, vread-parser
 * and vread-provision.
 */
#include "layout/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned count_stripes(const struct layout_filesystem *lfs)
{
	unsigned n = 0;

	for (unsigned i = 0; i < lfs->num_segments; i++)
		n += lfs->segments[i].num_stripes;
	return n;
}

static int logical_volume(struct image *const *images, const struct layout_filesystem *lfs,
			  struct volume **ret)
{
	struct volume_segment *segments = calloc(lfs->num_segments, sizeof(*segments));
	struct volume_stripe *stripes = calloc(count_stripes(lfs), sizeof(*stripes)), *next;
	int r = segments && stripes ? 0 : -ENOMEM;

	next = stripes;
	for (unsigned i = 0; r == 0 && i < lfs->num_segments; i++) {
		const struct layout_segment *s = &lfs->segments[i];

		segments[i] =
			(struct volume_segment){s->length, s->stripe_size, s->num_stripes, next};
		for (unsigned k = 0; k < s->num_stripes; k++) {
			if (!images[s->stripes[k].image])
				r = -EIO;
			*next++ = (struct volume_stripe){images[s->stripes[k].image],
							 s->stripes[k].offset};
		}
	}
	if (r == 0)
		r = volume_new(segments, lfs->num_segments, ret);
	free(segments);
	free(stripes);
	return r;
}

static int set_guards(struct image *const *images, const struct layout_guards *from,
		      struct volume *v)
{
	struct volume_guard *guards = calloc(from->count + 1, sizeof(*guards));
	int r = guards ? 0 : -ENOMEM;

	for (unsigned i = 0; i < from->count && r == 0; i++) {
		const struct layout_guard *g = &from->list[i];

		guards[i] = (struct volume_guard){images[g->image], g->offset, {0}};
		memcpy(guards[i].bytes, g->bytes, sizeof(g->bytes));
		r = guards[i].image ? 0 : -EIO;
	}
	if (r == 0)
		r = volume_set_guards(v, guards, from->count);
	free(guards);
	return r;
}

int layout_volume(struct image *const *images, const struct layout_filesystem *lfs,
		  struct volume **ret)
{
	struct volume *v = NULL;
	int r;

	if (lfs->table == LAYOUT_LVM)
		r = logical_volume(images, lfs, &v);
	else if (!images[lfs->image])
		r = -EIO;
	else
		r = volume_new_range(images[lfs->image], lfs->offset, lfs->length, &v);
	if (r == 0)
		r = set_guards(images, &lfs->guards, v);
	if (r == 0)
		*ret = v;
	else
		volume_free(v);
	return r == -ENOMEM || r == 0 ? r : -EIO;
}

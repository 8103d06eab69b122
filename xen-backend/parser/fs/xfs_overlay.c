// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements xfs_overlay.h: a table of changes, and the sum of their items' sizes.  xfs_log.c calls
 * these functions.
 */
#include <stdlib.h>

#include "parser/fs/xfs_overlay.h"

const struct xfs_change *xfs_overlay_find(const struct xfs_overlay *o, uint64_t key)
{
	return table_find(&o->changes, key);
}

bool xfs_overlay_put(struct xfs_overlay *o, uint64_t key, const struct xfs_change *c)
{
	struct xfs_change *place = table_put(&o->changes, key);
	uint64_t tag;

	if (!place) {
		free(c->item);
		return false;
	}
	o->bytes = o->bytes - place->size + c->size;
	free(place->item);
	tag = place->tag;
	*place = *c;
	place->tag = tag;
	return true;
}

struct forgetting {
	struct xfs_overlay *overlay;
	struct xfs_place tail;
};

static bool is_home(void *record, void *ctx)
{
	const struct forgetting *f = ctx;
	struct xfs_change *c = record;

	if (!xfs_place_before(c->at, f->tail))
		return false;
	f->overlay->bytes -= c->size;
	free(c->item);
	return true;
}

bool xfs_overlay_forget(struct xfs_overlay *o, struct xfs_place tail)
{
	return table_remove(&o->changes, is_home, &(struct forgetting){o, tail});
}

void xfs_overlay_clear(struct xfs_overlay *o)
{
	for (struct xfs_change *c = NULL; (c = table_next(&o->changes, c));)
		free(c->item);
	table_clear(&o->changes);
	o->bytes = 0;
}

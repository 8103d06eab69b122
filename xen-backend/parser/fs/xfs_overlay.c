// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hash table from inodes and blocks to their newest log items; see xfs_overlay.h.  xfs_log.c
 * calls these functions.  The table uses open addressing and is at most two thirds full.
 */
#include <stdlib.h>
#include <string.h>

#include "parser/fs/xfs_overlay.h"

static struct xfs_change *slot_of(const struct xfs_overlay *o, uint64_t key)
{
	size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (o->capacity - 1);

	while (o->slots[i].used && o->slots[i].key != key)
		i = (i + 1) & (o->capacity - 1);
	return &o->slots[i];
}

const struct xfs_change *xfs_overlay_find(const struct xfs_overlay *o, uint64_t key)
{
	const struct xfs_change *c = o->capacity ? slot_of(o, key) : NULL;

	return c && c->used ? c : NULL;
}

/* Moves the changes to a new table of that capacity.  If tail is not NULL, frees changes that were
 * committed before *tail. */
static bool rebuild(struct xfs_overlay *o, size_t capacity, const struct xfs_place *tail)
{
	struct xfs_overlay fresh = {calloc(capacity, sizeof(*fresh.slots)), capacity, 0, 0};

	if (!fresh.slots)
		return false;
	for (size_t i = 0; i < o->capacity; i++) {
		const struct xfs_change *c = &o->slots[i];

		if (!c->used)
			continue;
		if (tail && xfs_place_before(c->at, *tail)) {
			free(c->item);
			continue;
		}
		*slot_of(&fresh, c->key) = *c;
		fresh.count++;
		fresh.bytes += c->size;
	}
	free(o->slots);
	*o = fresh;
	return true;
}

bool xfs_overlay_put(struct xfs_overlay *o, const struct xfs_change *c)
{
	struct xfs_change *slot;

	if (o->count >= o->capacity / 3 * 2 &&
	    !rebuild(o, o->capacity ? 2 * o->capacity : 256, NULL)) {
		free(c->item);
		return false;
	}
	slot = slot_of(o, c->key);
	if (slot->used) {
		o->bytes -= slot->size;
		free(slot->item);
	} else {
		o->count++;
	}
	*slot = *c;
	slot->used = true;
	o->bytes += c->size;
	return true;
}

bool xfs_overlay_forget(struct xfs_overlay *o, struct xfs_place tail)
{
	return o->capacity == 0 || rebuild(o, o->capacity, &tail);
}

void xfs_overlay_clear(struct xfs_overlay *o)
{
	for (size_t i = 0; i < o->capacity; i++)
		free(o->slots[i].item);
	free(o->slots);
	memset(o, 0, sizeof(*o));
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hash table from block numbers to changes; see change_map.h.  journal.c calls these functions.
 * The table uses open addressing and is at most two thirds full.
 */
#include <stdlib.h>
#include <string.h>

#include "parser/fs/change_map.h"

static struct change *slot_of(const struct change_map *m, uint64_t block)
{
	size_t i = (size_t)(block * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (m->capacity - 1);

	while (m->slots[i].used && m->slots[i].block != block)
		i = (i + 1) & (m->capacity - 1);
	return &m->slots[i];
}

const struct change *change_map_find(const struct change_map *m, uint64_t block)
{
	const struct change *c = m->capacity ? slot_of(m, block) : NULL;

	return c && c->used ? c : NULL;
}

/* Moves the changes to a new table of that capacity.  If since is not NULL, drops changes by
 * transactions older than *since. */
static bool rebuild(struct change_map *m, size_t capacity, const uint32_t *since)
{
	struct change_map fresh = {calloc(capacity, sizeof(*fresh.slots)), capacity, 0};

	if (!fresh.slots)
		return false;
	for (size_t i = 0; i < m->capacity; i++) {
		const struct change *c = &m->slots[i];

		if (!c->used || (since && jbd2_before(c->id, *since)))
			continue;
		*slot_of(&fresh, c->block) = *c;
		fresh.count++;
	}
	free(m->slots);
	*m = fresh;
	return true;
}

bool change_map_put(struct change_map *m, const struct change *c)
{
	struct change *slot;

	if (m->count >= m->capacity / 3 * 2 &&
	    !rebuild(m, m->capacity ? 2 * m->capacity : 256, NULL))
		return false;
	slot = slot_of(m, c->block);
	m->count += !slot->used;
	*slot = *c;
	slot->used = true;
	return true;
}

bool change_map_forget(struct change_map *m, uint32_t id)
{
	return m->capacity == 0 || rebuild(m, m->capacity, &id);
}

void change_map_clear(struct change_map *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements table.h by open addressing. The table is at most two thirds full. A tag is the key
 * plus 1, and 0 in a free place.
 */
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256

static uint64_t *record_at(const struct table *t, size_t i)
{
	return (uint64_t *)(void *)(t->records + i * t->record);
}

/* Returns the place of that tag, or the free place for it. Some place must be free. */
static uint64_t *place_of(const struct table *t, uint64_t tag)
{
	size_t mask = t->capacity - 1;
	size_t i = (size_t)((tag - 1) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;

	while (*record_at(t, i) && *record_at(t, i) != tag)
		i = (i + 1) & mask;
	return record_at(t, i);
}

/* Moves the records to a new array, but those for which gone() returns true. */
static bool rebuild(struct table *t, size_t capacity, table_gone_fn *gone, void *ctx)
{
	struct table fresh = {t->record, capacity, 0, calloc(capacity, t->record)};

	if (!fresh.records)
		return false;
	for (void *r = table_next(t, NULL); r; r = table_next(t, r)) {
		if (gone && gone(r, ctx))
			continue;
		memcpy(place_of(&fresh, *(uint64_t *)r), r, t->record);
		fresh.count++;
	}
	free(t->records);
	*t = fresh;
	return true;
}

void table_clear(struct table *t)
{
	free(t->records);
	*t = (struct table){.record = t->record};
}

void *table_find(const struct table *t, uint64_t key)
{
	uint64_t *r = t->capacity && key != UINT64_MAX ? place_of(t, key + 1) : NULL;

	return r && *r ? r : NULL;
}

void *table_put(struct table *t, uint64_t key)
{
	uint64_t *r;

	if (key == UINT64_MAX)
		return NULL;
	if (t->count >= t->capacity / 3 * 2 &&
	    !rebuild(t, t->capacity ? 2 * t->capacity : FIRST_CAPACITY, NULL, NULL))
		return NULL;
	r = place_of(t, key + 1);
	t->count += !*r;
	*r = key + 1;
	return r;
}

bool table_remove(struct table *t, table_gone_fn *gone, void *ctx)
{
	return t->capacity == 0 || rebuild(t, t->capacity, gone, ctx);
}

void *table_next(const struct table *t, const void *previous)
{
	size_t i =
		previous ? ((size_t)((const uint8_t *)previous - t->records) / t->record) + 1 : 0;

	while (i < t->capacity && !*record_at(t, i))
		i++;
	return i < t->capacity ? record_at(t, i) : NULL;
}

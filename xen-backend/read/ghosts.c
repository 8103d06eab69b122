// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements ghosts.h: a hash table, and a list by age. s3fifo.c calls it.
 */
#include "read/ghosts.h"

#include <stdlib.h>

/* calloc() of this table takes memory only where keys are. */
#define BUCKET_BITS 16U

struct ghost {
	TAILQ_ENTRY(ghost) age;
	struct ghost *chain;
	uint64_t key;
	uint32_t weight;
};

bool ghosts_init(struct ghosts *g)
{
	*g = (struct ghosts){.bucket = calloc(1U << BUCKET_BITS, sizeof(struct ghost *))};
	TAILQ_INIT(&g->by_age);
	return g->bucket;
}

/* The caller's keys are hashes, so any of their bits will do. */
static struct ghost **place_of(const struct ghosts *g, uint64_t key)
{
	struct ghost **p = &g->bucket[key >> (64 - BUCKET_BITS)];

	while (*p && (*p)->key != key)
		p = &(*p)->chain;
	return p;
}

bool ghosts_take(struct ghosts *g, uint64_t key)
{
	struct ghost **p = place_of(g, key), *ghost = *p;

	if (!ghost)
		return false;
	*p = ghost->chain;
	TAILQ_REMOVE(&g->by_age, ghost, age);
	g->weight -= ghost->weight;
	g->count--;
	free(ghost);
	return true;
}

static void forget_oldest(struct ghosts *g)
{
	while (g->weight > g->most)
		ghosts_take(g, TAILQ_FIRST(&g->by_age)->key);
}

void ghosts_add(struct ghosts *g, uint64_t key, uint32_t weight)
{
	struct ghost *ghost, **p;

	ghosts_take(g, key);
	ghost = malloc(sizeof(*ghost));
	if (!ghost)
		return;
	p = place_of(g, key);
	*ghost = (struct ghost){.key = key, .weight = weight};
	*p = ghost;
	TAILQ_INSERT_TAIL(&g->by_age, ghost, age);
	g->weight += weight;
	g->count++;
	forget_oldest(g);
}

void ghosts_set_most(struct ghosts *g, size_t most)
{
	g->most = most;
	forget_oldest(g);
}

size_t ghosts_memory(const struct ghosts *g)
{
	return g->count * sizeof(struct ghost);
}

void ghosts_clear(struct ghosts *g)
{
	ghosts_set_most(g, 0);
	free(g->bucket);
	g->bucket = NULL;
}

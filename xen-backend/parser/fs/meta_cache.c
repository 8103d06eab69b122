// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An LRU cache of metadata blocks; see meta_cache.h.  journal.c and xfs_log.c call these functions.
 * The cache is a hash table, and a list from the least to the most recently used block.
 */
#include <stdlib.h>

#include "parser/fs/meta_cache.h"

struct meta_block *meta_block_new(uint64_t block, size_t size)
{
	struct meta_block *m = malloc(sizeof(*m) + size);

	if (!m)
		return NULL;
	atomic_init(&m->references, 1);
	m->block = block;
	m->chain = NULL;
	return m;
}

struct meta_block *meta_block_get(struct meta_block *m)
{
	atomic_fetch_add(&m->references, 1);
	return m;
}

void meta_block_put(struct meta_block *m)
{
	if (m && atomic_fetch_sub(&m->references, 1) == 1)
		free(m);
}

/* The pointer to the block in the chain of its bucket; the NULL at the end if the block is not in
 * the cache. */
static struct meta_block **link_of(struct meta_cache *c, uint64_t block)
{
	size_t i = (size_t)(block * UINT64_C(0x9e3779b97f4a7c15) >> 32) % META_CACHE_BUCKETS;
	struct meta_block **p = &c->bucket[i];

	while (*p && (*p)->block != block)
		p = &(*p)->chain;
	return p;
}

void meta_cache_init(struct meta_cache *c)
{
	*c = (struct meta_cache){0};
	TAILQ_INIT(&c->by_use);
}

struct meta_block *meta_cache_find(struct meta_cache *c, uint64_t block)
{
	struct meta_block *m = *link_of(c, block);

	if (!m)
		return NULL;
	TAILQ_REMOVE(&c->by_use, m, use);
	TAILQ_INSERT_TAIL(&c->by_use, m, use);
	return meta_block_get(m);
}

void meta_cache_drop(struct meta_cache *c, uint64_t block)
{
	struct meta_block **p = link_of(c, block), *m = *p;

	if (!m)
		return;
	*p = m->chain;
	TAILQ_REMOVE(&c->by_use, m, use);
	c->count--;
	meta_block_put(m);
}

void meta_cache_add(struct meta_cache *c, struct meta_block *m, size_t block_size)
{
	struct meta_block **p = link_of(c, m->block);

	if (*p)
		return;
	m->chain = NULL;
	*p = meta_block_get(m);
	TAILQ_INSERT_TAIL(&c->by_use, m, use);
	c->count++;
	if (c->count > META_CACHE_BYTES / block_size)
		meta_cache_drop(c, TAILQ_FIRST(&c->by_use)->block);
}

void meta_cache_clear(struct meta_cache *c)
{
	while (!TAILQ_EMPTY(&c->by_use))
		meta_cache_drop(c, TAILQ_FIRST(&c->by_use)->block);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements replica_cache.h: a hash table, and a list from the least to the most recently used
 * replica.
 * find.c and store.c call it.
 *
 * The lock is never held across I/O. So callers check the replicas they find.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "read/replica_cache.h"

#define BUCKETS 1024U
#define MAX_REPLICAS 4096U
#define MAX_BYTES (64U << 20)

struct replica_cache {
	pthread_mutex_t lock;
	struct block_replica *bucket[BUCKETS];
	TAILQ_HEAD(, block_replica) by_use;
	unsigned count;
	size_t bytes;
};

static bool same_key(const struct replica_key *a, const struct replica_key *b)
{
	return a->id == b->id && a->genstamp == b->genstamp && a->dir == b->dir &&
	       !strcmp(a->pool, b->pool);
}

static struct block_replica **bucket_of(struct replica_cache *c, const struct replica_key *key)
{
	uint64_t h = ((uint64_t)key->id ^ (uintptr_t)key->dir) * UINT64_C(0x9e3779b97f4a7c15);

	return &c->bucket[h >> 54];
}

struct replica_cache *replica_cache_new(void)
{
	struct replica_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	TAILQ_INIT(&c->by_use);
	return c;
}

static void forget(struct replica_cache *c, struct block_replica *r)
{
	struct block_replica **p = bucket_of(c, &r->key);

	while (*p != r)
		p = &(*p)->chain;
	*p = r->chain;
	TAILQ_REMOVE(&c->by_use, r, use);
	c->count--;
	c->bytes -= replica_weight(r);
	replica_put(r);
}

void replica_cache_free(struct replica_cache *c)
{
	if (!c)
		return;
	while (!TAILQ_EMPTY(&c->by_use))
		forget(c, TAILQ_FIRST(&c->by_use));
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static struct block_replica *look_up(struct replica_cache *c, const struct replica_key *key)
{
	struct block_replica *r = *bucket_of(c, key);

	while (r && !same_key(&r->key, key))
		r = r->chain;
	return r;
}

struct block_replica *replica_cache_find(struct replica_cache *c, const struct replica_key *key)
{
	struct block_replica *r;

	pthread_mutex_lock(&c->lock);
	r = look_up(c, key);
	if (r) {
		TAILQ_REMOVE(&c->by_use, r, use);
		TAILQ_INSERT_TAIL(&c->by_use, r, use);
		replica_get(r);
	}
	pthread_mutex_unlock(&c->lock);
	return r;
}

void replica_cache_add(struct replica_cache *c, struct block_replica *r)
{
	struct block_replica *other, **bucket;

	if (replica_weight(r) > MAX_BYTES / 16)
		return;
	pthread_mutex_lock(&c->lock);
	if (r->served && atomic_load(&r->served->retired)) {
		pthread_mutex_unlock(&c->lock);
		return;
	}
	other = look_up(c, &r->key);
	if (other)
		forget(c, other);
	while (c->count >= MAX_REPLICAS ||
	       (c->count > 0 && c->bytes + replica_weight(r) > MAX_BYTES))
		forget(c, TAILQ_FIRST(&c->by_use));
	bucket = bucket_of(c, &r->key);
	r->chain = *bucket;
	*bucket = replica_get(r);
	TAILQ_INSERT_TAIL(&c->by_use, r, use);
	c->count++;
	c->bytes += replica_weight(r);
	pthread_mutex_unlock(&c->lock);
}

void replica_cache_forget(struct replica_cache *c, const struct served *v)
{
	struct block_replica *r, *next;

	pthread_mutex_lock(&c->lock);
	for (r = TAILQ_FIRST(&c->by_use); r; r = next) {
		next = TAILQ_NEXT(r, use);
		if (r->served == v)
			forget(c, r);
	}
	pthread_mutex_unlock(&c->lock);
}

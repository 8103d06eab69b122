// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements replica_cache.h: a hash table with a list from the newest to the oldest replica.
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
	struct block_replica *newest, *oldest;
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

	if (c)
		pthread_mutex_init(&c->lock, NULL);
	return c;
}

static void list_remove(struct replica_cache *c, struct block_replica *r)
{
	*(r->newer ? &r->newer->older : &c->newest) = r->older;
	*(r->older ? &r->older->newer : &c->oldest) = r->newer;
}

static void list_push(struct replica_cache *c, struct block_replica *r)
{
	r->newer = NULL;
	r->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = r;
	c->newest = r;
}

static void forget(struct replica_cache *c, struct block_replica *r)
{
	struct block_replica **p = bucket_of(c, &r->key);

	while (*p != r)
		p = &(*p)->chain;
	*p = r->chain;
	list_remove(c, r);
	c->count--;
	c->bytes -= replica_weight(r);
	replica_put(r);
}

void replica_cache_free(struct replica_cache *c)
{
	if (!c)
		return;
	while (c->oldest)
		forget(c, c->oldest);
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
		list_remove(c, r);
		list_push(c, r);
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
	while (c->count >= MAX_REPLICAS || (c->oldest && c->bytes + replica_weight(r) > MAX_BYTES))
		forget(c, c->oldest);
	bucket = bucket_of(c, &r->key);
	r->chain = *bucket;
	*bucket = replica_get(r);
	list_push(c, r);
	c->count++;
	c->bytes += replica_weight(r);
	pthread_mutex_unlock(&c->lock);
}

void replica_cache_forget(struct replica_cache *c, const struct served *v)
{
	struct block_replica *r, *newer;

	pthread_mutex_lock(&c->lock);
	for (r = c->oldest; r; r = newer) {
		newer = r->newer;
		if (r->served == v)
			forget(c, r);
	}
	pthread_mutex_unlock(&c->lock);
}

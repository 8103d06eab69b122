// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements verified_cache.h: a hash table of blocks, each with its units, and a list from the
 * least to the most recently used unit. The other files of read/ call it.
 *
 * The lock is held to find and to link units. The lock is not held while bytes are copied or a
 * replica is checked: a user of a unit holds a reference, and the bytes of a unit never change.
 */
#include "read/verified_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "read/expose.h"

#define BUCKETS 1024U
#define INDEX_SHARE 16U /* the index of one block takes at most 1/INDEX_SHARE of the cache */

struct cached_block;

/*
 * Memory that holds the bytes of some units. All of it counts until the last of these units is
 * gone.
 */
struct slab {
	unsigned references; /* under the lock: one for each unit, one while units are being made */
	size_t bytes;
	uint8_t *memory;
};

struct unit {
	unsigned references; /* under the lock */
	unsigned length;
	struct cached_block *block;
	uint64_t index;
	TAILQ_ENTRY(unit) use;
	struct slab *slab;
	const uint8_t *data; /* in the slab */
};

struct cached_block {
	struct cached_block *chain;
	struct replica_key key; /* pool is the block's own copy */
	const struct served *served;
	uint64_t size;
	uint64_t num_units;
	unsigned count;
	struct unit *units[];
};

struct verified_cache {
	pthread_mutex_t lock;
	struct cached_block *bucket[BUCKETS];
	TAILQ_HEAD(, unit) by_use;
	size_t most, used;
	uint64_t hits, misses;
};

struct verified_cache *verified_cache_new(size_t most)
{
	struct verified_cache *c = most < VERIFIED_UNIT ? NULL : calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	TAILQ_INIT(&c->by_use);
	c->most = most;
	return c;
}

size_t verified_cache_most(const struct verified_cache *c)
{
	return c ? c->most : 0;
}

/* ---- blocks ---------------------------------------------------------------------- */

static struct cached_block **bucket_of(struct verified_cache *c, int64_t id)
{
	return &c->bucket[((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

static struct cached_block *find_block(struct verified_cache *c, const struct block_replica *r)
{
	struct cached_block *b = *bucket_of(c, r->key.id);

	while (b && !(b->key.id == r->key.id && b->key.genstamp == r->key.genstamp &&
		      b->key.dir == r->key.dir && b->size == r->files.data.size &&
		      !strcmp(b->key.pool, r->key.pool)))
		b = b->chain;
	return b;
}

static size_t block_weight(const struct cached_block *b)
{
	return sizeof(*b) + b->num_units * sizeof(b->units[0]);
}

static void remove_block(struct verified_cache *c, struct cached_block *b)
{
	struct cached_block **p = bucket_of(c, b->key.id);

	while (*p != b)
		p = &(*p)->chain;
	*p = b->chain;
	c->used -= block_weight(b);
	free((char *)b->key.pool);
	free(b);
}

static struct cached_block *add_block(struct verified_cache *c, const struct block_replica *r)
{
	uint64_t size = r->files.data.size;
	uint64_t units = size / VERIFIED_UNIT + (size % VERIFIED_UNIT != 0);
	struct cached_block *b, **bucket = bucket_of(c, r->key.id);

	if (units > c->most / INDEX_SHARE / sizeof(b->units[0]))
		return NULL;
	b = calloc(1, sizeof(*b) + units * sizeof(b->units[0]));
	if (!b)
		return NULL;
	b->key = r->key;
	b->key.pool = strdup(r->key.pool);
	if (!b->key.pool) {
		free(b);
		return NULL;
	}
	b->served = r->served;
	b->size = size;
	b->num_units = units;
	b->chain = *bucket;
	*bucket = b;
	c->used += block_weight(b);
	return b;
}

/* ---- units ------------------------------------------------------------------------ */

static void put_slab(struct verified_cache *c, struct slab *slab)
{
	if (--slab->references)
		return;
	c->used -= sizeof(*slab) + slab->bytes;
	free(slab->memory);
	free(slab);
}

/* Bytes count as used as long as anybody uses them. */
static void put_unit(struct verified_cache *c, struct unit *u)
{
	if (--u->references)
		return;
	c->used -= sizeof(*u);
	put_slab(c, u->slab);
	free(u);
}

/* Removes u from its block. The block is removed with its last unit. */
static void drop_unit(struct verified_cache *c, struct unit *u)
{
	struct cached_block *b = u->block;

	TAILQ_REMOVE(&c->by_use, u, use);
	b->units[u->index] = NULL;
	b->count--;
	put_unit(c, u);
	if (b->count == 0)
		remove_block(c, b);
}

static void make_room(struct verified_cache *c)
{
	while (!TAILQ_EMPTY(&c->by_use) && c->used > c->most)
		drop_unit(c, TAILQ_FIRST(&c->by_use));
}

/* Called under the lock. Takes over memory. NULL: out of memory. */
static struct slab *new_slab(struct verified_cache *c, uint8_t *memory, size_t bytes)
{
	struct slab *slab = malloc(sizeof(*slab));

	if (!slab) {
		free(memory);
		return NULL;
	}
	*slab = (struct slab){1, bytes, memory};
	c->used += sizeof(*slab) + bytes;
	make_room(c);
	return slab;
}

static struct unit *new_unit(struct verified_cache *c, struct slab *slab, uint64_t index,
			     const uint8_t *data, size_t length)
{
	struct unit *u = malloc(sizeof(*u));

	if (!u)
		return NULL;
	*u = (struct unit){.references = 1,
			   .length = (unsigned)length,
			   .index = index,
			   .slab = slab,
			   .data = data};
	slab->references++;
	c->used += sizeof(*u);
	return u;
}

/* Adds u to the block of r. Takes over u. */
static void insert(struct verified_cache *c, struct block_replica *r, struct unit *u)
{
	struct cached_block *b = find_block(c, r);

	if (!b && c->used <= c->most && !(r->served && atomic_load(&r->served->retired)))
		b = add_block(c, r);
	if (!b || b->units[u->index]) {
		put_unit(c, u);
		return;
	}
	b->units[u->index] = u;
	b->count++;
	u->block = b;
	TAILQ_INSERT_TAIL(&c->by_use, u, use);
	make_room(c);
}

/*
 * Finds the units that lie completely in [offset, offset + length): returns the first, and the end
 * of the last in *ret_end.
 */
static uint64_t whole_units(const struct block_replica *r, uint64_t offset, size_t length,
			    uint64_t *ret_end)
{
	uint64_t end = offset + length;

	if (end < r->files.data.size)
		end -= end % VERIFIED_UNIT;
	*ret_end = end;
	return (offset + VERIFIED_UNIT - 1) / VERIFIED_UNIT;
}

void verified_cache_give(struct verified_cache *c, struct block_replica *r, uint64_t offset,
			 uint8_t *memory, size_t room, size_t skip, size_t length)
{
	uint64_t end, first = whole_units(r, offset, length, &end);
	struct slab *slab;

	if (!c || !r->files.finalized || first * VERIFIED_UNIT >= end) {
		free(memory);
		return;
	}
	pthread_mutex_lock(&c->lock);
	slab = new_slab(c, memory, room);
	for (uint64_t i = first; slab && i * VERIFIED_UNIT < end; i++) {
		uint64_t from = i * VERIFIED_UNIT, bytes = end - from;
		struct unit *u = new_unit(c, slab, i, memory + skip + (from - offset),
					  bytes < VERIFIED_UNIT ? bytes : VERIFIED_UNIT);

		if (u)
			insert(c, r, u);
	}
	if (slab)
		put_slab(c, slab);
	pthread_mutex_unlock(&c->lock);
}

void verified_cache_add(struct verified_cache *c, struct block_replica *r, uint64_t offset,
			const uint8_t *data, size_t length)
{
	uint64_t end, first = whole_units(r, offset, length, &end);
	uint8_t *copy;

	if (!c || !r->files.finalized)
		return;
	for (uint64_t from = first * VERIFIED_UNIT; from < end; from += VERIFIED_UNIT) {
		size_t bytes = end - from < VERIFIED_UNIT ? (size_t)(end - from) : VERIFIED_UNIT;

		if (verified_cache_has(c, r, from, bytes))
			continue;
		copy = malloc(bytes);
		if (!copy)
			return;
		memcpy(copy, data + (from - offset), bytes);
		verified_cache_give(c, r, from, copy, bytes, 0, bytes);
	}
}

/* ---- reading ------------------------------------------------------------------------ */

/*
 * Called under the lock. Fills ret with the units of [offset, offset + length), each with a
 * reference. Returns their number, or 0 if some are missing.
 */
static unsigned pick(struct verified_cache *c, const struct block_replica *r, uint64_t offset,
		     size_t length, struct unit **ret)
{
	struct cached_block *b = find_block(c, r);
	uint64_t first = offset / VERIFIED_UNIT, last;
	unsigned n = 0;

	if (!b || length == 0 || offset >= b->size || length > b->size - offset)
		return 0;
	last = (offset + length - 1) / VERIFIED_UNIT;
	if (last - first >= VERIFIED_MAX_UNITS)
		return 0;
	for (uint64_t i = first; i <= last; i++)
		if (!b->units[i])
			return 0;
	for (uint64_t i = first; i <= last; i++) {
		struct unit *u = b->units[i];

		u->references++;
		TAILQ_REMOVE(&c->by_use, u, use);
		TAILQ_INSERT_TAIL(&c->by_use, u, use);
		ret[n++] = u;
	}
	return n;
}

bool verified_cache_has(struct verified_cache *c, const struct block_replica *r, uint64_t offset,
			size_t length)
{
	struct unit *units[VERIFIED_MAX_UNITS];
	unsigned n;

	if (!c)
		return false;
	pthread_mutex_lock(&c->lock);
	n = pick(c, r, offset, length, units);
	for (unsigned i = 0; i < n; i++)
		put_unit(c, units[i]);
	pthread_mutex_unlock(&c->lock);
	return n > 0;
}

static void copy_out(struct unit *const *units, unsigned n, uint64_t offset, uint8_t *dst,
		     size_t length)
{
	size_t skip = offset % VERIFIED_UNIT;

	for (unsigned i = 0; i < n; i++) {
		size_t bytes = units[i]->length - skip;

		if (bytes > length)
			bytes = length;
		expose(dst, units[i]->data + skip, bytes);
		dst += bytes;
		length -= bytes;
		skip = 0;
	}
}

int verified_cache_read(struct verified_cache *c, const struct block_replica *r, uint64_t offset,
			uint8_t *dst, size_t length)
{
	struct unit *units[VERIFIED_MAX_UNITS];
	unsigned n;
	int error;

	if (!c)
		return 0;
	pthread_mutex_lock(&c->lock);
	n = pick(c, r, offset, length, units);
	(*(n ? &c->hits : &c->misses))++;
	pthread_mutex_unlock(&c->lock);
	if (n == 0)
		return 0;
	error = replica_check(r);
	if (error == 0)
		copy_out(units, n, offset, dst, length);
	pthread_mutex_lock(&c->lock);
	for (unsigned i = 0; i < n; i++)
		put_unit(c, units[i]);
	pthread_mutex_unlock(&c->lock);
	return error == 0 ? 1 : error;
}

/* ---- forgetting ---------------------------------------------------------------------- */

static void drop_block(struct verified_cache *c, struct cached_block *b)
{
	unsigned left = b->count;

	for (uint64_t i = 0; left > 0; i++)
		if (b->units[i]) {
			left--;
			drop_unit(c, b->units[i]);
		}
}

void verified_cache_forget(struct verified_cache *c, const struct served *v)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct cached_block *b = c->bucket[i], *next; b; b = next) {
			next = b->chain;
			if (b->served == v)
				drop_block(c, b);
		}
	pthread_mutex_unlock(&c->lock);
}

void verified_cache_forget_block(struct verified_cache *c, const char *pool, int64_t id)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	for (struct cached_block *b = *bucket_of(c, id), *next; b; b = next) {
		next = b->chain;
		if (b->key.id == id && !strcmp(b->key.pool, pool))
			drop_block(c, b);
	}
	pthread_mutex_unlock(&c->lock);
}

void verified_cache_free(struct verified_cache *c)
{
	if (!c)
		return;
	while (!TAILQ_EMPTY(&c->by_use))
		drop_unit(c, TAILQ_FIRST(&c->by_use));
	pthread_mutex_destroy(&c->lock);
	free(c);
}

json_t *verified_cache_status(struct verified_cache *c)
{
	json_t *status;

	if (!c)
		return json_pack("{s:i}", "size", 0);
	pthread_mutex_lock(&c->lock);
	status = json_pack("{s:I, s:I, s:I, s:I}", "size", (json_int_t)c->most, "used",
			   (json_int_t)c->used, "hits", (json_int_t)c->hits, "misses",
			   (json_int_t)c->misses);
	pthread_mutex_unlock(&c->lock);
	return status;
}

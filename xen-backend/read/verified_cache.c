// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements verified_cache.h: a hash table of blocks, each with its units, and a list from the
 * least to the most recently used unit. The other files of read/ call it.
 *
 * The lock is held to find and to link units. The lock is not held while bytes are copied or a
 * replica is checked: a user of a unit holds a reference, and the bytes of a unit never change.
 * Each unit has the CRC32C of its bytes, made when they were verified.
 */
#include "read/verified_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "read/checksum.h"
#include "read/crc_join.h"
#include "read/piece.h"

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
	uint32_t sum;
};

TAILQ_HEAD(unit_list, unit);

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
	struct unit_list by_use;
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

/* Makes the units of p that lie in [from, end). Without the lock: the sums take time. */
static void make_units(struct unit_list *list, const struct block_replica *r, const struct piece *p,
		       uint64_t from, uint64_t end)
{
	for (; from < end; from += VERIFIED_UNIT) {
		uint64_t to = end - from < VERIFIED_UNIT ? end : from + VERIFIED_UNIT;
		struct unit *u = malloc(sizeof(*u));

		if (!u)
			return;
		*u = (struct unit){.references = 1,
				   .length = (unsigned)(to - from),
				   .index = from / VERIFIED_UNIT,
				   .data = p->data + (from - p->start),
				   .sum = piece_sum(r, p, from, to)};
		TAILQ_INSERT_TAIL(list, u, use);
	}
}

/* Adds u to the block of r. Takes over u. */
static void insert(struct verified_cache *c, struct block_replica *r, struct slab *slab,
		   struct unit *u)
{
	struct cached_block *b = find_block(c, r);

	u->slab = slab;
	slab->references++;
	c->used += sizeof(*u);
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
 * Finds the units that lie completely in p: returns the beginning of the first, and the end of the
 * last in *ret_end.
 */
static uint64_t whole_units(const struct block_replica *r, const struct piece *p, uint64_t *ret_end)
{
	*ret_end = p->end;
	if (p->end < r->files.data.size)
		*ret_end -= p->end % VERIFIED_UNIT;
	return (p->start + VERIFIED_UNIT - 1) / VERIFIED_UNIT * VERIFIED_UNIT;
}

/* Links the units, whose bytes lie in memory, and takes over both. */
static void take_units(struct verified_cache *c, struct block_replica *r, struct unit_list *list,
		       uint8_t *memory, size_t room)
{
	struct slab *slab;
	struct unit *u;

	pthread_mutex_lock(&c->lock);
	slab = new_slab(c, memory, room);
	while ((u = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, u, use);
		if (slab)
			insert(c, r, slab, u);
		else
			free(u);
	}
	if (slab)
		put_slab(c, slab);
	pthread_mutex_unlock(&c->lock);
}

void verified_cache_give(struct verified_cache *c, struct block_replica *r, const struct piece *p,
			 uint8_t *memory, size_t room)
{
	struct unit_list list = TAILQ_HEAD_INITIALIZER(list);
	uint64_t end, first = whole_units(r, p, &end);

	if (!c || !r->files.finalized || first >= end) {
		free(memory);
		return;
	}
	make_units(&list, r, p, first, end);
	take_units(c, r, &list, memory, room);
}

/* Keeps a copy of one unit of p, [from, to). False: out of memory. */
static bool add_copy(struct verified_cache *c, struct block_replica *r, const struct piece *p,
		     uint64_t from, uint64_t to)
{
	struct unit_list list = TAILQ_HEAD_INITIALIZER(list);
	size_t bytes = (size_t)(to - from);
	uint8_t *copy = malloc(bytes);

	if (!copy)
		return false;
	memcpy(copy, p->data + (from - p->start), bytes);
	make_units(&list, r, p, from, to);
	if (!TAILQ_EMPTY(&list))
		TAILQ_FIRST(&list)->data = copy;
	take_units(c, r, &list, copy, bytes);
	return true;
}

void verified_cache_add(struct verified_cache *c, struct block_replica *r, const struct piece *p)
{
	uint64_t end, from = whole_units(r, p, &end);

	if (!c || !r->files.finalized)
		return;
	for (; from < end; from += VERIFIED_UNIT) {
		uint64_t to = end - from < VERIFIED_UNIT ? end : from + VERIFIED_UNIT;

		if (!verified_cache_has(c, r, from, (size_t)(to - from)) &&
		    !add_copy(c, r, p, from, to))
			return;
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

/* Returns the CRC32C of a part of the unit. */
static uint32_t sum_of(const struct unit *u, size_t skip, size_t length)
{
	return length == u->length ? u->sum : checksum_crc32c(u->data + skip, length);
}

/* Returns the CRC32C of all the bytes. */
static uint32_t copy_out(struct unit *const *units, unsigned n, uint64_t offset, uint8_t *dst,
			 size_t length)
{
	size_t skip = offset % VERIFIED_UNIT;
	uint32_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		size_t bytes = units[i]->length - skip;

		if (bytes > length)
			bytes = length;
		sum = crc_join(sum, sum_of(units[i], skip, bytes), (uint32_t)bytes);
		memcpy(dst, units[i]->data + skip, bytes);
		dst += bytes;
		length -= bytes;
		skip = 0;
	}
	return sum;
}

int verified_cache_read(struct verified_cache *c, const struct block_replica *r, uint64_t offset,
			uint8_t *dst, size_t length, uint32_t *ret_crc32c)
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
		*ret_crc32c = copy_out(units, n, offset, dst, length);
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

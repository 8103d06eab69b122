// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements verified_cache.h: a hash table of blocks, each with its units, and a list of the
 * blocks of each snapshot of a datanode. s3fifo.c says which unit goes when room is needed. The
 * other files of read/ call it.
 *
 * The lock is held to find, to link and to unlink units. The lock is not held while bytes are
 * copied, a replica is checked or memory is freed: a user of a unit holds a reference, and the
 * bytes of a unit never change. A read of cached bytes takes the lock once, for a few loads and
 * stores per unit. Each unit has the CRC32C of its bytes, made when they were verified.
 */
#include "read/verified_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "base/hash.h"
#include "read/checksum.h"
#include "read/crc_join.h"
#include "read/frames.h"
#include "read/piece.h"
#include "read/s3fifo.h"

/* calloc() of this table takes memory only where blocks are. */
#define BUCKET_BITS 16U
#define INDEX_SHARE 16U /* the index of one block takes at most 1/INDEX_SHARE of the cache */
#define ADD_UNITS 16U   /* most units that are added under one hold of the lock */
#define DROP_UNITS 64U  /* most units that are dropped for one unit, or in one step of many */

/* New bytes go through a tenth of the cache, as in the paper of S3-FIFO. */
#define SMALL_SHARE 10U

_Static_assert(VERIFIED_UNIT == FRAME_BYTES, "a unit fits a frame");

struct cached_block;

struct unit {
	struct s3fifo_entry entry; /* first, so that an entry is its unit */
	_Atomic unsigned references;
	unsigned length;
	unsigned read_to; /* end of the last read in this unit; a read that goes on is no new use */
	uint32_t sum;
	struct cached_block *block;
	uint64_t index;
	struct frame *frame;
	struct unit *next; /* in a list of units that are to be freed */
};

/* Has at least one block. There are no more snapshots than datanodes, and some retired ones. */
struct snapshot {
	LIST_ENTRY(snapshot) others;
	const struct served *served;
	LIST_HEAD(, cached_block) blocks;
};

struct cached_block {
	struct cached_block *chain;
	LIST_ENTRY(cached_block) others; /* of the snapshot */
	struct snapshot *snapshot;
	struct replica_key key; /* pool is the block's own copy */
	uint64_t hash;
	uint64_t inode; /* of the data file */
	uint32_t generation;
	uint64_t size;
	uint64_t num_units;
	unsigned count;
	struct unit *units[];
};

struct verified_cache {
	pthread_mutex_t lock;
	struct cached_block **bucket;
	LIST_HEAD(, snapshot) snapshots;
	uint64_t secret; /* so that no image can choose block ids that share a chain */
	struct s3fifo queues;
	struct frames *frames;
	_Atomic size_t most, used;
	uint64_t hits, misses, filled, filled_again;
};

/* Called under the lock. */
static void set_most(struct verified_cache *c, size_t most)
{
	c->most = most;
	s3fifo_set(&c->queues, most / SMALL_SHARE, most);
}

struct verified_cache *verified_cache_new(size_t most)
{
	struct verified_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	if (getrandom(&c->secret, sizeof(c->secret), GRND_NONBLOCK) < 0)
		c->secret = (uintptr_t)c;
	c->bucket = calloc(1U << BUCKET_BITS, sizeof(struct cached_block *));
	c->frames = frames_new();
	if (!s3fifo_init(&c->queues) || !c->bucket || !c->frames) {
		verified_cache_free(c);
		return NULL;
	}
	set_most(c, most);
	return c;
}

/* False: nothing fits. */
static bool keeps(const struct verified_cache *c)
{
	return c && c->most >= VERIFIED_UNIT;
}

size_t verified_cache_used(const struct verified_cache *c)
{
	return c ? c->used : 0;
}

/* ---- blocks ---------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* A hash of an id, and of what came before. The secret is used twice: one step could be undone. */
static uint64_t mix_id(const struct verified_cache *c, int64_t id)
{
	return mix(mix(c->secret, (uint64_t)id), c->secret);
}

static struct cached_block **bucket_of(struct verified_cache *c, int64_t id)
{
	return &c->bucket[mix_id(c, id) >> (64 - BUCKET_BITS)];
}

/* The key of a unit that was dropped is made of it, and shares a chain of ghosts.c. */
static uint64_t hash_of(const struct verified_cache *c, const struct block_replica *r)
{
	uint64_t hash = mix(mix_id(c, r->key.id), hash_text(r->key.pool));

	hash = mix(mix(hash, r->key.genstamp), (uintptr_t)r->key.dir);
	return mix(mix(hash, r->files.data.inode), r->files.data.generation);
}

static bool is_of(const struct cached_block *b, const struct block_replica *r)
{
	const struct fs_file *data = &r->files.data;

	return b->key.id == r->key.id && b->key.genstamp == r->key.genstamp &&
	       b->key.dir == r->key.dir && b->inode == data->inode &&
	       b->generation == data->generation && b->size == data->size &&
	       !strcmp(b->key.pool, r->key.pool);
}

static struct cached_block *find_block(struct verified_cache *c, const struct block_replica *r)
{
	struct cached_block *b = *bucket_of(c, r->key.id);

	while (b && !is_of(b, r))
		b = b->chain;
	return b;
}

/* Returns NULL if no block of it is cached. */
static struct snapshot *find_snapshot(struct verified_cache *c, const struct served *v)
{
	struct snapshot *s;

	LIST_FOREACH(s, &c->snapshots, others)
	{
		if (s->served == v)
			break;
	}
	return s;
}

/* False: out of memory. */
static bool join_snapshot(struct verified_cache *c, struct cached_block *b, const struct served *v)
{
	struct snapshot *s = find_snapshot(c, v);

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return false;
		s->served = v;
		LIST_INSERT_HEAD(&c->snapshots, s, others);
	}
	b->snapshot = s;
	LIST_INSERT_HEAD(&s->blocks, b, others);
	return true;
}

static void leave_snapshot(struct cached_block *b)
{
	struct snapshot *s = b->snapshot;

	LIST_REMOVE(b, others);
	if (!LIST_EMPTY(&s->blocks))
		return;
	LIST_REMOVE(s, others);
	free(s);
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
	leave_snapshot(b);
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
	if (!b->key.pool || !join_snapshot(c, b, r->served)) {
		free((char *)b->key.pool);
		free(b);
		return NULL;
	}
	b->hash = hash_of(c, r);
	b->inode = r->files.data.inode;
	b->generation = r->files.data.generation;
	b->size = size;
	b->num_units = units;
	b->chain = *bucket;
	*bucket = b;
	c->used += block_weight(b);
	return b;
}

/* ---- units ------------------------------------------------------------------------ */

static struct unit *unit_of(struct s3fifo_entry *e)
{
	return (struct unit *)e;
}

/*
 * Drops a reference. True: it was the last one, and the caller frees the unit. Bytes count as used
 * as long as anybody uses them.
 */
static bool let_go(struct verified_cache *c, struct unit *u)
{
	if (atomic_fetch_sub(&u->references, 1) != 1)
		return false;
	c->used -= u->entry.weight;
	return true;
}

static void free_unit(struct verified_cache *c, struct unit *u)
{
	frames_put(c->frames, u->frame);
	free(u);
}

static void put_unit(struct verified_cache *c, struct unit *u)
{
	if (let_go(c, u))
		free_unit(c, u);
}

static void free_units(struct verified_cache *c, struct unit *list)
{
	for (struct unit *u = list, *next; u; u = next) {
		next = u->next;
		free_unit(c, u);
	}
}

/*
 * Called under the lock. Drops the cache's reference to a unit that is in no block. Adds the unit
 * to *gone if the caller is to free it, without the lock.
 */
static void release(struct verified_cache *c, struct unit *u, struct unit **gone)
{
	if (!let_go(c, u))
		return;
	u->next = *gone;
	*gone = u;
}

/* Removes u, which is in no queue, from its block. The block is removed with its last unit. */
static void unlink_unit(struct verified_cache *c, struct unit *u, struct unit **gone)
{
	struct cached_block *b = u->block;

	b->units[u->index] = NULL;
	b->count--;
	release(c, u, gone);
	if (b->count == 0)
		remove_block(c, b);
}

/* Called under the lock. The keys of dropped units count, too. */
static bool is_full(struct verified_cache *c)
{
	return c->used + ghosts_memory(&c->queues.ghosts) > c->most;
}

/* Called under the lock. Drops at most `units` units. False: there is no need to drop more. */
static bool make_room(struct verified_cache *c, unsigned units, struct unit **gone)
{
	for (; is_full(c); units--) {
		struct s3fifo_entry *e = units > 0 ? s3fifo_evict(&c->queues) : NULL;

		if (!e)
			return units == 0;
		unlink_unit(c, unit_of(e), gone);
	}
	return false;
}

/* Makes the unit [from, to) of p. NULL: out of memory. Without the lock: the copy takes time. */
static struct unit *make_unit(struct verified_cache *c, const struct block_replica *r,
			      const struct piece *p, uint64_t from, uint64_t to)
{
	size_t length = (size_t)(to - from);
	struct unit *u = malloc(sizeof(*u));

	if (!u)
		return NULL;
	*u = (struct unit){.references = 1,
			   .length = (unsigned)length,
			   .index = from / VERIFIED_UNIT,
			   .frame = frames_get(c->frames, length),
			   .sum = piece_sum(r, p, from, to)};
	if (!u->frame) {
		free(u);
		return NULL;
	}
	memcpy(u->frame->memory, p->data + (from - p->start), length);
	u->entry.weight = (uint32_t)(frames_weight(length) + sizeof(*u));
	c->used += u->entry.weight;
	return u;
}

/* Called under the lock. Adds u to the block of r. Takes over u. */
static void insert(struct verified_cache *c, struct block_replica *r, struct unit *u,
		   struct unit **gone)
{
	struct cached_block *b;

	make_room(c, DROP_UNITS, gone);
	b = find_block(c, r);
	if (!b && !is_full(c) && !(r->served && atomic_load(&r->served->retired)))
		b = add_block(c, r);
	if (!b || b->units[u->index]) {
		release(c, u, gone);
		return;
	}
	b->units[u->index] = u;
	b->count++;
	u->block = b;
	u->entry.key = mix(b->hash, u->index);
	c->filled += u->length;
	if (s3fifo_insert(&c->queues, &u->entry))
		c->filled_again += u->length;
	make_room(c, DROP_UNITS, gone);
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

/* Returns the first unit of [from, end) that is not cached, or end. */
static uint64_t skip_cached(struct verified_cache *c, const struct block_replica *r, uint64_t from,
			    uint64_t end)
{
	struct cached_block *b;

	pthread_mutex_lock(&c->lock);
	b = find_block(c, r);
	while (b && from < end && b->units[from / VERIFIED_UNIT])
		from += VERIFIED_UNIT;
	pthread_mutex_unlock(&c->lock);
	return from < end ? from : end;
}

/* Units that are copied before they are added. They count, so a small cache takes few at a time. */
static unsigned batch(const struct verified_cache *c)
{
	size_t eighth = c->most / VERIFIED_UNIT / 8;

	return eighth == 0 ? 1 : eighth < ADD_UNITS ? (unsigned)eighth : ADD_UNITS;
}

/*
 * Adds the first units of [from, end). Units that are cached by now are not added again. Returns
 * where the next call should begin; `from` if memory is short.
 */
static uint64_t add_some(struct verified_cache *c, struct block_replica *r, const struct piece *p,
			 uint64_t from, uint64_t end, uint64_t read_to)
{
	struct unit *units[ADD_UNITS], *gone = NULL;
	unsigned n = 0, most = batch(c);

	while (n < most && from < end) {
		uint64_t to = end - from < VERIFIED_UNIT ? end : from + VERIFIED_UNIT;

		units[n] = make_unit(c, r, p, from, to);
		if (!units[n])
			break;
		if (read_to > from)
			units[n]->read_to = (unsigned)((read_to < to ? read_to : to) - from);
		n++;
		from = to;
	}
	pthread_mutex_lock(&c->lock);
	for (unsigned i = 0; i < n; i++)
		insert(c, r, units[i], &gone);
	pthread_mutex_unlock(&c->lock);
	free_units(c, gone);
	return from;
}

void verified_cache_add(struct verified_cache *c, struct block_replica *r, const struct piece *p,
			uint64_t read_to)
{
	uint64_t end, from = whole_units(r, p, &end);

	if (!keeps(c) || !r->files.finalized)
		return;
	from = skip_cached(c, r, from, end);
	while (from < end) {
		uint64_t next = add_some(c, r, p, from, end, read_to);

		if (next == from)
			return;
		from = skip_cached(c, r, next, end);
	}
}

void verified_cache_resize(struct verified_cache *c, size_t most)
{
	bool more = true;

	for (bool first = true; c && more; first = false) {
		struct unit *gone = NULL;

		pthread_mutex_lock(&c->lock);
		if (first)
			set_most(c, most);
		more = make_room(c, DROP_UNITS, &gone);
		pthread_mutex_unlock(&c->lock);
		free_units(c, gone);
	}
}

/* ---- reading ------------------------------------------------------------------------ */

/*
 * Called under the lock. Returns the block of r if the units of [offset, offset + length) are in
 * it, else NULL.
 */
static struct cached_block *find_units(struct verified_cache *c, const struct block_replica *r,
				       uint64_t offset, size_t length, uint64_t *ret_first,
				       uint64_t *ret_last)
{
	struct cached_block *b = find_block(c, r);

	if (!b || length == 0 || offset >= b->size || length > b->size - offset)
		return NULL;
	*ret_first = offset / VERIFIED_UNIT;
	*ret_last = (offset + length - 1) / VERIFIED_UNIT;
	for (uint64_t i = *ret_first; i <= *ret_last; i++)
		if (!b->units[i])
			return NULL;
	return b;
}

/*
 * Notes that bytes [from, to) of the unit are read. A read that begins where the last one ended
 * belongs to the same pass over the bytes, and a pass in small reads is one use.
 */
static void use(struct unit *u, unsigned from, unsigned to)
{
	if (from != u->read_to)
		s3fifo_use(&u->entry);
	u->read_to = to;
}

/*
 * Called under the lock. Fills ret with the units of [offset, offset + length), each with a
 * reference. Returns their number, or 0 if some are missing.
 */
static unsigned pick(struct verified_cache *c, const struct block_replica *r, uint64_t offset,
		     size_t length, struct unit **ret)
{
	unsigned skip = offset % VERIFIED_UNIT, n = 0;
	uint64_t first, last;
	struct cached_block *b = find_units(c, r, offset, length, &first, &last);

	if (!b || last - first >= VERIFIED_MAX_UNITS)
		return 0;
	for (uint64_t i = first; i <= last; i++) {
		struct unit *u = b->units[i];
		size_t bytes = u->length - skip;

		if (bytes > length)
			bytes = length;
		u->references++;
		use(u, skip, skip + (unsigned)bytes);
		ret[n++] = u;
		length -= bytes;
		skip = 0;
	}
	return n;
}

bool verified_cache_has(struct verified_cache *c, const struct block_replica *r, uint64_t offset,
			size_t length)
{
	uint64_t first, last;
	bool has;

	if (!c)
		return false;
	pthread_mutex_lock(&c->lock);
	has = find_units(c, r, offset, length, &first, &last);
	pthread_mutex_unlock(&c->lock);
	return has;
}

/* Returns the CRC32C of a part of the unit. */
static uint32_t sum_of(const struct unit *u, size_t skip, size_t length)
{
	return length == u->length ? u->sum : checksum_crc32c(u->frame->memory + skip, length);
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
		memcpy(dst, units[i]->frame->memory + skip, bytes);
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

	if (!keeps(c))
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
	for (unsigned i = 0; i < n; i++)
		put_unit(c, units[i]);
	return error == 0 ? 1 : error;
}

/* ---- forgetting ---------------------------------------------------------------------- */

/* Called under the lock. Drops at most `most` units of the block. Returns their number. */
static unsigned drop_units(struct verified_cache *c, struct cached_block *b, unsigned most,
			   struct unit **gone)
{
	unsigned dropped = 0, count = b->count < most ? b->count : most;

	for (uint64_t i = 0; dropped < count; i++) {
		struct unit *u = b->units[i];

		if (!u)
			continue;
		dropped++;
		s3fifo_remove(&c->queues, &u->entry);
		unlink_unit(c, u, gone);
	}
	return dropped;
}

void verified_cache_forget(struct verified_cache *c, const struct served *v)
{
	struct snapshot *s = NULL;

	if (!c)
		return;
	do { /* nothing is added to a retired snapshot, so this comes to an end */
		unsigned left = DROP_UNITS;
		struct unit *gone = NULL;

		pthread_mutex_lock(&c->lock);
		while (left > 0 && (s = find_snapshot(c, v)))
			left -= drop_units(c, LIST_FIRST(&s->blocks), left, &gone);
		pthread_mutex_unlock(&c->lock);
		free_units(c, gone);
	} while (s);
}

void verified_cache_forget_block(struct verified_cache *c, const char *pool, int64_t id)
{
	struct unit *gone = NULL;

	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	for (struct cached_block *b = *bucket_of(c, id), *next; b; b = next) {
		next = b->chain;
		if (b->key.id == id && !strcmp(b->key.pool, pool))
			drop_units(c, b, b->count, &gone);
	}
	pthread_mutex_unlock(&c->lock);
	free_units(c, gone);
}

void verified_cache_free(struct verified_cache *c)
{
	if (!c)
		return;
	verified_cache_resize(c, 0);
	s3fifo_clear(&c->queues);
	frames_free(c->frames);
	free(c->bucket);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

json_t *verified_cache_status(struct verified_cache *c)
{
	json_t *status;

	if (!keeps(c))
		return json_pack("{s:i}", "size", 0);
	pthread_mutex_lock(&c->lock);
	status = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "size", (json_int_t)c->most, "used",
			   (json_int_t)(c->used + ghosts_memory(&c->queues.ghosts)), "hits",
			   (json_int_t)c->hits, "misses", (json_int_t)c->misses, "filled",
			   (json_int_t)c->filled, "filled_again", (json_int_t)c->filled_again);
	pthread_mutex_unlock(&c->lock);
	return status;
}

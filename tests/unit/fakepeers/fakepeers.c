/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fakepeers.c - see fakepeers.h. */
#include "fakepeers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../eventually.h"
#include "peer/peer.h"
#include "vreadif.h"

#define MOST 4096U

struct peer_pool {
	uint8_t *base;
	size_t length;
	bool stopped;
};

struct peer_handle {
	struct peer_pool *pool;
	unsigned under_way;
};

struct operation {
	struct peer_pool *pool;
	struct peer_handle *handle; /* NULL: an OPEN */
	uint64_t offset, genstamp;
	uint8_t *to;
	uint32_t length;
	peer_opened_fn *opened;
	peer_done_fn *done;
	peer_stat_fn *looked;
	void *ctx;
};

static struct {
	pthread_mutex_t lock;
	struct fake_counts counts;
	struct operation under_way[MOST];
	unsigned num;
	int refusal;
	bool ignores_stop;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static char anything;
struct peers *const fake_peers = (struct peers *)&anything;

static void must(bool condition)
{
	if (!condition)
		abort();
}

void fake_reset(void)
{
	must(fake.num == 0);
	memset(&fake.counts, 0, sizeof(fake.counts));
	fake.refusal = 0;
	fake.ignores_stop = false;
}

struct fake_counts fake_counts(void)
{
	struct fake_counts c;

	pthread_mutex_lock(&fake.lock);
	c = fake.counts;
	pthread_mutex_unlock(&fake.lock);
	return c;
}

unsigned fake_under_way(void)
{
	struct fake_counts c = fake_counts();

	return c.begun - c.ended;
}

void fake_wait(unsigned count)
{
	eventually(fake_under_way() >= count);
}

void fake_refuse(int error)
{
	pthread_mutex_lock(&fake.lock);
	fake.refusal = error;
	pthread_mutex_unlock(&fake.lock);
}

void fake_ignore_stop(void)
{
	pthread_mutex_lock(&fake.lock);
	fake.ignores_stop = true;
	pthread_mutex_unlock(&fake.lock);
}

/* ---- ends ------------------------------------------------------------------------ */

static const struct block_info *info(uint64_t genstamp)
{
	static _Thread_local struct block_info i;

	i = (struct block_info){FAKE_BLOCK_BYTES, genstamp, VREAD_BLOCK_FINALIZED};
	return &i;
}

static ssize_t read_bytes(const struct operation *o)
{
	uint64_t left = o->offset < FAKE_BLOCK_BYTES ? FAKE_BLOCK_BYTES - o->offset : 0;
	uint32_t n = o->length < left ? o->length : (uint32_t)left;

	for (uint32_t i = 0; i < n; i++)
		o->to[i] = fake_byte(o->offset + i);
	return n;
}

static struct peer_handle *new_handle(const struct operation *o)
{
	struct peer_handle *h = calloc(1, sizeof(*h));

	h->pool = o->pool;
	pthread_mutex_lock(&fake.lock);
	fake.counts.opened++;
	pthread_mutex_unlock(&fake.lock);
	return h;
}

static void finish(const struct operation *o, int error)
{
	pthread_mutex_lock(&fake.lock);
	fake.counts.ended++;
	if (o->handle)
		o->handle->under_way--;
	pthread_mutex_unlock(&fake.lock);
	if (o->opened)
		o->opened(o->ctx, error, error ? NULL : new_handle(o),
			  error ? NULL : info(o->genstamp));
	else if (o->done)
		o->done(o->ctx, error ? error : read_bytes(o), error ? 0 : FAKE_SUM);
	else
		o->looked(o->ctx, error, error ? NULL : info(5));
}

/* Call with the lock held. */
static struct operation take(unsigned index)
{
	struct operation o = fake.under_way[index];

	must(index < fake.num);
	fake.num--;
	memmove(&fake.under_way[index], &fake.under_way[index + 1], (fake.num - index) * sizeof(o));
	return o;
}

void fake_end(unsigned index, int error)
{
	struct operation o;

	pthread_mutex_lock(&fake.lock);
	o = take(index);
	pthread_mutex_unlock(&fake.lock);
	finish(&o, error);
}

/* ---- peer.h ------------------------------------------------------------------------ */

int peer_pool_new(struct peers *p, uint8_t *base, size_t length, struct peer_pool **ret)
{
	must(p == fake_peers);
	if (fake.refusal)
		return fake.refusal;
	*ret = calloc(1, sizeof(**ret));
	**ret = (struct peer_pool){base, length, false};
	fake.counts.pools++;
	return 0;
}

static bool take_one_of(const struct peer_pool *pool, struct operation *ret)
{
	bool found = false;

	pthread_mutex_lock(&fake.lock);
	for (unsigned i = 0; i < fake.num && !found; i++) {
		if (fake.under_way[i].pool != pool)
			continue;
		*ret = take(i);
		found = true;
	}
	pthread_mutex_unlock(&fake.lock);
	return found;
}

void peer_pool_stop(struct peer_pool *pool)
{
	struct operation o;

	pthread_mutex_lock(&fake.lock);
	fake.counts.stops++;
	pool->stopped = true;
	pthread_mutex_unlock(&fake.lock);
	while (!fake.ignores_stop && take_one_of(pool, &o))
		finish(&o, -EAGAIN);
}

void peer_pool_free(struct peer_pool *pool)
{
	pthread_mutex_lock(&fake.lock);
	for (unsigned i = 0; i < fake.num; i++)
		must(fake.under_way[i].pool != pool);
	must(fake.counts.opened == fake.counts.closed);
	fake.counts.pools--;
	pthread_mutex_unlock(&fake.lock);
	free(pool);
}

static int begin(const struct operation *o)
{
	int r;

	pthread_mutex_lock(&fake.lock);
	r = o->pool->stopped ? -EAGAIN : fake.refusal;
	if (r == 0) {
		must(fake.num < MOST);
		if (o->handle)
			o->handle->under_way++;
		fake.under_way[fake.num++] = *o;
		fake.counts.begun++;
	}
	pthread_mutex_unlock(&fake.lock);
	return r;
}

static bool is_here(const struct block_name *name)
{
	for (unsigned i = 0; i < name->num_storages; i++)
		if (!strcmp(name->storage_ids[i], FAKE_STORAGE))
			return true;
	return false;
}

bool peers_have(struct peers *p, const struct block_name *name)
{
	must(p == fake_peers);
	return is_here(name);
}

int peer_open(struct peers *p, struct peer_pool *pool, const struct policy *policy,
	      const struct block_name *name, peer_opened_fn *opened, void *ctx)
{
	const struct operation o = {.pool = pool,
				    .genstamp = name->genstamp,
				    .opened = opened,
				    .ctx = ctx};

	must(p == fake_peers && policy);
	return is_here(name) ? begin(&o) : -ENODEV;
}

int peer_read(struct peer_handle *h, uint64_t offset, size_t offset_in_pool, uint32_t length,
	      peer_done_fn *done, void *ctx)
{
	const struct operation o = {.pool = h->pool,
				    .handle = h,
				    .offset = offset,
				    .to = h->pool->base + offset_in_pool,
				    .length = length,
				    .done = done,
				    .ctx = ctx};

	must(offset_in_pool <= h->pool->length && length <= h->pool->length - offset_in_pool);
	return begin(&o);
}

int peer_stat(struct peer_handle *h, peer_stat_fn *looked, void *ctx)
{
	const struct operation o = {.pool = h->pool, .handle = h, .looked = looked, .ctx = ctx};

	return begin(&o);
}

void peer_close(struct peer_handle *h)
{
	pthread_mutex_lock(&fake.lock);
	must(h->under_way == 0);
	fake.counts.closed++;
	pthread_mutex_unlock(&fake.lock);
	free(h);
}

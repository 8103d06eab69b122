// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps the withdrawals of one datanode: a hash table whose entries are also in a list from
 * oldest to newest, under one lock that is never held across I/O. read/publish.c calls it;
 * published.h describes the functions.
 *
 * The lock prefers writers. A datanode waits until its event is taken before it changes the
 * block, and readers at full speed must not delay it.
 */
#include "datanode/published.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "vreadif.h"

#define BUCKET_BITS 13
#define BUCKETS (1U << BUCKET_BITS)
#define EVENTS (VREAD_PUBLISH_DELETE + 1)

struct withdrawal {
	struct withdrawal *chain; /* next in its bucket */
	TAILQ_ENTRY(withdrawal) age;
	int64_t block_id;
	uint64_t genstamp; /* the highest one that is withdrawn */
	time_t since;      /* time of the last event */
	char pool_id[];
};

struct published {
	atomic_uint references;
	pthread_rwlock_t lock;
	uint64_t multiplier; /* of the hash; odd, and unknown to those who choose block ids */
	struct withdrawal *bucket[BUCKETS];
	TAILQ_HEAD(, withdrawal) by_age; /* the oldest first */
	unsigned count;
	uint64_t events[EVENTS];
};

struct published *published_new(void)
{
	struct published *p = calloc(1, sizeof(*p));
	pthread_rwlockattr_t attributes;

	if (!p)
		return NULL;
	atomic_init(&p->references, 1);
	TAILQ_INIT(&p->by_age);
	if (getrandom(&p->multiplier, sizeof(p->multiplier), GRND_NONBLOCK) < 0)
		p->multiplier = UINT64_C(0x9e3779b97f4a7c15);
	p->multiplier |= 1;
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&p->lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
	return p;
}

static struct withdrawal **bucket_of(struct published *p, int64_t block_id)
{
	return &p->bucket[(uint64_t)block_id * p->multiplier >> (64 - BUCKET_BITS)];
}

/* Returns the link to that block's withdrawal, or the link where it would be added. */
static struct withdrawal **find(struct published *p, const char *pool_id, int64_t block_id)
{
	struct withdrawal **w = bucket_of(p, block_id);

	while (*w && ((*w)->block_id != block_id || strcmp((*w)->pool_id, pool_id) != 0))
		w = &(*w)->chain;
	return w;
}

static void forget(struct published *p, struct withdrawal **place)
{
	struct withdrawal *w = *place;

	*place = w->chain;
	TAILQ_REMOVE(&p->by_age, w, age);
	p->count--;
	free(w);
}

static void forget_oldest(struct published *p)
{
	const struct withdrawal *oldest = TAILQ_FIRST(&p->by_age);

	forget(p, find(p, oldest->pool_id, oldest->block_id));
}

struct published *published_get(struct published *p)
{
	atomic_fetch_add(&p->references, 1);
	return p;
}

void published_put(struct published *p)
{
	if (!p || atomic_fetch_sub(&p->references, 1) != 1)
		return;
	while (!TAILQ_EMPTY(&p->by_age))
		forget_oldest(p);
	pthread_rwlock_destroy(&p->lock);
	free(p);
}

static bool outdated(const struct withdrawal *w, time_t now)
{
	return now - w->since >= PUBLISHED_MAX_AGE;
}

static bool oldest_is_outdated(const struct published *p, time_t now)
{
	return !TAILQ_EMPTY(&p->by_age) && outdated(TAILQ_FIRST(&p->by_age), now);
}

/* Forgets at most two outdated withdrawals. That is more than an event adds, so no single event
 * pays for many. */
static void forget_outdated(struct published *p, time_t now)
{
	for (int i = 0; i < 2 && oldest_is_outdated(p, now); i++)
		forget_oldest(p);
}

static void lift(struct published *p, const struct published_event *e)
{
	struct withdrawal **place = find(p, e->pool_id, e->block_id);

	if (*place && (*place)->genstamp <= e->genstamp)
		forget(p, place);
}

/* Adds or renews a withdrawal. Uses `fresh` if the block has none yet and returns NULL then;
 * else returns `fresh`. */
static struct withdrawal *withdraw(struct published *p, const struct published_event *e,
				   struct withdrawal *fresh, time_t now)
{
	struct withdrawal **place = find(p, e->pool_id, e->block_id), *w = *place;

	if (w) {
		TAILQ_REMOVE(&p->by_age, w, age);
	} else {
		w = fresh;
		fresh = NULL;
		*place = w;
		p->count++;
	}
	if (e->genstamp > w->genstamp)
		w->genstamp = e->genstamp;
	w->since = now;
	TAILQ_INSERT_TAIL(&p->by_age, w, age);
	if (p->count > PUBLISHED_MAX)
		forget_oldest(p);
	return fresh;
}

static struct withdrawal *withdrawal_new(const struct published_event *e)
{
	size_t length = strlen(e->pool_id) + 1;
	struct withdrawal *w = calloc(1, sizeof(*w) + length);

	if (!w)
		return NULL;
	w->block_id = e->block_id;
	memcpy(w->pool_id, e->pool_id, length);
	return w;
}

int published_take(struct published *p, const struct published_event *e, time_t now)
{
	struct withdrawal *fresh = NULL;

	if (e->event != VREAD_PUBLISH_FINALIZED) {
		fresh = withdrawal_new(e);
		if (!fresh)
			return -ENOMEM;
	}
	pthread_rwlock_wrlock(&p->lock);
	forget_outdated(p, now);
	if (fresh)
		fresh = withdraw(p, e, fresh, now);
	else
		lift(p, e);
	p->events[e->event]++;
	pthread_rwlock_unlock(&p->lock);
	free(fresh);
	return 0;
}

void published_hold(struct published *p)
{
	pthread_rwlock_rdlock(&p->lock);
}

void published_release(struct published *p)
{
	pthread_rwlock_unlock(&p->lock);
}

bool published_withdrawn(const struct published *p, const char *pool_id, int64_t block_id,
			 uint64_t genstamp, time_t now)
{
	const struct withdrawal *w = *find((struct published *)p, pool_id, block_id);

	return w && genstamp <= w->genstamp && !outdated(w, now);
}

json_t *published_json(struct published *p, time_t now)
{
	uint64_t events[EVENTS];
	unsigned withdrawn;

	pthread_rwlock_wrlock(&p->lock);
	while (oldest_is_outdated(p, now))
		forget_oldest(p);
	memcpy(events, p->events, sizeof(events));
	withdrawn = p->count;
	pthread_rwlock_unlock(&p->lock);
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "finalized",
			 (json_int_t)events[VREAD_PUBLISH_FINALIZED], "append",
			 (json_int_t)events[VREAD_PUBLISH_APPEND], "truncate",
			 (json_int_t)events[VREAD_PUBLISH_TRUNCATE], "delete",
			 (json_int_t)events[VREAD_PUBLISH_DELETE], "withdrawn",
			 (json_int_t)withdrawn);
}

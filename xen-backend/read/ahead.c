// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Noticing readers that go forward, and asking for what is before them; see ahead.h.
 *
 * A client may have several requests under way on several queues, so what is
 * forward is told with some slack.
 */
#include "read/ahead.h"

#include <stdlib.h>

#include "read/ahead_direct.h"
#include "read/file_runs.h"
#include "parser-protocol/blocks.h"

#define SLACK (1U << 20)
#define FORWARD_BYTES (256U << 10) /* read in order before anything is asked for */
#define QUIET_WINDOWS 4U
#define STEPS 4U /* in a window; one is asked for in one go */

struct ahead {
	struct ahead_shared *shared;
	const void *client;

	pthread_mutex_t lock; /* of all below */
	uint64_t next;        /* where a forward read would start */
	uint64_t run;         /* bytes read forward so far */
	uint64_t until;       /* asked for up to here */
	bool cold;            /* its bytes are not in memory ... */
	uint64_t quiet;       /* ... unless so many were read since somebody had to wait */
	bool joined;          /* has a share of disk */
	dev_t disk;
	struct ahead_direct *direct; /* NULL: not needed so far ... */
	bool refused;                /* ... or not to be had */
};

struct ahead *ahead_new(struct ahead_shared *shared, const void *client)
{
	struct ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->shared = shared;
	a->client = client;
	pthread_mutex_init(&a->lock, NULL);
	return a;
}

static void leave(struct ahead *a)
{
	if (a->joined)
		shares_leave(a->shared->shares, a->disk, a->client);
	a->joined = false;
}

void ahead_free(struct ahead *a)
{
	if (!a)
		return;
	leave(a);
	ahead_direct_free(a->direct);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* The source that holds offset of r's data is on a disk: has a share of it from now on. */
static bool join(struct ahead *a, const struct block_replica *r, uint64_t offset)
{
	struct source *source;

	if (a->joined)
		return true;
	source = file_runs_source(r->fs->volume, &r->files.data, offset);
	if (!source)
		return false;
	a->disk = source_disk(source);
	a->joined = shares_join(a->shared->shares, a->disk, a->client) == 0;
	return a->joined;
}

/* ---- buffered images ------------------------------------------------------------- */

/* A kernel that reads this far ahead needs no help in what it can see: it does it in larger
 * pages than it does for who asks, which cost half the CPU time here. */
#define KERNEL_IS_ENOUGH (1U << 20)

struct fetching {
	bool onward; /* the next run goes on from what is being read */
	bool cold;   /* some of it was not in memory */
	bool warm;   /* some of it was */
};

static bool fetch_run(const struct image_run *run, void *ctx)
{
	struct fetching *f = ctx;
	bool onward = f->onward;

	f->onward = false;
	if (!run->source || (onward && source_kernel_ahead(run->source) >= KERNEL_IS_ENOUGH))
		return true;
	if (source_fetch(run->source, run->offset, run->length))
		f->cold = true;
	else
		f->warm = true;
	return true;
}

static struct fetching fetch_file(const struct block_replica *r, const struct fs_file *f,
				  uint64_t from, uint64_t to)
{
	struct fetching fetching = {.onward = from > 0};

	/* From the byte before: then the first run is that one's, too. */
	file_runs(r->fs->volume, f, from - (from > 0), to, fetch_run, &fetching);
	return fetching;
}

/* False: it is in memory. */
static bool fetch(const struct block_replica *r, uint64_t from, uint64_t to)
{
	uint64_t chunk = r->files.header.chunk;
	struct fetching sums = fetch_file(r, &r->files.meta, META_HEADER_BYTES + from / chunk * 4,
					  META_HEADER_BYTES + (to + chunk - 1) / chunk * 4);
	struct fetching data = fetch_file(r, &r->files.data, from, to);

	return sums.cold || data.cold || !data.warm;
}

/* ---- one handle's way ---------------------------------------------------------------- */

/* Notes a read; whether it goes forward. */
static bool is_forward(struct ahead *a, uint64_t from, uint64_t to)
{
	bool forward = from <= a->next + SLACK && from + SLACK >= a->next;

	a->run = forward ? a->run + (to - from) : to - from;
	a->quiet += to - from;
	if (a->quiet > QUIET_WINDOWS * a->shared->window)
		a->cold = false;
	if (!forward)
		a->until = 0;
	if (!forward || to > a->next)
		a->next = to;
	return forward;
}

/* Images read with O_DIRECT have nothing in memory; what is being written is not kept. */
static bool is_worth_it(struct ahead *a, const struct block_replica *r)
{
	if (!replica_is_direct(r))
		return a->cold;
	if (!a->shared->cache || !r->files.finalized || a->refused)
		return false;
	if (!a->direct)
		a->direct = ahead_direct_new(STEPS);
	a->refused = !a->direct;
	return !a->refused;
}

static uint64_t step_bytes(struct ahead *a, const struct block_replica *r)
{
	uint64_t window = a->shared->window, step;

	/* What is read ahead must not push itself out of the cache. */
	if (replica_is_direct(r) && window > verified_cache_most(a->shared->cache) / 4)
		window = verified_cache_most(a->shared->cache) / 4;
	step = shares_window(a->shared->shares, a->disk, a->client, window) / STEPS;
	return step - step % REPLICA_UNIT;
}

/* False: nothing more is to be asked for now. */
static bool ask(struct ahead *a, struct block_replica *r, uint64_t from, uint64_t to)
{
	if (!replica_is_direct(r)) {
		a->cold = fetch(r, from, to);
		return a->cold;
	}
	if (verified_cache_has(a->shared->cache, r, from, (size_t)(to - from)))
		return true;
	return ahead_direct_ask(a->direct, r, from, to);
}

/* Asks for whole steps as far as the window goes, and for what is left at the end. */
static void ask_on(struct ahead *a, struct block_replica *r, uint64_t to, uint64_t end)
{
	uint64_t step, limit;

	if (!join(a, r, to - 1))
		return;
	step = step_bytes(a, r);
	if (step == 0)
		return;
	if (a->until < to)
		a->until = to + (REPLICA_UNIT - to % REPLICA_UNIT) % REPLICA_UNIT;
	limit = to + STEPS * step;
	while (a->until < end) {
		uint64_t step_end = end - a->until > step ? a->until + step : end;

		if (step_end > limit || !ask(a, r, a->until, step_end))
			return;
		a->until = step_end;
	}
}

void ahead_begin(struct ahead *a, struct block_replica *r, uint64_t from, uint64_t to, uint64_t end)
{
	bool forward;

	if (!a || a->shared->window == 0)
		return;
	pthread_mutex_lock(&a->lock);
	forward = is_forward(a, from, to);
	if (a->direct) /* elsewhere nothing of what was asked for is going to be used */
		ahead_direct_take(a->direct, forward ? to : UINT64_MAX, a->shared->cache);
	if (forward && a->run > FORWARD_BYTES && is_worth_it(a, r))
		ask_on(a, r, to, end);
	else
		leave(a);
	if (to >= end)
		leave(a); /* nothing is left to ask for */
	pthread_mutex_unlock(&a->lock);
}

void ahead_end(struct ahead *a, bool waited)
{
	if (!a || !waited)
		return;
	pthread_mutex_lock(&a->lock);
	a->cold = true;
	a->quiet = 0;
	pthread_mutex_unlock(&a->lock);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements ahead.h: notices readers that go forward and requests the bytes before them. read.c
 * calls it around each read.
 *
 * A client may have several requests under way on several queues. So "forward" is judged with some
 * slack (SLACK).
 */
#include "read/ahead.h"

#include <stdlib.h>

#include "read/ahead_direct.h"
#include "read/file_runs.h"
#include "base/waiting.h"
#include "parser-protocol/blocks.h"

#define SLACK (1U << 20)
#define FORWARD_BYTES (256U << 10) /* bytes read in order before anything is requested */
#define QUIET_WINDOWS 4U
#define STEPS 4U               /* steps in a window; each is requested in one go */
#define KEPT_STEPS (STEPS + 1) /* with the one that is being read */

struct ahead {
	struct ahead_shared *shared;
	const void *client;
	struct budget *budget;

	pthread_mutex_t lock; /* protects all fields below */
	uint64_t next;        /* where a forward read would start */
	uint64_t run;         /* bytes read forward up to now */
	uint64_t until;       /* requested up to this offset */
	bool cold;            /* the bytes are not in memory; see quiet */
	/* bytes read since a read had to wait; more than QUIET_WINDOWS windows clear cold */
	uint64_t quiet;
	bool joined; /* has a share of disk (disk/shares.h) */
	dev_t disk;
	struct ahead_direct *direct; /* NULL: not needed yet, or refused */
	bool refused;                /* ahead_direct_new() failed */
};

size_t ahead_weight(void)
{
	return sizeof(struct ahead);
}

struct ahead *ahead_new(struct ahead_shared *shared, const void *client, struct budget *budget)
{
	struct ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->shared = shared;
	a->client = client;
	a->budget = budget;
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

/* Takes a share of the disk of the source that holds offset of r's data. True: a has a share. */
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

/*
 * If the kernel reads this far ahead by itself, bytes that follow in the same run need no request.
 * The kernel then uses larger pages than for our requests. Larger pages cost half the CPU time
 * here.
 */
#define KERNEL_IS_ENOUGH (1U << 20)

struct fetching {
	bool onward; /* the next run continues the range being read */
	bool cold;   /* a part was not in memory */
	bool warm;   /* a part was in memory */
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

	/* Begin one byte early: the first run is then the run being read. */
	file_runs(r->fs->volume, f, from - (from > 0), to, fetch_run, &fetching);
	return fetching;
}

/* Requests [from, to) of data and its checksums. False: all of it is in memory. */
static bool fetch(const struct block_replica *r, uint64_t from, uint64_t to)
{
	uint64_t chunk = r->files.header.chunk;
	struct fetching sums = fetch_file(r, &r->files.meta, META_HEADER_BYTES + from / chunk * 4,
					  META_HEADER_BYTES + (to + chunk - 1) / chunk * 4);
	struct fetching data = fetch_file(r, &r->files.data, from, to);

	return sums.cold || data.cold || !data.warm;
}

/* ---- one handle's way ---------------------------------------------------------------- */

/* Notes a read. True if the read goes forward. */
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

/*
 * True if read-ahead of r is of use. Buffered image: the bytes are not in memory. An image read
 * with O_DIRECT never has bytes in memory, but those of a replica that is being written may change
 * before they are needed.
 */
static bool is_worth_it(struct ahead *a, const struct block_replica *r)
{
	if (!replica_is_direct(r))
		return a->cold;
	if (!r->files.finalized || a->refused)
		return false;
	if (!a->direct)
		a->direct = ahead_direct_new(KEPT_STEPS, a->budget, &a->lock);
	a->refused = !a->direct;
	return !a->refused;
}

static uint64_t step_bytes(struct ahead *a)
{
	struct ahead_shared *shared = a->shared;
	uint64_t window = shares_window(shared->shares, a->disk, a->client, shared->window);

	return window / STEPS - window / STEPS % VERIFIED_UNIT;
}

/* Requests one step. False: request nothing more now. */
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

/* Requests whole steps up to the end of the window, and the rest of the block at its end. */
static void ask_on(struct ahead *a, struct block_replica *r, uint64_t to, uint64_t end)
{
	uint64_t step, limit;

	if (!join(a, r, to - 1))
		return;
	step = step_bytes(a);
	if (step == 0)
		return;
	if (a->until < to)
		a->until = to + (VERIFIED_UNIT - to % VERIFIED_UNIT) % VERIFIED_UNIT;
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
	waiting_lock(&a->lock);
	forward = is_forward(a, from, to);
	if (a->direct && forward)
		ahead_direct_reach(a->direct, from, SLACK);
	else if (a->direct) /* a reader that jumped will not use the steps requested */
		ahead_direct_drop(a->direct);
	if (forward && a->run > FORWARD_BYTES && is_worth_it(a, r))
		ask_on(a, r, to, end);
	else
		leave(a);
	if (to >= end)
		leave(a); /* nothing is left to request */
	pthread_mutex_unlock(&a->lock);
}

void ahead_end(struct ahead *a, bool waited)
{
	if (!a || !waited)
		return;
	waiting_lock(&a->lock);
	a->cold = true;
	a->quiet = 0;
	pthread_mutex_unlock(&a->lock);
}

struct ahead_step *ahead_get(struct ahead *a, const struct block_replica *r, uint64_t from,
			     uint64_t to, struct piece *p)
{
	struct ahead_step *s;

	if (!a || !replica_is_direct(r))
		return NULL;
	waiting_lock(&a->lock);
	s = a->direct ? ahead_direct_get(a->direct, r, from, to, p) : NULL;
	pthread_mutex_unlock(&a->lock);
	return s;
}

void ahead_put(struct ahead *a, struct ahead_step *s, const struct piece *p)
{
	waiting_lock(&a->lock);
	ahead_direct_put(a->direct, s, p);
	pthread_mutex_unlock(&a->lock);
}

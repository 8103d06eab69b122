// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements ahead_direct.h. A part of a block is one step, and a step consists of several reads.
 * ahead.c calls it.
 *
 * Both files (data and checksums) are read from a multiple of O_DIRECT's alignment on. If the
 * pieces of a file do not lie on such multiples in the image, the step is not read ahead.
 */
#include "read/ahead_direct.h"

#include <stdlib.h>
#include <string.h>

#include "base/waiting.h"
#include "read/budget.h"
#include "read/file_runs.h"
#include "read/verified_cache.h"
#include "parser-protocol/blocks.h"
#include "disk/source_queue.h"

#define ALIGN SOURCE_QUEUE_ALIGN
#define MOST_UNITS 256U         /* of a step */
#define READS_OF_STEP 40U       /* of the largest step, with room for fragments */
#define READ_BYTES (512U << 10) /* most bytes in one read */

/* One file's part of a step. */
struct part {
	uint64_t start; /* in the file */
	uint8_t *buffer;
	size_t room;
};

struct ahead_step {
	struct block_replica *replica; /* NULL: not in use; its weight is taken */
	uint64_t from, to;
	struct part data, sums;
	unsigned under_way; /* reads of the disk */
	unsigned holders;
	uint64_t taken[MOST_UNITS / 64]; /* a bit for each unit */
	bool failed;
	bool passed; /* its last holder drops it */
};

struct ahead_direct {
	struct source_queue *queue;
	struct budget *budget;
	size_t own_weight; /* taken for everything but the buffers */
	pthread_mutex_t *lock;
	pthread_cond_t noted;
	bool someone_waits; /* for the disk; only that thread notes what has ended */
	uint64_t reached;   /* where the reader has begun to read at last */
	unsigned num_steps;
	struct ahead_step steps[];
};

static struct ahead_direct *make(unsigned steps)
{
	struct ahead_direct *d = calloc(1, sizeof(*d) + steps * sizeof(d->steps[0]));

	if (!d)
		return NULL;
	d->num_steps = steps;
	d->queue = source_queue_new(steps * READS_OF_STEP);
	if (!d->queue) {
		free(d);
		return NULL;
	}
	pthread_cond_init(&d->noted, NULL);
	return d;
}

struct ahead_direct *ahead_direct_new(unsigned steps, struct budget *budget, pthread_mutex_t *lock)
{
	size_t weight = sizeof(struct ahead_direct) + steps * sizeof(struct ahead_step) +
			source_queue_weight(steps * READS_OF_STEP);
	struct ahead_direct *d;

	if (!budget_take_spare(budget, weight))
		return NULL;
	d = make(steps);
	if (!d) {
		budget_give(budget, weight);
		return NULL;
	}
	d->budget = budget;
	d->lock = lock;
	d->own_weight = weight;
	return d;
}

/* The handle may have dropped the replica that a step keeps, so the replica counts here, too. */
static bool keep_replica(struct ahead_direct *d, struct ahead_step *s, struct block_replica *r)
{
	if (!budget_take_spare(d->budget, replica_weight(r)))
		return false;
	s->replica = replica_get(r);
	return true;
}

static void drop_replica(struct ahead_direct *d, struct ahead_step *s)
{
	if (!s->replica)
		return;
	budget_give(d->budget, replica_weight(s->replica));
	replica_put(s->replica);
	s->replica = NULL;
}

/* A step that is passed goes when nobody holds it, and the disk is done with its buffers. */
static void drop_if_unused(struct ahead_direct *d, struct ahead_step *s)
{
	if (s->passed && !s->holders && !s->under_way)
		drop_replica(d, s);
}

static void free_buffer(struct ahead_direct *d, struct part *p)
{
	free(p->buffer);
	budget_give(d->budget, p->room);
	p->buffer = NULL;
	p->room = 0;
}

void ahead_direct_free(struct ahead_direct *d)
{
	if (!d)
		return;
	source_queue_free(d->queue);
	pthread_cond_destroy(&d->noted);
	for (unsigned i = 0; i < d->num_steps; i++) {
		drop_replica(d, &d->steps[i]);
		free_buffer(d, &d->steps[i].data);
		free_buffer(d, &d->steps[i].sums);
	}
	budget_give(d->budget, d->own_weight);
	free(d);
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- asking ------------------------------------------------------------------------ */

struct asking {
	struct ahead_direct *direct;
	struct ahead_step *step;
	uint8_t *at;    /* position in the buffer */
	uint64_t found; /* bytes whose places are known */
};

static bool add_read(struct asking *a, struct source *source, uint64_t offset, size_t length)
{
	/*
	 * The end of the file need not be a multiple of ALIGN. The bytes read behind it belong to
	 * the image.
	 */
	if (source_queue_add(a->direct->queue, source, offset, a->at, round_up(length, ALIGN),
			     a->step) < 0)
		return false;
	a->step->under_way++;
	return true;
}

static bool ask_run(const struct image_run *run, void *ctx)
{
	struct asking *a = ctx;

	for (uint64_t done = 0; done < run->length;) {
		size_t n =
			run->length - done < READ_BYTES ? (size_t)(run->length - done) : READ_BYTES;

		if ((uintptr_t)a->at % ALIGN)
			return false; /* the piece before was no multiple of ALIGN */
		if (!run->source)
			memset(a->at, 0, n);
		else if (!add_read(a, run->source, run->offset + done, n))
			return false;
		a->at += n;
		a->found += n;
		done += n;
	}
	return true;
}

static bool make_buffer(struct ahead_direct *d, struct part *p, size_t bytes)
{
	if (p->room >= bytes)
		return true;
	free_buffer(d, p);
	if (!budget_take_spare(d->budget, bytes))
		return false;
	p->buffer = aligned_alloc(ALIGN, bytes);
	if (!p->buffer) {
		budget_give(d->budget, bytes);
		return false;
	}
	p->room = bytes;
	return true;
}

/* Starts to read [from, to) of f into p. */
static bool ask_part(struct ahead_direct *d, struct ahead_step *s, struct part *p,
		     struct volume *volume, const struct fs_file *f, uint64_t from, uint64_t to)
{
	struct asking a = {.direct = d, .step = s};

	p->start = from - from % ALIGN;
	if (to > f->size || !make_buffer(d, p, round_up(to - p->start, ALIGN)))
		return false;
	a.at = p->buffer;
	return file_runs(volume, f, p->start, to, ask_run, &a) && a.found == to - p->start;
}

static bool ask_step(struct ahead_direct *d, struct ahead_step *s)
{
	struct block_replica *r = s->replica;
	uint64_t chunk = r->files.header.chunk;

	return ask_part(d, s, &s->data, r->fs->volume, &r->files.data, s->from, s->to) &&
	       ask_part(d, s, &s->sums, r->fs->volume, &r->files.meta,
			META_HEADER_BYTES + s->from / chunk * 4,
			META_HEADER_BYTES + (s->to + chunk - 1) / chunk * 4);
}

static struct ahead_step *unused_step(struct ahead_direct *d)
{
	for (unsigned i = 0; i < d->num_steps; i++)
		if (!d->steps[i].replica)
			return &d->steps[i];
	return NULL;
}

bool ahead_direct_ask(struct ahead_direct *d, struct block_replica *r, uint64_t from, uint64_t to)
{
	struct ahead_step *s = unused_step(d);
	struct piece p = {.start = from};

	to = round_up(to, VERIFIED_UNIT);
	if (to > r->files.data.size)
		to = r->files.data.size;
	if (!s || VERIFIED_UNIT % r->files.header.chunk || to - from > MOST_UNITS * VERIFIED_UNIT)
		return false;
	p.end = to;
	if (piece_settled(r, &p) < 0 || !keep_replica(d, s, r))
		return false;
	s->from = from;
	s->to = to;
	memset(s->taken, 0, sizeof(s->taken));
	s->failed = !ask_step(d, s);
	if (s->under_way)
		source_queue_start(d->queue);
	s->passed = s->failed;
	drop_if_unused(d, s);
	return !s->failed;
}

/* ---- taking ------------------------------------------------------------------------ */

/* Notes the reads of the disk that have ended, unless another thread waits for them. */
static void note_ended(struct ahead_direct *d)
{
	struct ahead_step *s;
	int error;

	while (!d->someone_waits && (s = source_queue_ended(d->queue, &error))) {
		s->under_way--;
		s->failed |= error < 0;
		drop_if_unused(d, s);
	}
}

/*
 * Waits until s has been read. One thread waits for the disk, without the lock, and notes what has
 * ended. Others wait for that thread.
 */
static void wait_for(struct ahead_direct *d, struct ahead_step *s)
{
	for (note_ended(d); s->under_way; note_ended(d)) {
		if (d->someone_waits) {
			waiting_announce();
			pthread_cond_wait(&d->noted, d->lock);
			continue;
		}
		d->someone_waits = true;
		source_queue_start(d->queue); /* the kernel may have lacked memory before */
		pthread_mutex_unlock(d->lock);
		source_queue_await(d->queue);
		pthread_mutex_lock(d->lock);
		d->someone_waits = false;
		note_ended(d);
		pthread_cond_broadcast(&d->noted);
	}
}

static struct ahead_step *find(struct ahead_direct *d, const struct block_replica *r, uint64_t at)
{
	for (unsigned i = 0; i < d->num_steps; i++) {
		struct ahead_step *s = &d->steps[i];

		/* A passed step may overlap a newer one. */
		if (s->replica == r && !s->passed && s->from <= at && at < s->to)
			return s;
	}
	return NULL;
}

static void let_go(struct ahead_direct *d, struct ahead_step *s)
{
	s->holders--;
	drop_if_unused(d, s);
}

struct ahead_step *ahead_direct_get(struct ahead_direct *d, const struct block_replica *r,
				    uint64_t from, uint64_t to, struct piece *p)
{
	struct ahead_step *s = find(d, r, from);
	uint64_t chunk = r->files.header.chunk;

	if (!s)
		return NULL;
	s->holders++;
	wait_for(d, s);
	if (s->failed) {
		let_go(d, s);
		return NULL;
	}
	/* A step begins with a unit, and a unit has whole chunks. */
	p->start = from - from % VERIFIED_UNIT;
	p->end = round_up(to, VERIFIED_UNIT);
	if (p->end > s->to)
		p->end = s->to;
	p->data = s->data.buffer + (p->start - s->data.start);
	p->sums = s->sums.buffer + (META_HEADER_BYTES + p->start / chunk * 4 - s->sums.start);
	return s;
}

static unsigned unit_of(const struct ahead_step *s, uint64_t at)
{
	return (unsigned)((at - s->from) / VERIFIED_UNIT);
}

static bool is_taken(const struct ahead_step *s)
{
	unsigned units = unit_of(s, s->to - 1) + 1, n = 0;

	for (unsigned i = 0; i < MOST_UNITS / 64; i++)
		n += (unsigned)__builtin_popcountll(s->taken[i]);
	return n == units;
}

void ahead_direct_put(struct ahead_direct *d, struct ahead_step *s, const struct piece *p)
{
	for (unsigned i = unit_of(s, p->start); i <= unit_of(s, p->end - 1); i++)
		s->taken[i / 64] |= UINT64_C(1) << i % 64;
	s->passed |= s->to <= d->reached && is_taken(s);
	let_go(d, s);
}

void ahead_direct_reach(struct ahead_direct *d, uint64_t from, uint64_t slack)
{
	note_ended(d);
	d->reached = from;
	for (unsigned i = 0; i < d->num_steps; i++) {
		struct ahead_step *s = &d->steps[i];

		if (!s->replica || s->to > from)
			continue;
		s->passed |= from - s->to >= slack || is_taken(s);
		drop_if_unused(d, s);
	}
}

void ahead_direct_drop(struct ahead_direct *d)
{
	note_ended(d);
	for (unsigned i = 0; i < d->num_steps; i++) {
		struct ahead_step *s = &d->steps[i];

		s->passed = true;
		drop_if_unused(d, s);
	}
}

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

#include "read/budget.h"
#include "read/file_runs.h"
#include "parser-protocol/blocks.h"
#include "read/piece.h"
#include "disk/source_queue.h"

#define ALIGN SOURCE_QUEUE_ALIGN
#define READS_OF_STEP 16U
#define READ_BYTES (512U << 10) /* most bytes in one read */

/* One file's part of a step. */
struct part {
	uint64_t start; /* in the file */
	uint8_t *buffer;
	size_t room;
};

struct step {
	struct block_replica *replica; /* NULL: not in use; its weight is taken */
	uint64_t from, to;
	struct part data, sums;
	unsigned under_way;
	bool failed;
};

struct ahead_direct {
	struct source_queue *queue;
	struct budget *budget;
	size_t own_weight; /* taken for everything but the buffers */
	unsigned num_steps;
	struct step steps[];
};

static struct ahead_direct *make(unsigned steps)
{
	struct ahead_direct *d = calloc(1, sizeof(*d) + steps * sizeof(d->steps[0]));

	if (!d)
		return NULL;
	d->num_steps = steps;
	d->queue = source_queue_new(steps * READS_OF_STEP);
	if (d->queue)
		return d;
	free(d);
	return NULL;
}

struct ahead_direct *ahead_direct_new(unsigned steps, struct budget *budget)
{
	size_t weight = sizeof(struct ahead_direct) + steps * sizeof(struct step) +
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
	d->own_weight = weight;
	return d;
}

/* The handle may have dropped the replica that a step keeps, so the replica counts here, too. */
static bool keep_replica(struct ahead_direct *d, struct step *s, struct block_replica *r)
{
	if (!budget_take_spare(d->budget, replica_weight(r)))
		return false;
	s->replica = replica_get(r);
	return true;
}

static void drop_replica(struct ahead_direct *d, struct step *s)
{
	if (!s->replica)
		return;
	budget_give(d->budget, replica_weight(s->replica));
	replica_put(s->replica);
	s->replica = NULL;
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
	struct step *step;
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
static bool ask_part(struct ahead_direct *d, struct step *s, struct part *p, struct volume *volume,
		     const struct fs_file *f, uint64_t from, uint64_t to)
{
	struct asking a = {.direct = d, .step = s};

	p->start = from - from % ALIGN;
	if (to > f->mapped || !make_buffer(d, p, round_up(to - p->start, ALIGN)))
		return false;
	a.at = p->buffer;
	return file_runs(volume, f, p->start, to, ask_run, &a) && a.found == to - p->start;
}

static bool ask_step(struct ahead_direct *d, struct step *s)
{
	struct block_replica *r = s->replica;
	uint64_t chunk = r->files.header.chunk;

	return ask_part(d, s, &s->data, r->fs->volume, &r->files.data, s->from, s->to) &&
	       ask_part(d, s, &s->sums, r->fs->volume, &r->files.meta,
			META_HEADER_BYTES + s->from / chunk * 4,
			META_HEADER_BYTES + (s->to + chunk - 1) / chunk * 4);
}

static struct step *unused_step(struct ahead_direct *d)
{
	for (unsigned i = 0; i < d->num_steps; i++)
		if (!d->steps[i].replica)
			return &d->steps[i];
	return NULL;
}

bool ahead_direct_ask(struct ahead_direct *d, struct block_replica *r, uint64_t from, uint64_t to)
{
	struct step *s = unused_step(d);
	struct piece p = {.start = from};

	to = round_up(to, VERIFIED_UNIT);
	if (to > r->files.data.size)
		to = r->files.data.size;
	if (!s || VERIFIED_UNIT % r->files.header.chunk)
		return false;
	p.end = to;
	if (piece_settled(r, &p) < 0 || !keep_replica(d, s, r))
		return false;
	s->from = from;
	s->to = to;
	s->failed = !ask_step(d, s);
	if (s->under_way)
		source_queue_start(d->queue);
	return !s->failed;
}

/* ---- taking in ---------------------------------------------------------------------- */

static void wait_for(struct ahead_direct *d, struct step *s)
{
	while (s->under_way) {
		int error;
		struct step *ended = source_queue_wait(d->queue, &error);

		ended->under_way--;
		ended->failed |= error < 0;
	}
}

static void take(struct ahead_direct *d, struct step *s, struct verified_cache *cache)
{
	struct block_replica *r = s->replica;
	uint64_t sums = META_HEADER_BYTES + s->from / r->files.header.chunk * 4;
	struct piece p = {.start = s->from, .end = s->to};

	wait_for(d, s);
	if (!s->failed) {
		p.data = s->data.buffer + (s->from - s->data.start);
		p.sums = s->sums.buffer + (sums - s->sums.start);
		if (piece_verify(r, &p) == 0)
			verified_cache_add_ahead(cache, r, &p);
	}
	drop_replica(d, s);
}

void ahead_direct_take(struct ahead_direct *d, uint64_t to, struct verified_cache *cache)
{
	for (unsigned i = 0; i < d->num_steps; i++) {
		struct step *s = &d->steps[i];

		if (s->replica && s->from < to)
			take(d, s, cache);
	}
}

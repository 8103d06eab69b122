// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements s3fifo.h: two lists and the kept keys. verified_cache.c calls it.
 */
#include "read/s3fifo.h"

#define MOST_USES 3U
#define USES_FOR_MAIN 2U

bool s3fifo_init(struct s3fifo *q)
{
	*q = (struct s3fifo){0};
	TAILQ_INIT(&q->small);
	TAILQ_INIT(&q->main);
	return ghosts_init(&q->ghosts);
}

void s3fifo_clear(struct s3fifo *q)
{
	ghosts_clear(&q->ghosts);
}

void s3fifo_set(struct s3fifo *q, size_t small_most, size_t ghosts_most)
{
	q->small_most = small_most;
	ghosts_set_most(&q->ghosts, ghosts_most);
}

static void append(struct s3fifo *q, struct s3fifo_entry *e, bool to_main)
{
	e->main = to_main;
	TAILQ_INSERT_TAIL(to_main ? &q->main : &q->small, e, order);
	*(to_main ? &q->main_weight : &q->small_weight) += e->weight;
}

void s3fifo_remove(struct s3fifo *q, struct s3fifo_entry *e)
{
	TAILQ_REMOVE(e->main ? &q->main : &q->small, e, order);
	*(e->main ? &q->main_weight : &q->small_weight) -= e->weight;
}

bool s3fifo_insert(struct s3fifo *q, struct s3fifo_entry *e)
{
	bool was_here = ghosts_take(&q->ghosts, e->key);

	e->uses = 0;
	append(q, e, was_here);
	return was_here;
}

void s3fifo_use(struct s3fifo_entry *e)
{
	if (e->uses < MOST_USES)
		e->uses++;
}

static struct s3fifo_entry *oldest(struct s3fifo *q)
{
	bool from_small = q->small_weight >= q->small_most || TAILQ_EMPTY(&q->main);

	return TAILQ_FIRST(from_small && !TAILQ_EMPTY(&q->small) ? &q->small : &q->main);
}

/* Gives the entry another round in the main queue if it was used enough. */
static bool stays(struct s3fifo *q, struct s3fifo_entry *e)
{
	if (e->uses < (e->main ? 1 : USES_FOR_MAIN))
		return false;
	s3fifo_remove(q, e);
	e->uses = e->main ? e->uses - 1 : 0;
	append(q, e, true);
	return true;
}

struct s3fifo_entry *s3fifo_evict(struct s3fifo *q)
{
	struct s3fifo_entry *e = oldest(q);

	for (unsigned moves = 0; e && moves < S3FIFO_MOST_MOVES && stays(q, e); moves++)
		e = oldest(q);
	if (!e)
		return NULL;
	s3fifo_remove(q, e);
	ghosts_add(&q->ghosts, e->key, e->weight);
	return e;
}

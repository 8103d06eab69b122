// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * queue.c - the queue of requests that wait to be sent.
 *
 * Called by the files of a link (queue.h).
 */
#include "peer/asking/queue.h"

#include <stddef.h>

/* Puts r, the first request of its owner, behind the first requests of the other owners. */
static void append_turn(struct request_queue *q, struct link_request *r)
{
	r->next = NULL;
	if (q->last)
		q->last->next = r;
	else
		q->first = r;
	q->last = r;
}

/* The first request of that owner, or NULL. */
static struct link_request *find_turn(const struct request_queue *q, const void *owner)
{
	struct link_request *turn = q->first;

	while (turn && turn->owner != owner)
		turn = turn->next;
	return turn;
}

unsigned request_queue_waiting(const struct request_queue *q, const void *owner)
{
	const struct link_request *turn = find_turn(q, owner);

	return turn ? turn->waiting : 0;
}

void request_queue_append(struct request_queue *q, struct link_request *r)
{
	struct link_request *turn = find_turn(q, r->owner);

	r->same = NULL;
	r->last = r;
	r->waiting = 0;
	if (turn) {
		turn->last->same = r;
		turn->last = r;
	} else {
		append_turn(q, r);
		turn = r;
	}
	turn->waiting += !r->silent;
	q->count++;
}

struct link_request *request_queue_take(struct request_queue *q)
{
	struct link_request *r = q->first;

	if (!r)
		return NULL;
	q->first = r->next;
	if (!q->first)
		q->last = NULL;
	q->count--;
	if (r->same) {
		r->same->last = r->last;
		r->same->waiting = r->waiting - !r->silent;
		append_turn(q, r->same);
	}
	return r;
}

struct link_request *request_queue_next(struct link_request **turn, const struct link_request *r)
{
	if (r->same)
		return r->same;
	*turn = (*turn)->next;
	return *turn;
}

struct link_request *request_queue_pick(struct request_queue *q, request_is *is, void *ctx)
{
	struct link_request *turn = q->first, *picked = NULL;

	*q = (struct request_queue){0};
	while (turn) {
		struct link_request *r = turn, *same;

		turn = r->next;
		for (; r; r = same) {
			same = r->same;
			if (is(r, ctx)) {
				r->next = picked;
				picked = r;
			} else {
				request_queue_append(q, r);
			}
		}
	}
	return picked;
}

bool request_is_any(const struct link_request *r, void *unused)
{
	(void)r, (void)unused;
	return true;
}

void request_chain_end(struct link_request *r, int error)
{
	while (r) {
		struct link_request *next = r->next;

		r->done(r, error, NULL);
		r = next;
	}
}

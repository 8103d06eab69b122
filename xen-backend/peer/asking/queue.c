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

void request_queue_append(struct request_queue *q, struct link_request *r)
{
	struct link_request *turn = q->first;

	while (turn && turn->owner != r->owner)
		turn = turn->next;
	r->same = NULL;
	r->last = r;
	if (turn) {
		turn->last->same = r;
		turn->last = r;
	} else {
		append_turn(q, r);
	}
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue.h - the queue of requests that wait to be sent.  Their owners take turns.
 *
 * Called by the files of a link (link_private.h).
 *
 * The queue is a list of each owner's first request.  The other requests of an owner hang at the
 * first.  An owner with many requests delays each other owner by one request.  Each owner has room
 * of its own, so that no owner fills the queue for another.
 *
 * The caller locks.  The queue does not own the requests.
 */
#ifndef VREAD_PEER_QUEUE_H
#define VREAD_PEER_QUEUE_H

#include <stdbool.h>

#include "peer/asking/link.h"

struct request_queue {
	struct link_request *first, *last; /* the list of owners' first requests */
	unsigned count;                    /* of all requests */
};

typedef bool request_is(const struct link_request *r, void *ctx);

/* How many requests of that owner await an answer.  Silent requests do not count. */
unsigned request_queue_waiting(const struct request_queue *q, const void *owner);
/* Puts r behind the other requests of its owner. */
void request_queue_append(struct request_queue *q, struct link_request *r);
/* Takes out the first request of the owner that has the turn.  NULL: the queue is empty. */
struct link_request *request_queue_take(struct request_queue *q);
/* The request behind r, or NULL.  To go through a queue, begin with r and *turn set to q->first. */
struct link_request *request_queue_next(struct link_request **turn, const struct link_request *r);
/* Takes out all requests for which is() returns true.  Returns them as a chain, linked by next. */
struct link_request *request_queue_pick(struct request_queue *q, request_is *is, void *ctx);
/* Returns true: for request_queue_pick(). */
bool request_is_any(const struct link_request *r, void *unused);

/* Calls done with error for each request of a chain. */
void request_chain_end(struct link_request *r, int error);

#endif

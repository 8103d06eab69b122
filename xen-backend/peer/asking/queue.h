/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue.h - requests that wait to be sent, whose owners take turns.
 *
 * It is a list of each owner's first request, at which the others of that owner hang; one that asks
 * much delays the others by one request each.
 *
 * The caller locks.  Requests stay the caller's.
 */
#ifndef VREAD_PEER_QUEUE_H
#define VREAD_PEER_QUEUE_H

#include <stdbool.h>

#include "peer/asking/link.h"

struct request_queue {
	struct link_request *first, *last; /* each owner's */
	unsigned count;                    /* of requests */
};

typedef bool request_is(const struct link_request *r, void *ctx);

/* Behind its owner's others. */
void request_queue_append(struct request_queue *q, struct link_request *r);
/* The first of the owner whose turn it is; NULL: it is empty. */
struct link_request *request_queue_take(struct request_queue *q);
/* The one behind r; *turn was q->first when r was. */
struct link_request *request_queue_next(struct link_request **turn, const struct link_request *r);
/* Takes out those to which the answer is yes: a chain by next. */
struct link_request *request_queue_pick(struct request_queue *q, request_is *is, void *ctx);
bool request_is_any(const struct link_request *r, void *unused);

/* Tells the end of all of a chain. */
void request_chain_end(struct link_request *r, int error);

#endif

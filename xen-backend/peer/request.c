// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * request.c - makes requests and gives them to the link of a peer.
 *
 * Called by opening.c and handle.c (peers_private.h).
 */
#include "peer/peers_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "peer/settings.h"

struct link_request *peer_request_new(const uint8_t *message, size_t length, uint16_t answer,
				      uint64_t expires)
{
	struct link_request *r = malloc(sizeof(*r) + length);

	if (!r)
		return NULL;
	*r = (struct link_request){.answer = answer, .length = length, .expires = expires};
	memcpy(r->message, message, length);
	return r;
}

uint64_t peers_deadline(const struct peers *p)
{
	return clock_ms() + p->config->answer_timeout;
}

int peer_ask(struct stream *stream, struct peer_pool *pool, struct link_request *r)
{
	int error;

	r->owner = pool;
	error = pool && atomic_load(&pool->stopped) ? -EAGAIN : link_ask(stream->link, r);
	if (error) {
		free(r);
		return error;
	}
	/* The pool may have been stopped between the check and link_ask(). */
	if (pool && atomic_load(&pool->stopped))
		link_stop(stream->link, pool);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * turns.c - decides whose request is carried out next.  requests.c, workers.c, conn.c and
 * buffers.c call these functions.
 *
 * The ready connections form a queue.  A connection with requests stands in it once.  A worker
 * takes the first connection and the first request of it.  If the connection has more requests,
 * it goes to the end of the queue.  A connection that holds its share of buffers is not ready,
 * and becomes ready again when one of its buffers was sent.
 */
#include "peer/answering/server_private.h"

#include <stdlib.h>

void conn_set_ready(struct conn *c)
{
	struct peer_server *s = c->server;

	if (c->ready || c->closed || !c->first || c->buffers >= server_buffers_each(s, c->client))
		return;
	c->ready = true;
	c->next_ready = NULL;
	if (s->last_ready)
		s->last_ready->next_ready = c;
	else
		s->first_ready = c;
	s->last_ready = c;
	pthread_cond_signal(&s->work);
}

void conn_set_unready(struct conn *c)
{
	struct peer_server *s = c->server;

	c->ready = false;
	for (struct conn **at = &s->first_ready, *before = NULL; *at;
	     before = *at, at = &(*at)->next_ready)
		if (*at == c) {
			*at = c->next_ready;
			if (s->last_ready == c)
				s->last_ready = before;
			return;
		}
}

struct conn *server_take_ready(struct peer_server *s)
{
	struct conn *c = s->first_ready;

	if (!c || s->pieces_used == s->config->buffers)
		return NULL;
	s->first_ready = c->next_ready;
	if (!s->first_ready)
		s->last_ready = NULL;
	c->ready = false;
	return c;
}

void conn_append_request(struct conn *c, struct answer_request *r)
{
	r->next = NULL;
	if (c->last)
		c->last->next = r;
	else
		c->first = r;
	c->last = r;
	conn_set_ready(c);
}

struct answer_request *conn_take_request(struct conn *c)
{
	struct answer_request *r = c->first;

	if (r) {
		c->first = r->next;
		if (!c->first)
			c->last = NULL;
	}
	return r;
}

struct answer_request *conn_begin_request(struct conn *c)
{
	struct answer_request *r = conn_take_request(c);

	r->next = c->working;
	c->working = r;
	return r;
}

void conn_leave_request(struct conn *c, struct answer_request *r)
{
	struct answer_request **at = &c->working;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
}

bool conn_cancel_request(struct conn *c, uint64_t id)
{
	struct answer_request *before = NULL, *r = c->first;

	for (; r && r->id != id; r = r->next)
		before = r;
	if (r) {
		*(before ? &before->next : &c->first) = r->next;
		if (c->last == r)
			c->last = before;
		free(r);
		if (!c->first)
			conn_set_unready(c);
		return true;
	}
	for (r = c->working; r && (r->id != id || r->cancelled); r = r->next)
		;
	if (r)
		r->cancelled = true;
	return r != NULL;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * turns.c - decides whose request is carried out next.
 *
 * The clients that have requests form a queue, and the connections of each client that have
 * requests form another one.  A worker takes the first client that may take a worker and a buffer
 * (shares.c), its first connection that may, and the first request of that connection.  Then
 * the client and the connection go to the ends of their queues, if they have more requests.  So
 * clients have turns, however many connections they have.
 */
#include "peer/answering/server_private.h"

#include <stdlib.h>

static void append_client(struct peer_server *s, struct client *client)
{
	client->next_ready = NULL;
	if (s->last_ready)
		s->last_ready->next_ready = client;
	else
		s->first_ready = client;
	s->last_ready = client;
}

static void remove_client(struct peer_server *s, struct client *client)
{
	struct client **at = &s->first_ready, *before = NULL;

	for (; *at != client; at = &(*at)->next_ready)
		before = *at;
	*at = client->next_ready;
	if (s->last_ready == client)
		s->last_ready = before;
}

void conn_set_ready(struct conn *c)
{
	struct peer_server *s = c->server;
	struct client *client = c->client;

	if (c->ready || c->closed || !c->first)
		return;
	if (!client->first_ready)
		append_client(s, client);
	c->ready = true;
	c->next_ready = NULL;
	if (client->last_ready)
		client->last_ready->next_ready = c;
	else
		client->first_ready = c;
	client->last_ready = c;
	pthread_cond_signal(&s->work);
}

void conn_set_unready(struct conn *c)
{
	struct client *client = c->client;
	struct conn **at, *before = NULL;

	if (!c->ready)
		return;
	c->ready = false;
	for (at = &client->first_ready; *at != c; at = &(*at)->next_ready)
		before = *at;
	*at = c->next_ready;
	if (client->last_ready == c)
		client->last_ready = before;
	if (!client->first_ready)
		remove_client(c->server, client);
}

/* The first connection of the client that may take a worker and a buffer.  NULL: none may. */
static struct conn *find_conn(const struct client *client)
{
	struct conn *c = client->first_ready;

	while (c && !conn_may_take(c))
		c = c->next_ready;
	return c;
}

struct conn *server_take_ready(struct peer_server *s)
{
	struct client *client = s->first_ready;
	struct conn *c = NULL;

	while (client && !(c = find_conn(client)))
		client = client->next_ready;
	if (!client)
		return NULL;
	conn_set_unready(c);
	if (client->first_ready) { /* the turn of the others, before its other connections */
		remove_client(s, client);
		append_client(s, client);
	}
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

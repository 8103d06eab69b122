// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * workers.c - the threads that carry out requests and send the answers.  server.c starts them.
 *
 * The receiver answers a cancelled request, even while a worker carries it out.  Who sends the
 * answer is decided with the connection's lock.
 */
#include "peer/answering/server_private.h"

#include <stdlib.h>

/* Waits for the next request, and takes a buffer for its answer.  Both count as the client's.
 * False: the server ends. */
static bool next_job(struct peer_server *s, struct conn **ret_conn, struct answer_request **ret,
		     struct piece **ret_piece)
{
	struct conn *c = NULL;
	bool found;

	pthread_mutex_lock(&s->lock);
	while (!s->stopping && !(c = server_take_ready(s)))
		pthread_cond_wait(&s->work, &s->lock);
	found = !s->stopping;
	if (found) {
		*ret_conn = c;
		*ret = conn_begin_request(c);
		*ret_piece = piece_take(s, c);
		client_count(s, c->client, 0, 1, 0);
		c->references++;
		conn_set_ready(c);
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* With the connection's lock. */
static void send_answer(struct conn *c, struct outgoing *o, bool is_short)
{
	if (is_short)
		conn_send_short(c, o);
	else if (c->transport)
		c->transport->ops->send(c->transport, o);
	else
		o->release(o);
	if (c->transport)
		conn_flush(c);
}

/* Queues r again if more of it is to be answered after the piece that was sent.  True if so. */
static bool goes_on(struct conn *c, struct answer_request *r, bool more)
{
	pthread_mutex_lock(&c->server->lock);
	more = more && !r->cancelled && !c->closed;
	if (more)
		conn_append_request(c, r);
	pthread_mutex_unlock(&c->server->lock);
	return more;
}

/* Sends o, the worker's answer to r, unless r was cancelled meanwhile.  The end of a READ is noted
 * before its last bytes are sent: the peer may use the credit again as soon as they are there, and
 * by RDMA this host learns later that they are there. */
static void deliver(const struct answer_client *client, struct conn *c, struct answer_request *r,
		    struct outgoing *o, bool is_short, bool more)
{
	struct peer_server *s = c->server;

	pthread_mutex_lock(&c->lock);
	pthread_mutex_lock(&s->lock);
	conn_leave_request(c, r);
	if (!more && !is_short && !r->cancelled)
		c->requests--;
	pthread_mutex_unlock(&s->lock);
	if (o && r->cancelled)
		answer_drop(client, r, o);
	else if (o)
		send_answer(c, o, is_short);
	more = goes_on(c, r, more);
	pthread_mutex_unlock(&c->lock);
	if (!more)
		free(r);
}

static void do_job(struct conn *c, struct answer_request *r, struct piece *p)
{
	struct answer_client client = {
		.reader = {c->server->store, c->client->policy, c->blocks, c->client,
			   c->client->name},
		.counters = &c->client->counters,
		.name = c->client->name,
	};
	struct outgoing *o = NULL;
	bool more = false, is_short;

	/* The configuration may have changed since the READ arrived, or since its last piece. */
	r->plain = r->plain && (atomic_load(&c->client->frames) & c->frames);
	if (piece_make_ready(p))
		o = answer_request(&client, r, p->buffer, &more);
	is_short = o && o != p->buffer;
	if (!o || is_short)
		piece_put(p);
	deliver(&client, c, r, o, is_short, more);
}

static void end_job(struct peer_server *s, struct conn *c)
{
	pthread_mutex_lock(&s->lock);
	client_count(s, c->client, 0, -1, 0);
	pthread_mutex_unlock(&s->lock);
	conn_unref(c);
}

void *server_work(void *arg)
{
	struct peer_server *s = arg;
	struct answer_request *r;
	struct piece *p;
	struct conn *c;

	while (next_job(s, &c, &r, &p)) {
		do_job(c, r, p);
		end_job(s, c);
	}
	return NULL;
}

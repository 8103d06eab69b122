// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shares.c - how many workers and answer buffers a peer may hold.  All functions are called with
 * the server's lock.
 *
 * A peer takes its answers as slowly as it likes, and may read from a disk that hangs.  So what it
 * holds is bounded, whatever its connections do:
 *
 *   - a peer holds at most a quarter of the buffers;
 *   - a peer that holds a buffer, or a worker, leaves one to each other connected peer that holds
 *     none, and need not leave more than half of all;
 *   - a connection that holds a buffer leaves one of the peer's share to each other connection of
 *     the peer in the same way, so that one that is slow stops no other.
 *
 * A peer that holds its share waits until something is back.
 */
#include "peer/answering/server_private.h"

#define SHARE_OF_BUFFERS 4U /* a client holds at most one of so many */

static bool is_without(const struct client *c, unsigned held)
{
	return c->connections && !held;
}

void client_count(struct peer_server *s, struct client *client, int connections, int workers,
		  int buffers)
{
	s->without_worker -= is_without(client, client->workers);
	s->without_buffer -= is_without(client, client->buffers);
	client->connections += (unsigned)connections;
	client->workers += (unsigned)workers;
	client->buffers += (unsigned)buffers;
	s->without_worker += is_without(client, client->workers);
	s->without_buffer += is_without(client, client->buffers);
	s->workers_used += (unsigned)workers;
	s->pieces_used += (unsigned)buffers;
}

static bool is_idle(const struct conn *c)
{
	return !c->closed && !c->buffers;
}

void conn_count_buffers(struct conn *c, int buffers)
{
	c->client->idle -= is_idle(c);
	c->buffers += (unsigned)buffers;
	c->client->idle += is_idle(c);
	client_count(c->server, c->client, 0, 0, buffers);
}

void conn_begin_counting(struct conn *c)
{
	c->client->idle += is_idle(c);
	client_count(c->server, c->client, 1, 0, 0);
}

void conn_end_counting(struct conn *c)
{
	c->client->idle -= is_idle(c);
	c->closed = true;
	client_count(c->server, c->client, -1, 0, 0);
}

/* True if a client, or a connection, that holds `held` may take one more of `all`, of which `used`
 * are held. */
static bool may_take(unsigned held, unsigned most, unsigned used, unsigned all, unsigned without)
{
	unsigned left = all - used, kept = without < all / 2 ? without : all / 2;

	return held ? held < most && left > kept : left > 0;
}

bool client_may_take(const struct peer_server *s, const struct client *client)
{
	unsigned buffers = s->config->buffers, workers = s->config->workers;

	return may_take(client->workers, workers, s->workers_used, workers, s->without_worker) &&
	       may_take(client->buffers, buffers / SHARE_OF_BUFFERS, s->pieces_used, buffers,
			s->without_buffer);
}

bool conn_may_take(const struct conn *c)
{
	unsigned share = c->server->config->buffers / SHARE_OF_BUFFERS;

	return client_may_take(c->server, c->client) &&
	       may_take(c->buffers, share, c->client->buffers, share, c->client->idle);
}

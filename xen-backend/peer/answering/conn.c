// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conn.c - a connection of a peer that asks, from being accepted to its end.  receiver.c makes
 * and closes connections; workers.c and announce.c also flush them.
 */
#include "peer/answering/server_private.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "read/service.h"
#include "read/store.h"
#include "peer/wire/socket.h"
#include "peer/wire/tls.h"

struct conn *conn_new(struct peer_server *s, int fd)
{
	struct conn *c = calloc(1, sizeof(*c));
	struct address peer = {.length = sizeof(peer.socket)};

	if (!c) {
		close(fd);
		return NULL;
	}
	getpeername(fd, (struct sockaddr *)&peer.socket, &peer.length);
	address_text(&peer, c->address);
	c->source = address_source(&peer);
	c->expected = server_expects(s, c->source);
	c->fd = fd;
	c->server = s;
	c->references = 1;
	c->cancels = SERVER_CREDITS;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

int conn_begin_tls(struct conn *c)
{
	int fd = c->fd;

	c->fd = -1;
	socket_set_options(fd, SERVER_STUCK_TIMEOUT);
	c->tls = tls_new(c->server->tls, fd, NULL);
	return c->tls ? 0 : -ENOMEM;
}

int conn_admit(struct conn *c, struct client *client)
{
	struct peer_server *s = c->server;

	atomic_store(&client->handle_memory.most, block_store_handle_memory(s->store));
	c->blocks = handles_new(reader_close, &client->handle_memory);
	if (!c->blocks)
		return -ENOMEM;
	strangers_remove(s, c);
	pthread_mutex_lock(&s->lock);
	c->client = client;
	conn_begin_counting(c);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

void conn_unref(struct conn *c)
{
	struct peer_server *s = c->server;
	bool last;

	pthread_mutex_lock(&s->lock);
	last = --c->references == 0;
	pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	handles_free(c->blocks);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* The first of the connection's descriptors is its socket.  Closing a descriptor is not enough.  A
 * child process that was just spawned has a copy of the descriptor until its program runs.  Until
 * then the epoll would still report a connection that is freed. */
static void unwatch(struct conn *c)
{
	struct pollfd fds[TRANSPORT_MAX_FDS] = {{.fd = c->tls ? tls_fd(c->tls) : c->fd}};
	unsigned n = c->transport ? c->transport->ops->poll(c->transport, fds) : 1;

	for (unsigned i = 0; i < n; i++)
		epoll_ctl(c->server->epoll, EPOLL_CTL_DEL, fds[i].fd, NULL);
	if (c->transport && !c->orderly)
		socket_drop_unsent(fds[0].fd);
}

/* The thread calls it.  Workers that carry out requests of c find no transport afterwards. */
void conn_close(struct conn *c)
{
	struct peer_server *s = c->server;
	struct answer_request *r;

	pthread_mutex_lock(&s->lock);
	conn_set_unready(c);
	while ((r = conn_take_request(c)))
		free(r);
	s->num_conns--;
	if (c->client)
		conn_end_counting(c);
	c->closed = true;
	pthread_cond_broadcast(&s->work); /* others need not leave anything to this client */
	pthread_mutex_unlock(&s->lock);

	pthread_mutex_lock(&c->lock);
	unwatch(c);
	if (c->transport)
		c->transport->ops->free(c->transport);
	c->transport = NULL;
	pthread_mutex_unlock(&c->lock);
	tls_free(c->tls);
	c->tls = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;

	strangers_remove(s, c);
	pthread_mutex_lock(&s->lock);
	if (c->previous)
		c->previous->next = c->next;
	else
		s->conns = c->next;
	if (c->next)
		c->next->previous = c->previous;
	pthread_mutex_unlock(&s->lock);
	conn_unref(c);
}

struct conn *server_oldest(const struct peer_server *s, const struct client *client)
{
	struct conn *oldest = NULL;

	for (struct conn *c = s->conns; c; c = c->next)
		if (c->client == client)
			oldest = c;
	return oldest;
}

/* Sets what the thread polls for.  With the connection's lock. */
void conn_update_events(struct conn *c)
{
	struct pollfd fds[TRANSPORT_MAX_FDS];
	struct epoll_event e = {.data.ptr = c};

	c->transport->ops->poll(c->transport, fds);
	e.events = EPOLLIN | (fds[0].events & POLLOUT ? EPOLLOUT : 0U);
	epoll_ctl(c->server->epoll, EPOLL_CTL_MOD, fds[0].fd, &e);
}

/* With the connection's lock: sends what can be sent.  The thread finds a failure later. */
void conn_flush(struct conn *c)
{
	bool blocked;

	if (c->transport->ops->flush(c->transport) < 0)
		return;
	blocked = !c->transport->ops->is_flushed(c->transport);
	if (blocked && !c->blocked) {
		pthread_mutex_lock(&c->server->lock);
		c->moved = clock_ms();
		pthread_mutex_unlock(&c->server->lock);
	}
	if (blocked != c->blocked) {
		c->blocked = blocked;
		conn_update_events(c);
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * receiver.c - the thread that accepts, authenticates and receives.  server.c starts it.
 *
 * The thread never waits for a peer or a disk.  Twice a second it looks for connections that
 * say no HELLO or do not take their answers, and for changed storages.  A change of the
 * configuration wakes it.
 */
#include "peer/answering/server_private.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/unix_listen.h"
#include "peer/wire/stream.h"
#include "peer/wire/tls.h"

#define TICK 500 /* ms */
/* Ticks that a peer has to say HELLO: a busy peer needs seconds.  They are counted as ticks, not
 * as ms: when this whole host has stood still, only one tick passes. */
#define HELLO_TICKS 30U
/* connections of one peer: its streams, and those from before its restart, which may remain */
#define MAX_EACH (2 * PEER_MAX_STREAMS)
#define TLS_HANDSHAKE 0x16 /* the first byte of a TLS connection */

/* Looks at the first byte, which costs much less than the state of a TLS connection.  1: a TLS
 * handshake begins; 0: nothing has arrived; negative errno: the connection is over. */
static int listen_first(struct conn *c)
{
	uint8_t first;
	ssize_t n = recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
	int r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		conn_hung_up(c);
		return -ECONNRESET;
	}
	c->spoke = true;
	if (first != TLS_HANDSHAKE) {
		conn_refuse(c, STRANGER_FAILED, "it does not speak TLS");
		return -EPROTO;
	}
	r = conn_begin_tls(c);
	return r ? r : 1;
}

/* The other side has authenticated itself.  Closes its oldest connection if it has too many. */
static int admit(struct conn *c)
{
	struct client *client = server_find_client(c->server, c->tls);
	struct conn *oldest = NULL;

	if (!client) {
		conn_refuse(c, STRANGER_FAILED,
			    "its certificate names no [peer] of this host's vread.conf, or more "
			    "than one");
		return -EACCES;
	}
	pthread_mutex_lock(&c->server->lock);
	if (client->connections >= MAX_EACH) /* c is no connection of the client yet */
		oldest = server_oldest(c->server, client);
	pthread_mutex_unlock(&c->server->lock);
	if (oldest) {
		conn_refuse(oldest, STRANGER_ENDS, "it has too many connections");
		conn_close(oldest);
	}
	return conn_admit(c, client);
}

/* 1: done; 0: not done yet; negative errno: refused. */
static int shake_hands(struct conn *c)
{
	struct epoll_event e = {.data.ptr = c};
	struct tls *tls = c->tls;
	int r = tls_handshake(tls);

	if (r < 0)
		conn_refuse(c, STRANGER_FAILED, "%s", tls_error(tls));
	e.events = EPOLLIN | (tls_wants(tls) & POLLOUT ? EPOLLOUT : 0U);
	epoll_ctl(c->server->epoll, EPOLL_CTL_MOD, tls_fd(tls), &e);
	if (r <= 0)
		return r;
	r = admit(c);
	if (r)
		return r;
	if (tls_export(tls, RDMA_SECRET_LABEL, (uint8_t *)&c->secret, sizeof(c->secret)))
		return -EIO;
	c->transport = stream_new(tls, &server_transport_user, c);
	if (!c->transport)
		return -ENOMEM;
	c->tls = NULL;
	return 1;
}

/* One turn of the connection.  If more has arrived, the epoll reports the connection again, after
 * all others that are ready.  Negative errno: the connection is over. */
static int advance(struct conn *c)
{
	int r;

	pthread_mutex_lock(&c->lock);
	r = c->transport->ops->advance(c->transport);
	if (!r) {
		conn_flush(c);
		conn_update_events(c);
	} else if (r != -ESHUTDOWN && c->have_hello) {
		log_peer(LOG_LEVEL_WARN, c->client->name, "from %s: %s", c->address,
			 c->transport->error[0] ? c->transport->error : strerror(-r));
	} else if (r != -ESHUTDOWN) {
		conn_refuse(c, STRANGER_ENDS, "%s",
			    c->transport->error[0] ? c->transport->error : strerror(-r));
	}
	pthread_mutex_unlock(&c->lock);
	return r;
}

static void on_conn(struct conn *c)
{
	int r = c->fd < 0 ? 1 : listen_first(c);

	if (r > 0 && !c->transport)
		r = shake_hands(c);
	if (r > 0)
		r = advance(c);
	if (r < 0)
		conn_close(c);
}

/* Adds c to the strangers.  One too many replaces another one. */
static void add_stranger(struct peer_server *s, struct conn *c)
{
	struct conn *replaced = strangers_replaced(s, c);

	if (replaced) {
		conn_refuse(replaced, STRANGER_DISPLACED,
			    "not authenticated yet, and too many newer connections");
		conn_close(replaced);
	}
	strangers_add(s, c);
}

static void on_accept(struct peer_server *s)
{
	struct epoll_event e = {.events = EPOLLIN};
	int fd = unix_accept(s->listener, &s->spare_fd);
	struct conn *c = fd < 0 ? NULL : conn_new(s, fd);

	if (!c)
		return;
	add_stranger(s, c);
	pthread_mutex_lock(&s->lock);
	c->next = s->conns;
	if (s->conns)
		s->conns->previous = c;
	s->conns = c;
	s->num_conns++;
	pthread_mutex_unlock(&s->lock);
	e.data.ptr = c;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
		conn_close(c);
}

static bool is_stuck(struct conn *c, uint64_t now)
{
	struct peer_server *s = c->server;
	uint64_t moved;
	bool blocked;

	if (!c->have_hello)
		return ++c->ticks > HELLO_TICKS;
	pthread_mutex_lock(&c->lock);
	blocked = c->blocked;
	pthread_mutex_unlock(&c->lock);
	pthread_mutex_lock(&s->lock);
	moved = c->moved;
	pthread_mutex_unlock(&s->lock);
	return blocked && moved + SERVER_STUCK_TIMEOUT < now; /* moved may be later than now */
}

/* again: tell the storages even if they have not changed. */
static void announce_changes(struct peer_server *s, bool again)
{
	bool changed = server_storages_changed(s) || again;

	for (struct conn *c = s->conns, *next; c; c = next) {
		next = c->next;
		c->announce_due = c->announce_due || changed;
		if (conn_announce_change(c) < 0)
			conn_close(c);
	}
}

/* True if the peer would be accepted if it connected now. */
static bool is_still_accepted(struct conn *c)
{
	int r = 0;

	if (!c->transport) /* not authenticated yet */
		return true;
	pthread_mutex_lock(&c->lock);
	r = c->transport->ops->recheck(c->transport);
	pthread_mutex_unlock(&c->lock);
	if (r)
		conn_refuse(c, STRANGER_ENDS, "%s, while it was connected", c->transport->error);
	return r == 0;
}

static void on_tick(struct peer_server *s)
{
	uint64_t now = clock_ms();

	server_free_buffers(s);
	server_tell_refusals(s);
	for (struct conn *c = s->conns, *next; c; c = next) {
		next = c->next;
		if (is_stuck(c, now))
			conn_refuse(c, STRANGER_LATE, "%s",
				    c->have_hello ? "it does not take its answers"
						  : "no HELLO in time");
		else if (is_still_accepted(c))
			continue;
		conn_close(c);
	}
}

static void say_goodbye(struct conn *c)
{
	pthread_mutex_lock(&c->lock);
	c->orderly = true;
	if (c->transport)
		c->transport->ops->shutdown(c->transport);
	pthread_mutex_unlock(&c->lock);
}

/* The server is to end, or the configuration has changed. */
static void on_wake(struct peer_server *s)
{
	uint64_t woken;

	if (read(s->wake, &woken, sizeof(woken)) < 0)
		return;
	for (struct conn *c = s->conns, *next; c; c = next) {
		next = c->next;
		if (!c->client || !atomic_load(&c->client->removed))
			continue;
		conn_refuse(c, STRANGER_ENDS, "[peer %s] is not configured any more",
			    c->client->name);
		say_goodbye(c);
		conn_close(c);
	}
	announce_changes(s, true);
}

void *server_receive(void *arg)
{
	struct peer_server *s = arg;
	uint64_t ticked = clock_ms();
	bool stopping = false;

	while (!stopping) {
		struct epoll_event e;
		/* One event at a time, because on_conn() may end other connections. */
		int n = clock_epoll(s->epoll, &e, ticked + TICK);

		if (n > 0 && e.data.ptr == &s->listener)
			on_accept(s);
		else if (n > 0 && e.data.ptr == &s->rdma)
			rdma_listener_process(s->rdma);
		else if (n > 0 && e.data.ptr == &s->wake)
			on_wake(s);
		else if (n > 0)
			on_conn(e.data.ptr);
		if (clock_ms() - ticked >= TICK) {
			on_tick(s);
			announce_changes(s, false);
			ticked = clock_ms();
		}
		pthread_mutex_lock(&s->lock);
		stopping = s->stopping;
		pthread_mutex_unlock(&s->lock);
	}
	while (s->conns) {
		say_goodbye(s->conns);
		conn_close(s->conns);
	}
	return NULL;
}

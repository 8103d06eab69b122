// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements session.h: starts the workers of each connection, ends them, and adds up counters. The
 * ports call connected() and disconnected(), control/daemon.c calls the rest.
 *
 * disconnected() returns only when every worker has ended, every block of the device is closed, and
 * no bytes from a peer can arrive in its pool. After that the port may unmap the pool.
 */
#include "ring/session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "peer/peer.h"
#include "read/handles.h"
#include "ring/queue.h"

struct session {
	struct session_server *server;
	struct session *next;
	struct queue_shared shared;
	struct queue *queue[VREAD_MAX_QUEUES];
};

struct session_server {
	struct block_store *store;
	struct peers *peers; /* NULL: none */
	struct session *sessions;
	struct counters past; /* of sessions that have ended */
};

static void nothing(int sig)
{
	(void)sig;
}

struct session_server *session_server_new(struct block_store *store, struct peers *peers)
{
	struct session_server *s = calloc(1, sizeof(*s));
	struct sigaction action = {.sa_handler = nothing}; /* no SA_RESTART: see queue_join() */

	if (!s)
		return NULL;
	s->store = store;
	s->peers = peers;
	sigaction(SIGURG, &action, NULL);
	return s;
}

void session_server_free(struct session_server *s)
{
	free(s);
}

static void session_free(struct session *s)
{
	handles_free(s->shared.dispatch.reader.handles);
	if (s->shared.dispatch.peers)
		peer_pool_free(s->shared.dispatch.peer_pool);
	if (s->shared.halt_fd >= 0)
		close(s->shared.halt_fd);
	free(s);
}

/*
 * Gives the session's pool to peers. If that fails, the device reads only blocks of this host, as
 * without peers.
 */
static void use_peers(struct session *s, struct peers *peers)
{
	struct dispatch *d = &s->shared.dispatch;
	int err = peer_pool_new(peers, d->conn->pool, (size_t)d->conn->pool_pages * VREAD_PAGE_SIZE,
				&d->peer_pool);

	if (err)
		log_device(
			LOG_LEVEL_WARN, d->conn->name,
			"peers cannot use its pool, so vreadd reads from no other host for it: %s",
			strerror(-err));
	else
		d->peers = peers;
}

static struct session *session_new(struct session_server *server, struct port_conn *conn)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->server = server;
	s->shared.dispatch.conn = conn;
	s->shared.dispatch.reader = (struct reader){
		.store = server->store,
		.policy = conn->policy,
		.handles = handles_new(dispatch_close),
		.client = s,
	};
	s->shared.halt_fd = eventfd(0, EFD_CLOEXEC);
	if (!s->shared.dispatch.reader.handles || s->shared.halt_fd < 0) {
		session_free(s);
		return NULL;
	}
	if (server->peers)
		use_peers(s, server->peers);
	return s;
}

static void halt(struct session *s)
{
	atomic_store(&s->shared.halt, true);
	eventfd_write(s->shared.halt_fd, 1);
	if (s->shared.dispatch.peers)
		peer_pool_stop(s->shared.dispatch.peer_pool);
	for (unsigned i = 0; i < VREAD_MAX_QUEUES; i++)
		if (s->queue[i])
			queue_join(s->queue[i]);
}

static void *connected(void *ctx, struct port_conn *conn, int *ret_errno)
{
	struct session_server *server = ctx;
	struct session *s = session_new(server, conn);

	if (!s) {
		*ret_errno = ENOMEM;
		return NULL;
	}
	for (unsigned i = 0; i < conn->num_queues; i++) {
		int err = queue_start(&s->queue[i], &s->shared, i);

		if (err) {
			log_device(LOG_LEVEL_ERROR, conn->name,
				   "cannot start the worker of queue %u: %s", i, strerror(-err));
			halt(s);
			session_free(s);
			*ret_errno = -err;
			return NULL;
		}
	}
	s->next = server->sessions;
	server->sessions = s;
	return s;
}

static void disconnected(void *ctx, void *session)
{
	struct session_server *server = ctx;
	struct session *s = session, **link = &server->sessions;

	halt(s);
	while (*link != s)
		link = &(*link)->next;
	*link = s->next;
	counters_add(&server->past, &s->shared.dispatch.counters);
	session_free(s);
}

struct port_events session_server_events(struct session_server *s)
{
	return (struct port_events){
		.connected = connected,
		.disconnected = disconnected,
		.ctx = s,
	};
}

json_t *session_server_device(struct session_server *server, const char *conn_name)
{
	for (struct session *s = server->sessions; s; s = s->next) {
		struct dispatch *d = &s->shared.dispatch;
		json_t *o;

		if (strcmp(d->conn->name, conn_name) != 0)
			continue;
		o = counters_json(&d->counters);
		json_object_set_new(o, "open_handles",
				    json_integer(handles_count(d->reader.handles)));
		return o;
	}
	return NULL;
}

json_t *session_server_totals(struct session_server *server)
{
	struct counters sum = {0};

	counters_add(&sum, &server->past);
	for (struct session *s = server->sessions; s; s = s->next)
		counters_add(&sum, &s->shared.dispatch.counters);
	return counters_json(&sum);
}

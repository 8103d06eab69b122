// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements session.h: starts the workers of each connection, ends them, and adds up counters. The
 * ports call connect() and disconnect(), control/daemon.c calls the rest.
 *
 * A worker may hang in a read of a disk for as long as the disk likes. So the control thread does
 * not wait for workers. Each session has another thread, its keeper. The keeper adds workers while
 * others wait (hands.h). After disconnect() it waits for the workers, closes every block of the
 * device, and takes the pool away from peers. It reports the end to the event loop, which tells the
 * port.
 *
 *   control thread            keeper                    worker
 *     disconnect()                                      is about to wait
 *                             adds a worker <---------- wakes the keeper
 *       halt; wakes the keeper
 *     (serves others)         waits for each worker     ends; or hangs, and ends later
 *                             frees handles, peer pool
 *     take_ended() <--------- ended_fd
 *       port_conn.ops->ended(): the port unmaps
 */
#include "ring/session.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "peer/peer.h"
#include "read/budget.h"
#include "read/handles.h"
#include "read/store.h"
#include "ring/queue.h"

#define OVERDUE_MS 10000U /* an end that takes longer is worth a line in the log */
#define SPARE_HANDS 8U    /* hands of a device besides one per queue; a limit of threads */

struct session {
	struct session_server *server;
	struct session *next;
	struct queue_shared shared;
	char party[sizeof(((struct port_conn *)NULL)->name)];
	struct budget handle_memory; /* of its open blocks */
	struct queue *queue[VREAD_MAX_QUEUES];
	pthread_t keeper;
	sem_t wake;       /* of the keeper: a worker is wanted, or the session is over */
	atomic_bool over; /* halt() was called */
	bool ending, given_up;
	struct timer *overdue;      /* running while the session ends */
	struct session *next_ended; /* guarded by the server's lock */
};

struct session_server {
	struct block_store *store;
	struct peers *peers; /* NULL: none */
	sd_event *event;
	struct session *sessions;
	struct counters past; /* of sessions that have ended */

	int ended_fd; /* eventfd: there is something in `ended` */
	sd_event_source *ended_io;
	pthread_mutex_t lock; /* guards the list of the sessions that keepers have ended */
	struct session *ended;
};

static void nothing(int sig)
{
	(void)sig;
}

/* ---- the end of a session ------------------------------------------------------------ */

/* Frees what the workers used. They must have ended. */
static void release(struct session *s)
{
	struct dispatch *d = &s->shared.dispatch;

	handles_free(d->reader.handles);
	if (d->peers)
		peer_pool_free(d->peer_pool);
}

static void report_end(struct session *s)
{
	struct session_server *server = s->server;

	pthread_mutex_lock(&server->lock);
	s->next_ended = server->ended;
	server->ended = s;
	pthread_mutex_unlock(&server->lock);
	eventfd_write(server->ended_fd, 1);
}

/* The queues are complete once a worker begins to work: then the keeper is woken first. */
static void add_hands(struct session *s)
{
	for (unsigned i = 0; i < s->shared.dispatch.conn->num_queues; i++)
		queue_add_hand(s->queue[i]);
}

static void *keep(void *session)
{
	struct session *s = session;

	for (;;) {
		while (sem_wait(&s->wake) < 0)
			; /* a signal */
		if (atomic_load(&s->over))
			break;
		add_hands(s);
	}
	for (unsigned i = 0; i < VREAD_MAX_QUEUES; i++)
		if (s->queue[i])
			queue_join(s->queue[i]);
	release(s);
	if (!s->given_up)
		report_end(s);
	return NULL;
}

/* Tells the workers to stop, and the keeper to wait for them. */
static void halt(struct session *s)
{
	atomic_store(&s->shared.halt, true);
	eventfd_write(s->shared.halt_fd, 1);
	if (s->shared.dispatch.peers)
		peer_pool_stop(s->shared.dispatch.peer_pool);
	atomic_store(&s->over, true);
	sem_post(&s->wake);
}

static void session_free(struct session *s)
{
	timer_free(s->overdue);
	if (s->shared.halt_fd >= 0)
		close(s->shared.halt_fd);
	pthread_mutex_destroy(&s->shared.starting);
	sem_destroy(&s->wake);
	free(s);
}

static void on_overdue(void *session)
{
	const struct session *s = session;

	log_device(LOG_LEVEL_WARN, s->shared.dispatch.conn->name,
		   "closing it takes more than %u s: a read of a disk image or a parser hangs. Its "
		   "pages stay mapped until that ends. Check the host's disks.",
		   OVERDUE_MS / 1000);
}

static void disconnect(void *ctx, void *session)
{
	struct session *s = session;

	(void)ctx;
	s->ending = true;
	timer_start(&s->overdue, s->server->event, OVERDUE_MS, on_overdue, s);
	halt(s);
}

static void take_one(struct session_server *server, struct session *s)
{
	struct port_conn *conn = s->shared.dispatch.conn;
	struct session **link = &server->sessions;

	pthread_join(s->keeper, NULL);
	while (*link != s)
		link = &(*link)->next;
	*link = s->next;
	counters_add(&server->past, &s->shared.dispatch.counters);
	session_free(s);
	conn->ops->ended(conn);
}

/* Takes the sessions that have ended off the list, and tells their ports. */
static void take_ended(struct session_server *server)
{
	struct session *s, *next;
	eventfd_t count;

	eventfd_read(server->ended_fd, &count);
	pthread_mutex_lock(&server->lock);
	s = server->ended;
	server->ended = NULL;
	pthread_mutex_unlock(&server->lock);
	for (; s; s = next) {
		next = s->next_ended;
		take_one(server, s);
	}
}

/* ---- the beginning of a session ------------------------------------------------------- */

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

/* Writes who the connection belongs to: a user of the local port, or a guest with all its
 * devices. */
static void name_party(struct session *s, const struct port_conn *conn)
{
	if (conn->user)
		snprintf(s->party, sizeof(s->party), "uid:%u", conn->user - 1);
	else
		snprintf(s->party, sizeof(s->party), "%.*s", (int)strcspn(conn->name, "/"),
			 conn->name);
}

static struct session *session_new(struct session_server *server, struct port_conn *conn)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->server = server;
	name_party(s, conn);
	sem_init(&s->wake, 0, 0);
	pthread_mutex_init(&s->shared.starting, NULL);
	atomic_init(&s->shared.spare_hands, SPARE_HANDS);
	s->shared.keeper = &s->wake;
	s->shared.dispatch.conn = conn;
	atomic_init(&s->handle_memory.most, block_store_handle_memory(server->store));
	s->shared.dispatch.reader = (struct reader){
		.store = server->store,
		.policy = conn->policy,
		.handles = handles_new(dispatch_close, &s->handle_memory),
		.client = s,
		.party = s->party,
	};
	s->shared.halt_fd = eventfd(0, EFD_CLOEXEC);
	if (!s->shared.dispatch.reader.handles || s->shared.halt_fd < 0 ||
	    pthread_create(&s->keeper, NULL, keep, s)) {
		handles_free(s->shared.dispatch.reader.handles);
		session_free(s);
		return NULL;
	}
	if (server->peers)
		use_peers(s, server->peers);
	return s;
}

static int start_queues(struct session *s)
{
	const struct port_conn *conn = s->shared.dispatch.conn;
	int err = 0;

	for (unsigned i = 0; i < conn->num_queues && !err; i++) {
		err = queue_start(&s->queue[i], &s->shared, i);
		if (err)
			log_device(LOG_LEVEL_ERROR, conn->name,
				   "cannot start the worker of queue %u: %s", i, strerror(-err));
	}
	return err;
}

/* Ends a session whose workers have not begun to work, so that nothing can make them hang. */
static void give_up(struct session *s)
{
	s->given_up = true;
	halt(s);
	pthread_mutex_unlock(&s->shared.starting);
	pthread_join(s->keeper, NULL);
	session_free(s);
}

static void *begin(void *ctx, struct port_conn *conn, int *ret_errno)
{
	struct session_server *server = ctx;
	struct session *s = session_new(server, conn);
	int err;

	if (!s) {
		*ret_errno = ENOMEM;
		return NULL;
	}
	pthread_mutex_lock(&s->shared.starting);
	err = start_queues(s);
	if (err) {
		give_up(s);
		*ret_errno = -err;
		return NULL;
	}
	pthread_mutex_unlock(&s->shared.starting);
	s->next = server->sessions;
	server->sessions = s;
	return s;
}

/* ---- the server ----------------------------------------------------------------------- */

static int on_ended(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source, (void)fd, (void)events;
	take_ended(userdata);
	return 0;
}

struct session_server *session_server_new(struct block_store *store, struct peers *peers,
					  sd_event *event)
{
	struct session_server *s = calloc(1, sizeof(*s));
	struct sigaction action = {.sa_handler = nothing}; /* no SA_RESTART: see queue_join() */

	if (!s)
		return NULL;
	s->store = store;
	s->peers = peers;
	s->event = event;
	pthread_mutex_init(&s->lock, NULL);
	s->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->ended_fd < 0 ||
	    sd_event_add_io(event, &s->ended_io, s->ended_fd, EPOLLIN, on_ended, s) < 0) {
		session_server_free(s);
		return NULL;
	}
	sigaction(SIGURG, &action, NULL);
	return s;
}

void session_server_wait(struct session_server *s)
{
	struct pollfd ended = {.fd = s->ended_fd, .events = POLLIN};

	while (s->sessions && clock_poll(&ended, 1, CLOCK_NEVER) > 0)
		take_ended(s);
}

void session_server_free(struct session_server *s)
{
	if (!s)
		return;
	sd_event_source_disable_unref(s->ended_io);
	if (s->ended_fd >= 0)
		close(s->ended_fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct port_events session_server_events(struct session_server *s)
{
	return (struct port_events){
		.connect = begin,
		.disconnect = disconnect,
		.ctx = s,
	};
}

static void tell_handles(json_t *o, struct handles *t)
{
	struct budget *b = handles_budget(t);

	json_object_set_new(o, "open_handles", json_integer(handles_count(t)));
	json_object_set_new(o, "handle_bytes", json_integer((json_int_t)atomic_load(&b->used)));
	json_object_set_new(o, "handle_bytes_most",
			    json_integer((json_int_t)atomic_load(&b->most)));
	json_object_set_new(o, "handle_bytes_refused",
			    json_integer((json_int_t)atomic_load(&b->refused)));
}

json_t *session_server_device(struct session_server *server, const char *conn_name)
{
	for (struct session *s = server->sessions; s; s = s->next) {
		struct dispatch *d = &s->shared.dispatch;
		json_t *o;

		if (s->ending || strcmp(d->conn->name, conn_name) != 0)
			continue;
		o = counters_json(&d->counters);
		tell_handles(o, d->reader.handles);
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

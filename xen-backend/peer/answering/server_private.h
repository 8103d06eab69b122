/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server_private.h - the answering side, as the files that make it up share it.
 *
 *   server.c    beginning, end, status
 *   clients.c   who may ask, and for what
 *   receiver.c  the thread: accepts, authenticates, receives, ends what is stuck
 *   conn.c      a connection, from being accepted to its end
 *   requests.c  what a peer says
 *   announce.c  what a peer is told of storages here
 *   turns.c     whose request is next
 *   workers.c   requests are carried out, and answered
 *   buffers.c   what READs are answered from
 *
 * A connection's transport is used under its own lock, by the thread when something arrives and by
 * workers when they answer.  The server's lock is for queues, and is never held while
 * another is taken or anything is done: connection first, server second.
 */
#ifndef VREAD_PEER_SERVER_PRIVATE_H
#define VREAD_PEER_SERVER_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "peer/answering/answer.h"
#include "peer/answering/server.h"
#include "peer/rdma/rdma.h"
#include "peer/wire/address.h"
#include "peer/wire/transport.h"
#include "base/counters.h"

#define SERVER_DIGEST 32U
#define SERVER_CREDITS 32U
#define SERVER_MAX_STRANGERS 32U    /* connections that have not said hello */
#define SERVER_STUCK_TIMEOUT 15000U /* ms in which a peer must take a buffer */

struct handles;
struct policy;
struct tls;

/* A [peer] as one who asks. */
struct client {
	char *name;
	struct policy *policy; /* the same for good: what it says changes */
	_Atomic bool removed;  /* it is not configured any more */
	struct counters counters;
	unsigned connections;
};

struct conn {
	struct peer_server *server;
	struct conn *next,
		*previous;     /* all; the thread's, which changes it with the server's lock */
	struct client *client; /* NULL: not authenticated yet */
	struct tls *tls;       /* until it is */
	char address[ADDRESS_TEXT];
	bool have_hello;   /* the thread's, which sets it with the server's lock */
	bool announce_due; /* the thread's: storages have changed since it was told of them */
	bool ends;         /* the thread's: it is closed at the next tick */
	unsigned ticks;    /* the thread's: so many have passed before its hello */

	pthread_mutex_t lock; /* of the transport */
	struct transport *transport;
	struct rdma_secret secret;
	bool blocked; /* more is to be sent than the peer takes just now */

	struct handles *blocks;

	/* With the server's lock. */
	struct conn *next_ready;
	bool ready, closed;
	unsigned references; /* one of the thread's, one for each worker */
	struct answer_request *first, *last;
	struct answer_request *working; /* those workers are at */
	unsigned requests;              /* not answered yet */
	unsigned buffers;
	uint64_t moved; /* ms: when it last took a buffer */
};

/* A buffer, and whose answer is in it. */
struct piece {
	struct outgoing *buffer;
	struct conn *conn;
};

struct peer_server {
	const struct peers_config *config;
	struct block_store *store;
	struct tls_context *tls;
	struct rdma_listener *rdma; /* NULL: nobody is answered by RDMA */
	uint8_t *pages;             /* buffers that devices know; NULL: each has its own */
	struct rdma_memory *memory; /* that is them */
	struct address address;
	struct client
		*clients[PEERS_MAX_EVER]; /* added by the control thread, and never freed before */
	_Atomic size_t num_clients;       /* ... the end */
	int listener, spare_fd, epoll, wake;
	pthread_t thread, *workers;
	unsigned num_workers;
	bool have_thread;

	struct conn *conns; /* the thread's, which changes it with the lock */
	unsigned num_strangers;
	uint8_t listed[SERVER_DIGEST]; /* of the storages that peers were told of; the thread's */

	pthread_mutex_t lock;
	pthread_cond_t work;
	bool stopping;
	struct conn *first_ready, *last_ready;
	struct piece *pieces; /* config->buffers; those in use have a conn */
	unsigned pieces_used;
	uint64_t pieces_taken, pieces_taken_before; /* so far; at the last tick */
	unsigned num_conns;
	uint64_t refused;
	char last_refused[256];
};

/* ---- clients.c ---- */

/* Those of the configuration the server is started with. */
int server_make_clients(struct peer_server *s, char **ret_error);
void server_free_clients(struct peer_server *s);
/* Who it is, by its certificate; NULL: nobody that is known, or not clearly one. */
struct client *server_find_client(struct peer_server *s, const struct tls *tls);

/* ---- receiver.c: the thread ---- */

void *server_receive(void *server);

/* ---- conn.c ---- */

/* The thread's only, as are close and refuse.  Takes over fd.  NULL: it is closed. */
struct conn *conn_new(struct peer_server *s, int fd);
/* Workers that are at it find no transport any more. */
void conn_close(struct conn *c);
/* Notes why it is about to be closed. */
__attribute__((format(printf, 2, 3))) void conn_refuse(struct conn *c, const char *format, ...);
/* The oldest of that client, or of those who have not said hello (NULL), that is not to be closed
 * already; NULL: there is none. */
struct conn *server_oldest(const struct peer_server *s, const struct client *client);
void conn_unref(struct conn *c);
/* Both with the connection's lock: what the thread polls for; and what can be sent is.  A failure is found
 * out by the thread. */
void conn_update_events(struct conn *c);
void conn_flush(struct conn *c);

/* ---- requests.c ---- */

extern const struct transport_user server_transport_user;

/* ---- announce.c ---- */

/* Within the transport's advance(): tells what this peer may read here, be it nothing. */
int conn_announce(struct conn *c);
/* Whether the storages served here are others than when this was asked last. */
bool server_storages_changed(struct peer_server *s);
/* Tells them again, if they have changed since and the peer has taken all it was sent: 0, or negative errno:
 * the connection is over. */
int conn_announce_change(struct conn *c);

/* ---- turns.c: all with the server's lock ---- */

/* Ready, if there is a request, and a share of buffers left. */
void conn_set_ready(struct conn *c);
void conn_set_unready(struct conn *c);
/* NULL: nobody is ready, or there is no buffer. */
struct conn *server_take_ready(struct peer_server *s);
void conn_append_request(struct conn *c, struct answer_request *r);
/* NULL: there is none. */
struct answer_request *conn_take_request(struct conn *c);
/* The next, for a worker; there is one. */
struct answer_request *conn_begin_request(struct conn *c);
/* A worker is done with it. */
void conn_leave_request(struct conn *c, struct answer_request *r);
/* Whether it was still to be answered. */
bool conn_cancel_request(struct conn *c, uint64_t id);

/* ---- workers.c ---- */

void *server_work(void *server);

/* ---- buffers.c ---- */

/* Of one connection at most. */
unsigned server_buffers_each(const struct peer_server *s);
/* With the server's lock; there is one. */
struct piece *piece_take(struct peer_server *s, struct conn *c);
/* False: out of memory. */
bool piece_make_ready(struct piece *p);
/* Gives the buffer back unused. */
void piece_put(struct piece *p);
/* Frees those not in use, if none was since the last time. */
void server_free_buffers(struct peer_server *s);

#endif

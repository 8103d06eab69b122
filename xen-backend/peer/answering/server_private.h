/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server_private.h - what the files of the answering side share.  Only these files include it:
 *
 *   server.c    beginning, end, status
 *   clients.c   which peers may ask, and what they may read
 *   receiver.c  the receiver thread: accepts, authenticates, receives, ends stuck connections
 *   conn.c      a connection, from being accepted to its end
 *   strangers.c bounds connections that are not authenticated yet
 *   refusals.c  counts and logs connections that are refused
 *   requests.c  messages that a peer sends
 *   announce.c  tells peers which storages they may read here
 *   credits.c   how many requests and CANCELs a peer may send
 *   turns.c     whose request is next
 *   shares.c    how many workers and buffers a peer may hold
 *   workers.c   carries requests out, and answers them
 *   buffers.c   the buffers that READs are answered from
 *
 * What a peer holds is counted in its struct client, which lives as long as the server.  So a
 * peer gains nothing by more connections, or by new ones: what an ended connection still holds
 * counts until it is back.
 *
 * Locks: each connection has a lock, for its transport.  The receiver thread uses the transport
 * when something arrives, and workers use it when they answer.  The server has a lock, for
 * queues.  Take the connection's lock first and the server's lock second.  A thread that holds
 * the server's lock takes no other lock and does no work.
 *
 * "The thread" below is the receiver thread.  A field that "the thread sets with the server's
 * lock" is read by the thread without the lock, and by other threads with the lock.
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
#include "read/budget.h"

#define SERVER_DIGEST 32U
#define SERVER_CREDITS 32U
#define SERVER_MAX_STRANGERS 32U    /* most connections that are not authenticated yet */
#define SERVER_MAX_EXPECTED 128U    /* the same, of addresses in [peer] sections */
#define SERVER_STUCK_TIMEOUT 15000U /* ms in which a peer must take a buffer */

struct handles;
struct policy;
struct tls;

/* A [peer] of the configuration, as one who asks. */
struct client {
	char *name;
	struct policy *policy;   /* this pointer never changes; the rights in the policy may */
	_Atomic bool removed;    /* it is not configured any more */
	_Atomic unsigned frames; /* MESSAGE_TRANSPORT_* by which it may get bytes unencrypted */
	/* address_source() of its configured address; 0: it has none */
	_Atomic uint64_t source;
	struct counters counters;
	struct budget handle_memory; /* of its open blocks, on all connections */

	/* The fields below: with the server's lock. */
	unsigned connections;      /* authenticated ones */
	unsigned workers, buffers; /* that it holds, also for connections that have ended */
	unsigned idle;             /* connections that hold no buffer */
	/* Its connections that have requests, in the order of their turns. */
	struct conn *first_ready, *last_ready;
	struct client *next_ready;
};

struct conn {
	struct peer_server *server;
	/* list of all connections; the thread sets it with the server's lock */
	struct conn *next, *previous;
	struct client *client; /* NULL: not authenticated yet */
	int fd;                /* the connection until it has sent something; then -1 */
	struct tls *tls;       /* the connection from then on until it is authenticated */
	char address[ADDRESS_TEXT];
	uint64_t source; /* address_source() of its address */
	bool expected;   /* it comes from the address of a [peer] section */
	bool spoke;      /* it has sent something */
	bool greeted;    /* the thread's: a HELLO has arrived; there may be no second one */
	unsigned frames; /* the MESSAGE_TRANSPORT_* with frames that both agreed to, or 0 */
	bool have_hello; /* the thread sets it with the server's lock */
	/* the thread's: the storages have changed since the peer was told of them */
	bool announce_due;
	unsigned ticks; /* the thread's: ticks that have passed before the HELLO */

	pthread_mutex_t lock; /* protects transport */
	struct transport *transport;
	struct rdma_secret secret;
	bool blocked; /* more waits to be sent than the peer takes just now */
	bool orderly; /* the thread's: the peer was told that the connection ends */

	struct handles *blocks; /* NULL: not authenticated yet */

	/* The fields below: with the server's lock. */
	struct conn *next_ready;
	bool ready, closed;
	unsigned references; /* one held by the thread, one by each worker */
	struct answer_request *first, *last;
	struct answer_request *working; /* requests that workers are carrying out */
	unsigned requests;              /* requests whose answers the peer has not taken yet */
	unsigned cancels;               /* CANCELs that the peer may send */
	unsigned buffers;               /* that it holds */
	uint64_t moved;                 /* ms: when the peer last took a buffer or an answer */
};

/* A buffer, and the connection whose answer is in it. */
struct piece {
	struct outgoing *buffer;
	struct conn *conn;
};

/* How connections end that were not authenticated. */
enum stranger_end {
	STRANGER_HUNG_UP,   /* before it sent anything */
	STRANGER_DISPLACED, /* by newer ones */
	STRANGER_LATE,      /* it was not authenticated in time */
	STRANGER_FAILED,    /* to authenticate */
	STRANGER_ENDS,      /* number of these */
};

/* Kinds of refused connections that have log lines together. */
enum refusal_kind { REFUSAL_BARE, REFUSAL_STRANGER, REFUSAL_EXPECTED, REFUSAL_KINDS };

struct refusals_held {
	unsigned count; /* connections since the last line */
	uint64_t next;  /* ms: when the next line may be logged */
	char last[256]; /* about the last one of them */
};

struct peer_server {
	const struct peers_config *config;
	struct block_store *store;
	struct tls_context *tls;
	struct rdma_listener *rdma; /* NULL: nobody is answered by RDMA */
	uint8_t *pages; /* memory of all buffers, registered for RDMA; NULL: each has its own */
	struct rdma_memory *memory; /* pages, as registered memory */
	struct address address;
	/* the control thread adds clients, and frees none before the server ends */
	struct client *clients[PEERS_MAX_EVER];
	_Atomic size_t num_clients;
	int listener, spare_fd, epoll, wake;
	pthread_t thread, *workers;
	unsigned num_workers;
	bool have_thread;

	struct conn *conns; /* the thread sets it with the lock */
	/* not authenticated yet, the oldest first; the thread sets it with the lock */
	struct conn *strangers[SERVER_MAX_STRANGERS + SERVER_MAX_EXPECTED];
	unsigned num_strangers;
	struct refusals_held held[REFUSAL_KINDS]; /* the thread's */
	/* the thread's: digest of the storages that peers were told of */
	uint8_t listed[SERVER_DIGEST];

	pthread_mutex_t lock;
	pthread_cond_t work;
	bool stopping;
	/* the clients that have requests, in the order of their turns */
	struct client *first_ready, *last_ready;
	/* config->buffers of them; a piece that is in use has a conn */
	struct piece *pieces;
	unsigned workers_used, pieces_used;
	/* connected clients that hold no worker, and those that hold no buffer */
	unsigned without_worker, without_buffer;
	/* buffers taken so far, and at the last tick */
	uint64_t pieces_taken, pieces_taken_before;
	unsigned num_conns;
	uint64_t refused, ended[STRANGER_ENDS];
	char last_refused[256];
};

/* ---- clients.c ---- */

/* Makes the clients of the configuration that the server starts with. */
int server_make_clients(struct peer_server *s, char **ret_error);
void server_free_clients(struct peer_server *s);
/* The client that the certificate names.  NULL: it names no known client, or several. */
struct client *server_find_client(struct peer_server *s, const struct tls *tls);

/* ---- receiver.c: the thread ---- */

void *server_receive(void *server);

/* ---- conn.c ---- */

/* The thread calls conn_new(), conn_begin_tls(), conn_admit() and conn_close().  conn_new() takes
 * over fd.  NULL: fd is closed. */
struct conn *conn_new(struct peer_server *s, int fd);
/* The other side has sent something.  0 or negative errno: close the connection. */
int conn_begin_tls(struct conn *c);
/* Makes c a connection of that client.  0 or -ENOMEM. */
int conn_admit(struct conn *c, struct client *client);
/* Closes c.  Workers that carry out its requests then find no transport. */
void conn_close(struct conn *c);
/* The oldest connection of that client.  NULL: there is none. */
struct conn *server_oldest(const struct peer_server *s, const struct client *client);
void conn_unref(struct conn *c);
/* conn_update_events() and conn_flush() need the connection's lock.  The first sets what the
 * thread polls for.  The second sends what can be sent; if it fails, the thread finds the
 * failure later. */
void conn_update_events(struct conn *c);
void conn_flush(struct conn *c);

/* ---- strangers.c: the thread ---- */

/* True if a [peer] section has an address of that source. */
bool server_expects(const struct peer_server *s, uint64_t source);
/* The connection to close before c is added.  NULL: none. */
struct conn *strangers_replaced(const struct peer_server *s, const struct conn *c);
void strangers_add(struct peer_server *s, struct conn *c);
/* Does nothing if c is not among the strangers. */
void strangers_remove(struct peer_server *s, const struct conn *c);

/* ---- refusals.c: the thread ---- */

void server_begin_refusals(struct peer_server *s);
/* Logs about connections that were refused a while ago. */
void server_tell_refusals(struct peer_server *s);
/* Notes that the other side closed the connection before it sent anything. */
void conn_hung_up(struct conn *c);
/* Notes why the connection is about to be closed.  end: counts if it is not authenticated. */
__attribute__((format(printf, 3, 4))) void conn_refuse(struct conn *c, enum stranger_end end,
						       const char *format, ...);

/* ---- requests.c ---- */

extern const struct transport_user server_transport_user;

/* ---- announce.c ---- */

/* With the connection's lock, as within the transport's advance(): tells the peer which storages
 * it may read here, even if there is none.  0 or negative errno. */
int conn_announce(struct conn *c);
/* True if the storages served here have changed since the last call. */
bool server_storages_changed(struct peer_server *s);
/* Tells the peer the storages again, if they have changed and the peer has taken all it was
 * sent.  0, or negative errno: the connection is over. */
int conn_announce_change(struct conn *c);
/* Makes the next change one from what a new connection is told now; the others are told, too, if
 * there was a change. */
void server_notice_change(struct peer_server *s);

/* ---- shares.c: all with the server's lock ---- */

/* Adds to what the client has and holds; the numbers may be negative. */
void client_count(struct peer_server *s, struct client *client, int connections, int workers,
		  int buffers);
/* The same for buffers that c holds. */
void conn_count_buffers(struct conn *c, int buffers);
/* c is a connection of its client; it is none any more, and closed. */
void conn_begin_counting(struct conn *c);
void conn_end_counting(struct conn *c);
/* True if the client, or c for its client, may take a worker and a buffer now. */
bool client_may_take(const struct peer_server *s, const struct client *client);
bool conn_may_take(const struct conn *c);

/* ---- turns.c: all with the server's lock ---- */

/* Puts c into the queue of its client's ready connections, if it has a request. */
void conn_set_ready(struct conn *c);
void conn_set_unready(struct conn *c);
/* Takes the connection whose turn it is.  NULL: no client has a request, and may take a worker and
 * a buffer. */
struct conn *server_take_ready(struct peer_server *s);
void conn_append_request(struct conn *c, struct answer_request *r);
/* Removes the first request.  NULL: there is none. */
struct answer_request *conn_take_request(struct conn *c);
/* Moves the first request to those that workers carry out.  There must be one. */
struct answer_request *conn_begin_request(struct conn *c);
/* A worker has finished r. */
void conn_leave_request(struct conn *c, struct answer_request *r);
/* Removes the request with that id, or marks it cancelled if a worker is carrying it out.  True
 * if the request was still to be answered. */
bool conn_cancel_request(struct conn *c, uint64_t id);

/* ---- credits.c ---- */

/* With the server's lock: a request, or a CANCEL, has arrived.  0; -EPROTO: one too many. */
int conn_take_credit(struct conn *c);
int conn_take_cancel(struct conn *c);
/* Sends the answer to a request, without bytes of a block.  The request's credit is given back when
 * the answer was sent.  o: as from outgoing_new().  With the connection's lock. */
void conn_send_short(struct conn *c, struct outgoing *o);

/* ---- workers.c ---- */

void *server_work(void *server);

/* ---- buffers.c ---- */

/* Takes a buffer for c.  With the server's lock; a buffer must be free. */
struct piece *piece_take(struct peer_server *s, struct conn *c);
/* Allocates the buffer if necessary.  False: out of memory. */
bool piece_make_ready(struct piece *p);
/* Gives the buffer back unused. */
void piece_put(struct piece *p);
/* Frees the unused buffers, if no buffer was taken since the last call. */
void server_free_buffers(struct peer_server *s);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_private.h - a link, as the files that make it up share it.
 *
 *   link.c        what others call: requests come in, threads begin
 *   connection.c  the thread: one connection after another, back-off
 *   connect.c     from no socket to a hello
 *   sent.c        what was sent, and the credits for it
 *   arrivals.c    what the peer says
 *   giving_up.c   requests that are stopped or overdue
 *
 * The link's thread alone touches the connection and the table of what was sent.  Others put
 * requests into a queue under the lock and wake it.  No lock is held while a request's end is
 * told or while anything is sent or received.
 */
#ifndef VREAD_PEER_LINK_PRIVATE_H
#define VREAD_PEER_LINK_PRIVATE_H

#include <poll.h>
#include <pthread.h>

#include "peer/asking/link.h"
#include "peer/asking/queue.h"
#include "peer/rdma/rdma.h"
#include "peer/wire/address.h"
#include "peer/wire/transport.h"

#define LINK_MAX_STOPPED 64U /* owners that are being stopped */

enum link_state {
	LINK_IDLE,
	LINK_CONNECTING,
	LINK_AUTHENTICATED,
	LINK_UP,
	LINK_CLOSING, /* for having been idle */
	LINK_BACKING_OFF,
};

/* A credit: what the peer has to answer. */
struct link_slot {
	struct link_request *request; /* NULL: free, or ended early */
	uint64_t id;                  /* 0: free */
	uint64_t use;
	uint64_t sent, deadline; /* ms; sent: of the CANCEL, if it was given up */
	int given_up;            /* 0, or why: its answer is that of a CANCEL */
};

struct link {
	struct link_settings settings;

	pthread_mutex_t lock; /* of these */
	enum link_state state;
	bool have_thread; /* to be joined */
	bool stopping;
	bool have_address;
	struct address address;
	bool moved; /* the connection is to where the peer is no more */
	pthread_t thread;
	int wake; /* eventfd, while the thread is there for requests; else -1 */
	uint64_t epoch;
	struct request_queue queue; /* not sent yet */
	unsigned num_sent;
	const void *stopped[LINK_MAX_STOPPED];
	unsigned num_stopped;
	bool stop_all;        /* there were more */
	uint64_t may_connect; /* ms */
	unsigned pause;
	uint64_t requests, bytes, connects, failures;
	uint64_t direct, bounced; /* bytes by RDMA */
	const char *transport_name;
	char last_error[192];

	/* The thread's, while there is one. */
	struct address to; /* of the connection */
	struct transport *transport;
	bool by_rdma;
	unsigned asked_transports;
	struct rdma_secret secret;
	struct rdma_counters counted; /* of what is in direct and bounced already */
	uint64_t no_rdma_until;       /* ms */
	char rdma_error[192];         /* why READs of this connection went by TLS last */
	struct link_slot *slots;
	unsigned credits, used;
	bool have_hello;
	uint64_t last_use;
	uint64_t checked; /* ms: the last time it was asked whether the peer is still accepted */
	uint64_t heard;   /* ms: the last time the peer answered what is still waited for */
	char error[192];
};

/* All that follow are called on the link's thread, without the lock, if they do not say otherwise.
 * What returns an int: 0, or negative errno: the connection is over, and l->error says why.  -ESTALE: for the
 * peer's address was changed, which is no failure. */

/* Notes why; returns error. */
__attribute__((format(printf, 3, 4))) int link_failed(struct link *l, int error, const char *format,
						      ...);

/* ---- connection.c ---- */

void *link_run(void *link);
/* With the lock; any thread. */
void link_begin_connection(struct link *l);
/* Waits for those descriptors or to be woken; fds has room for one more.  -ECANCELED: the link is freed. */
int link_wait_ready(struct link *l, struct pollfd *fds, unsigned num_fds, uint64_t until);

/* ---- connect.c ---- */

/* Connects, authenticates, and says hello; what the peer says to that is an arrival. */
int link_open_connection(struct link *l, uint64_t deadline);

/* ---- sent.c ---- */

/* As many as there are credits for. */
int link_send_queued(struct link *l);
int link_send(struct link *l, const uint8_t *message, size_t length);
/* NULL: nothing under way has that id. */
struct link_slot *link_find_slot(struct link *l, uint64_t id);
/* Ends what was asked; the slot is free for another. */
void link_settle(struct link *l, struct link_slot *s, int error, const struct message_block *block);
/* With the lock. */
void link_count_rdma(struct link *l);

/* ---- by_rdma.c ---- */

/* MESSAGE_TRANSPORT_* that may be asked for. */
unsigned link_usable_transports(const struct link *l);
/* The peer has agreed.  The stream belongs to what is made of it. */
int link_use_rdma(struct link *l, unsigned credits);
/* Which way READs go may change while the connection lasts: for the status. */
void link_note_way(struct link *l);
/* Before the transport is freed. */
void link_end_rdma(struct link *l);

/* ---- arrivals.c ---- */

extern const struct transport_user link_transport_user;

/* ---- giving_up.c ---- */

/* Ends what owners want ended; -ESTALE: the connection is to end. */
int link_end_stopped(struct link *l);
/* *ret_next: when it is to be looked at again, ms. */
int link_end_overdue(struct link *l, uint64_t *ret_next);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_private.h - struct link, and the functions that its files share.
 *
 * Included by these files only:
 *
 *   link.c        the functions of link.h: queues requests, starts the thread
 *   connection.c  the link's thread: one connection after another, pauses after failures
 *   connect.c     connects, authenticates and sends HELLO
 *   by_rdma.c     READs by RDMA
 *   sent.c        the table of requests that were sent, and their credits
 *   arrivals.c    messages from the peer
 *   giving_up.c   requests that are stopped or overdue
 *
 * Only the link's thread touches the connection and the table of sent requests.  Other threads put
 * requests into a queue, under the lock, and wake the link's thread.  The lock is not held while
 * done is called, nor while anything is sent or received.
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
	LINK_CLOSING, /* the connection ends without having failed */
	LINK_BACKING_OFF,
};

/* One credit: a request that the peer has to answer. */
struct link_slot {
	struct link_request *request; /* NULL: the slot is free, or the request has ended early */
	uint64_t id;                  /* 0: the slot is free */
	uint64_t use;                 /* how often the slot was used; part of the id */
	uint64_t sent, deadline;      /* ms; sent: of the CANCEL, if given_up is set */
	int given_up;                 /* 0, or the error; then a CANCEL was sent for the request */
};

struct link {
	struct link_settings settings;

	pthread_mutex_t lock; /* protects the members up to last_error */
	enum link_state state;
	bool have_thread; /* thread is to be joined */
	bool stopping;
	bool have_address;
	struct address address;
	bool moved;      /* the connection is to an old address of the peer */
	unsigned frames; /* MESSAGE_TRANSPORT_* that may be offered on the next connection */
	pthread_t thread;
	int wake; /* eventfd, while the thread takes requests; else -1 */
	uint64_t epoch;
	struct request_queue queue; /* requests that are not sent yet */
	unsigned num_sent;
	const void *stopped[LINK_MAX_STOPPED];
	unsigned num_stopped;
	bool stop_all;        /* more than LINK_MAX_STOPPED: all owners are stopped */
	uint64_t may_connect; /* ms; not before that time */
	unsigned pause;       /* ms; the present pause */
	uint64_t requests, bytes, connects, failures;
	uint64_t direct, bounced; /* bytes by RDMA */
	uint64_t encrypted;       /* bytes that had to come by TLS */
	uint64_t plain_bytes;     /* bytes in frames */
	const char *transport_name;
	char last_error[192];

	/* The members below belong to the thread, while there is one. */
	struct address to; /* where the connection goes */
	struct transport *transport;
	bool by_rdma;
	unsigned by_frames; /* MESSAGE_TRANSPORT_* with frames that both hosts agreed to, or 0 */
	unsigned asked_transports;
	struct rdma_secret secret;
	struct rdma_counters counted; /* already added to direct and bounced */
	uint64_t no_rdma_until;       /* ms */
	char rdma_error[192];         /* the last reason why READs of this connection go by TLS */
	struct link_slot *slots;
	unsigned credits, used;
	bool have_hello;
	uint64_t last_use;
	bool stalled; /* a connection ended for want of an answer; no large READ has come since */
	uint64_t checked; /* ms: the last check whether the peer is still accepted */
	uint64_t heard;   /* ms: the last answer to a request that was not given up */
	char error[192];
};

/* The functions below are called on the link's thread, without the lock, unless a comment says
 * otherwise.  Functions that return int return 0, or negative errno: the connection is over, and
 * l->error says why.  -ESTALE: the peer's address was changed, which is not a failure. */

/* Sets l->error to the text.  Returns error. */
__attribute__((format(printf, 3, 4))) int link_failed(struct link *l, int error, const char *format,
						      ...);

/* ---- connection.c ---- */

void *link_run(void *link);
/* Sets the state and the epoch of a new connection.  With the lock; any thread. */
void link_begin_connection(struct link *l);
/* Waits until one of the descriptors is ready, the thread is woken, or the time `until` (ms) has
 * come.  fds has room for one more.  -ECANCELED: the link is being freed. */
int link_wait_ready(struct link *l, struct pollfd *fds, unsigned num_fds, uint64_t until);

/* ---- connect.c ---- */

/* Connects, authenticates and sends HELLO.  The peer's HELLO comes to arrivals.c. */
int link_open_connection(struct link *l, uint64_t deadline);

/* ---- sent.c ---- */

/* Sends queued requests, as many as there are credits for. */
int link_send_queued(struct link *l);
int link_send(struct link *l, const uint8_t *message, size_t length);
/* The slot of the request under way with that id.  NULL: there is none. */
struct link_slot *link_find_slot(struct link *l, uint64_t id);
/* Ends the slot's request, if there still is one, by calling its done, and frees the slot. */
void link_settle(struct link *l, struct link_slot *s, int error, const struct message_block *block);
/* Adds the new bytes by RDMA to l->direct and l->bounced.  With the lock. */
void link_count_rdma(struct link *l);

/* ---- by_rdma.c ---- */

/* The MESSAGE_TRANSPORT_* that this host may offer in its HELLO. */
unsigned link_usable_transports(struct link *l);
/* Called when the peer has agreed to RDMA.  l->transport becomes a transport by RDMA, which takes
 * over the TLS stream. */
int link_use_rdma(struct link *l, unsigned credits);
/* Updates transport_name and last_error for the status.  READs may change between RDMA and TLS
 * while the connection lasts. */
void link_note_way(struct link *l);
/* Called before the transport is freed. */
void link_end_rdma(struct link *l);

/* ---- arrivals.c ---- */

extern const struct transport_user link_transport_user;

/* ---- giving_up.c ---- */

/* Ends the requests of stopped owners.  -ESTALE: the connection must end, since the peer's address
 * was changed. */
int link_end_stopped(struct link *l);
/* Ends overdue requests.  *ret_next: the time of the next call, in ms. */
int link_end_overdue(struct link *l, uint64_t *ret_next);

#endif

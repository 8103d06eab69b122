/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/end_private.h - what the files that implement end.h share.  Only these files include it:
 *
 *   end.c          beginning and end of a queue pair
 *   meet.c         from an address to two ends that have proved who they are
 *   pair.c         the queue pair: how it is made, and what is posted
 *   windows.c      what the other host may write to
 *   completions.c  which posted work is done, and what has arrived
 */
#ifndef VREAD_PEER_RDMA_END_PRIVATE_H
#define VREAD_PEER_RDMA_END_PRIVATE_H

#include "peer/rdma/end.h"
#include "peer/rdma/wire.h"

#define RDMA_BUFFER_BYTES 64U /* size of a message's buffer */
_Static_assert(RDMA_BUFFER_BYTES >= RDMA_MESSAGE_BYTES && RDMA_BUFFER_BYTES >= RDMA_PROOF_BYTES,
	       "any message has room");

enum end_state {
	END_RESOLVING,  /* looks for the address, then for the route */
	END_CONNECTING, /* the asker has its queue pair, and waits for the acceptance */
	END_PROVING,    /* the answerer has accepted, and waits for the asker's proof */
	END_UP,
	END_FAILED,
};

struct rdma_end {
	enum rdma_side side;
	enum end_state state;
	struct rdma *rdma;
	struct rdma_device *device;
	struct rdma_secret secret;
	struct rdma_meeting meeting;
	const struct rdma_end_user *user;
	void *ctx;

	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_comp_channel *completions;
	struct ibv_cq *queue;
	bool have_pair;
	bool was_up;

	uint8_t *buffers; /* buffers of messages that arrive, then of messages that are sent */
	struct ibv_mr *buffers_region;
	struct ibv_pd *domain;     /* the device's, or own_domain */
	struct ibv_pd *own_domain; /* NULL: the end uses a domain of the device */
	struct ibv_mr *own_region; /* of rdma_end_register() */
	struct ibv_mw **windows;   /* one for each message, made when first needed */
	unsigned messages, writes, give_up;
	unsigned *free_buffers; /* numbers of the free buffers for messages that are sent */
	unsigned num_free, writes_under_way;
	int failure;
	char error[RDMA_ERROR_TEXT];
};

/* Notes the reason and makes the end END_FAILED.  Returns error. */
__attribute__((format(printf, 3, 4))) int rdma_end_failed(struct rdma_end *e, int error,
							  const char *format, ...);
/* As rdma_end_failed(), with errno as the error.  Returns its negative. */
int rdma_end_failed_errno(struct rdma_end *e, const char *what);

/* The int functions below return 0, or the error that rdma_end_failed() noted. */

int rdma_end_make_unblocking(struct rdma_end *e, int fd);

/* ---- meet.c ---- */

/* Asker, with its channel made: starts resolving the address. */
int rdma_end_resolve(struct rdma_end *e, const struct sockaddr *address);
/* Answerer: makes its queue pair and accepts the asker's connection request. */
int rdma_end_take_asker(struct rdma_end *e);
/* Answerer: checks the first message, which must be the asker's proof.  The end is up then. */
int rdma_end_take_proof(struct rdma_end *e, const uint8_t *data, size_t length);
int rdma_end_take_events(struct rdma_end *e);

/* ---- pair.c ---- */

/* The device must be known.  Makes a queue pair on it, and a buffer for each message that may
 * arrive. */
int rdma_end_make_pair(struct rdma_end *e);
/* Tells the peer, and ends the queue pair.  When it returns, nothing that arrives for the queue
 * pair reaches memory any more. */
void rdma_end_free_pair(struct rdma_end *e);
/* Makes the i-th buffer wait for a message. */
int rdma_end_post_receive(struct rdma_end *e, unsigned i);
/* There must be a free buffer. */
int rdma_end_send_now(struct rdma_end *e, const uint8_t *data, size_t length);
/* The send queue must have room for it. */
int rdma_end_post(struct rdma_end *e, struct ibv_send_wr *request);

/* ---- windows.c ---- */

/* The device must be known.  Sets e->domain. */
int rdma_end_take_domain(struct rdma_end *e);
/* Most work of windows.c in the send queue at once. */
unsigned rdma_end_window_work(const struct rdma_end *e);
/* Before the queue pair is freed: a bound window keeps its queue pair from ending (rdma_rxe). */
void rdma_end_free_windows(struct rdma_end *e);
/* Frees what rdma_end_take_domain() and rdma_end_register() made.  After the queue pair is
 * freed. */
void rdma_end_free_domain(struct rdma_end *e);

/* ---- completions.c ---- */

int rdma_end_take_completions(struct rdma_end *e);

#endif

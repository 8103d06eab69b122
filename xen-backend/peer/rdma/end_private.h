/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/end_private.h - what the files behind end.h share.
 *
 *   end.c          beginning and end
 *   meet.c         from an address to two ends that know each other
 *   pair.c         the queue pair: how it is made, and what is posted
 *   completions.c  what has been done of it, and what has arrived
 */
#ifndef VREAD_PEER_RDMA_END_PRIVATE_H
#define VREAD_PEER_RDMA_END_PRIVATE_H

#include "peer/rdma/end.h"
#include "peer/rdma/wire.h"

#define RDMA_BUFFER_BYTES 64U /* of a message */
_Static_assert(RDMA_BUFFER_BYTES >= RDMA_MESSAGE_BYTES && RDMA_BUFFER_BYTES >= RDMA_PROOF_BYTES,
	       "any message has room");

enum end_state {
	END_RESOLVING,  /* the address, then the way there */
	END_CONNECTING, /* both sides have queue pairs */
	END_PROVING,    /* the answerer: connected, and waits for the asker's proof */
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

	uint8_t *buffers; /* messages that arrive, then messages that are sent */
	struct ibv_mr *buffers_region;
	unsigned messages, writes, give_up;
	unsigned *free_buffers; /* of those that are sent */
	unsigned num_free, writes_under_way;
	int failure;
	char error[RDMA_ERROR_TEXT];
};

/* Notes why, and that it is over; returns error. */
__attribute__((format(printf, 3, 4))) int rdma_end_failed(struct rdma_end *e, int error,
							  const char *format, ...);
/* The same by errno. */
int rdma_end_failed_errno(struct rdma_end *e, const char *what);

/* All that follow return 0, or the failure that was noted. */

int rdma_end_make_unblocking(struct rdma_end *e, int fd);

/* ---- meet.c ---- */

/* An asker's, which has a channel: it begins to look for the way to that address. */
int rdma_end_resolve(struct rdma_end *e, const struct sockaddr *address);
/* An answerer's: its asker is accepted. */
int rdma_end_take_asker(struct rdma_end *e);
/* What an answerer is sent first. */
int rdma_end_take_proof(struct rdma_end *e, const uint8_t *data, size_t length);
int rdma_end_take_events(struct rdma_end *e);

/* ---- pair.c ---- */

/* The device is known: a queue pair on it, and a buffer for each message that may come. */
int rdma_end_make_pair(struct rdma_end *e);
/* The peer is told; and nothing that arrives for it goes anywhere any more. */
void rdma_end_free_pair(struct rdma_end *e);
/* The i-th buffer waits for a message. */
int rdma_end_post_receive(struct rdma_end *e, unsigned i);
/* There is a free buffer. */
int rdma_end_send_now(struct rdma_end *e, const uint8_t *data, size_t length);

/* ---- completions.c ---- */

int rdma_end_take_completions(struct rdma_end *e);

#endif

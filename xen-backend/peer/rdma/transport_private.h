/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/transport_private.h - what the files behind a transport know of it.
 *
 *   transport.c  what others call: what goes which way, and when
 *   making.c     a queue pair, while there is none
 *   asker.c      READs that are asked
 *   answerer.c   READs that are answered
 */
#ifndef VREAD_PEER_RDMA_TRANSPORT_PRIVATE_H
#define VREAD_PEER_RDMA_TRANSPORT_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "peer/rdma/bounce.h"
#include "peer/rdma/dial.h"
#include "peer/rdma/end.h"
#include "peer/rdma/rdma.h"
#include "peer/rdma/wire.h"

/* One READ under way. */
struct rdma_slot {
	bool used;
	uint64_t id;
	uint32_t length;
	/* asker */
	uint8_t *place;
	int bounce; /* -1: they are written to their place */
	bool forgotten;
	/* answerer */
	struct rdma_target target;
	uint32_t written;
};

struct rdma_transport {
	struct transport transport;
	struct transport *stream;
	enum rdma_side side;
	struct rdma *rdma;
	struct rdma_awaited *awaited; /* an answerer's, until a queue pair is up */
	struct rdma_dial dial;        /* an asker's, like the next five */
	unsigned give_up;             /* as in struct rdma_choice */
	struct sockaddr_storage address;
	struct rdma_secret secret;
	int timer; /* when to look at dial */
	char why[RDMA_ERROR_TEXT];
	struct rdma_end *end;
	int epoll;                 /* all that is to be polled but TLS, as one */
	int watched[RDMA_END_FDS]; /* of the end; -1: none yet */
	struct rdma_bounce bounce;
	struct outgoing *first, *last;               /* to be posted */
	struct outgoing *first_posted, *last_posted; /* DATA that is being written */
	struct rdma_counters counters;
	bool has_failed;
	unsigned credits;
	struct rdma_slot slots[];
};

struct rdma_transport *rdma_transport_of(const struct transport *t);
/* The READ of that id; NULL: none is under way by the queue pair. */
struct rdma_slot *rdma_transport_find(struct rdma_transport *t, uint64_t id);
/* To who uses the transport. */
int rdma_transport_hand_on(struct rdma_transport *t, const struct message_header *h,
			   const uint8_t *body);
/* Notes why; returns error. */
int rdma_transport_failed(struct rdma_transport *t, int error, const char *text);
/* What waits for a queue pair goes by TLS. */
void rdma_transport_by_tls(struct rdma_transport *t);
/* What arrives by the queue pair. */
extern const struct rdma_end_user rdma_transport_user;

/* What becomes of what was posted. */
enum rdma_fate {
	RDMA_DONE,    /* it was copied */
	RDMA_WRITTEN, /* its bytes are being written */
	RDMA_BY_TLS,  /* nobody waits for its answer's bytes: they are dropped there */
};

/* ---- asker.c: 0, -EAGAIN: later, or an error: the transport is over ---- */

int rdma_asker_post(struct rdma_transport *t, const struct outgoing *o,
		    const struct message_header *h, enum rdma_fate *ret);
/* All bytes of a READ are where the other host was told to write them.  ctx: a transport. */
int rdma_asker_on_word(void *ctx, uint32_t word);
int rdma_asker_on_answer(struct rdma_transport *t, const struct message_header *h,
			 const uint8_t *body);
/* transport_ops.forget, of either side. */
int rdma_asker_forget(struct transport *transport, uint64_t id);

/* ---- answerer.c: likewise ---- */

int rdma_answerer_on_read(struct rdma_transport *t, const struct message_header *h,
			  const uint8_t *body, const struct rdma_target *target);
int rdma_answerer_post(struct rdma_transport *t, const struct outgoing *o,
		       const struct message_header *h, enum rdma_fate *ret);

/* ---- making.c ---- */

/* An asker's: from now on it dials.  0 or negative errno, as the next. */
int rdma_pair_begin(struct rdma_transport *t, const struct rdma_choice *choice);
/* Dials, takes who dialled, and hands on what arrives. */
int rdma_pair_advance(struct rdma_transport *t);
/* Polled with all else. */
int rdma_pair_watch(struct rdma_transport *t, int fd);

#endif

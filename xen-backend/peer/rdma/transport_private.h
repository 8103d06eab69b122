/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/transport_private.h - what the files that implement the RDMA transport share.  Only
 * these files include it:
 *
 *   transport.c  implements rdma.h's transports: which message goes which way, and when
 *   making.c     makes the queue pair
 *   asker.c      READs that this host asks
 *   answerer.c   READs that this host answers
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
	int bounce; /* number of the buffer; -1: the bytes are written straight to place */
	bool forgotten;
	bool answered; /* answer is handed on when the other host cannot write any more */
	struct message_header answer;
	uint8_t failed[RDMA_FAILED_BODY]; /* body of a FAILED */
	/* answerer */
	struct rdma_target target;
	uint32_t written;
};

struct rdma_transport {
	struct transport transport;
	struct transport *stream;
	enum rdma_side side;
	struct rdma *rdma;
	struct rdma_awaited *awaited; /* answerer: until a queue pair is up */
	struct rdma_dial dial;        /* asker, as are the next five fields */
	unsigned give_up;             /* as in struct rdma_choice */
	struct sockaddr_storage address;
	struct rdma_secret secret;
	int timer; /* expires when dial is to be looked at again */
	char why[RDMA_ERROR_TEXT];
	struct rdma_end *end;
	int epoll;                 /* one descriptor for everything that is polled, except TLS */
	int watched[RDMA_END_FDS]; /* the end's descriptors that epoll has; -1: none yet */
	struct rdma_bounce bounce;
	struct outgoing *first, *last;               /* waiting to be posted */
	struct outgoing *first_posted, *last_posted; /* DATA whose bytes are being written */
	struct rdma_counters counters;
	bool has_failed;
	unsigned credits;
	struct rdma_slot slots[];
};

struct rdma_transport *rdma_transport_of(const struct transport *t);
/* The READ with that id.  NULL: no such READ is under way over the queue pair. */
struct rdma_slot *rdma_transport_find(struct rdma_transport *t, uint64_t id);
/* Hands the message to the transport's user. */
int rdma_transport_hand_on(struct rdma_transport *t, const struct message_header *h,
			   const uint8_t *body);
/* Notes the reason.  Returns error. */
int rdma_transport_failed(struct rdma_transport *t, int error, const char *text);
/* Sends over TLS what waits for a queue pair. */
void rdma_transport_by_tls(struct rdma_transport *t);
/* Callbacks for what arrives over the queue pair. */
extern const struct rdma_end_user rdma_transport_user;

/* What becomes of a message that was posted. */
enum rdma_fate {
	RDMA_DONE,    /* the message was copied: it can be released */
	RDMA_WRITTEN, /* the message's bytes are being written */
	/* nobody waits for the answer's bytes: the message goes over TLS, where they are dropped */
	RDMA_BY_TLS,
};

/* ---- asker.c: 0, -EAGAIN: later, or an error: the transport is over ---- */

int rdma_asker_post(struct rdma_transport *t, const struct outgoing *o,
		    const struct message_header *h, enum rdma_fate *ret);
/* FAILED, or DATA: the other host has written all bytes of a READ.  They are handed on when the
 * other host cannot write there any more. */
int rdma_asker_on_answer(struct rdma_transport *t, const struct message_header *h,
			 const uint8_t *body);
/* The other host cannot write the bytes of this slot's READ any more. */
int rdma_asker_on_withdrawn(struct rdma_transport *t, unsigned slot);
/* transport_ops.forget of both sides. */
int rdma_asker_forget(struct transport *transport, uint64_t id);

/* ---- answerer.c: likewise ---- */

int rdma_answerer_on_read(struct rdma_transport *t, const struct message_header *h,
			  const uint8_t *body, const struct rdma_target *target);
int rdma_answerer_post(struct rdma_transport *t, const struct outgoing *o,
		       const struct message_header *h, enum rdma_fate *ret);

/* ---- making.c ---- */

/* Asker: dials from now on.  0 or negative errno, as rdma_pair_advance(). */
int rdma_pair_begin(struct rdma_transport *t, const struct rdma_choice *choice);
/* Asker: dials when it is time.  Answerer: accepts the host that dialled.  Both: hand on what
 * arrives. */
int rdma_pair_advance(struct rdma_transport *t);
/* Adds fd to what is polled.  0 or negative errno. */
int rdma_pair_watch(struct rdma_transport *t, int fd);

#endif

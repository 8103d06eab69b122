/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h - one request of a peer, carried out: what a worker of server.c does.
 *
 * A READ is answered in pieces of a MiB, each from a buffer that is taken until it was sent;
 * there are as many for all peers together as [peers] buffers says.
 *
 * Threads: any.
 */
#ifndef VREAD_PEER_ANSWER_H
#define VREAD_PEER_ANSWER_H

#include <stdbool.h>

#include "peer/wire/message.h"
#include "peer/wire/transport.h"

struct block_store;
struct counters;
struct handles;
struct policy;

struct answer_request {
	struct answer_request *next;
	uint64_t id;
	uint16_t type;   /* MESSAGE_OPEN, _READ or _STAT */
	uint32_t status; /* READ: bytes answered in the pieces before */
	bool cancelled;  /* while it is carried out: nobody waits for it any more */
	union {
		struct message_read read; /* what is left */
		uint32_t handle;
	} u;
	struct message_open open[]; /* one, if it is an OPEN */
};

/* NULL: malformed (*ret_error = -EPROTO) or out of memory. */
struct answer_request *answer_request_new(const struct message_header *h, const uint8_t *body,
					  int *ret_error);

/* For whom, and what counts. */
struct answer_client {
	struct block_store *store;
	const struct policy *policy;
	struct handles *blocks;
	const void *fair; /* block_name.client */
	struct counters *counters;
};

/* Pages of one. */
#define ANSWER_BUFFER_BYTES (4096U + MESSAGE_MAX_DATA)

/* A piece's buffer, in memory of its own or in those pages; buffer->message has room for a header and MESSAGE_MAX_DATA bytes. */
struct outgoing *answer_buffer_new(uint8_t *pages);
void answer_buffer_free(struct outgoing *buffer);

/* Takes back what r's answer, which is not sent, gave to the peer. */
void answer_drop(const struct answer_client *c, const struct answer_request *r, struct outgoing *o);

/* Carries r out: a message to send, or NULL: out of memory.  buffer: for READ; what is returned is
 * it, or another message.  *ret_more: there is another piece to be asked for with r. */
struct outgoing *answer_request(const struct answer_client *c, struct answer_request *r,
				struct outgoing *buffer, bool *ret_more);

#endif

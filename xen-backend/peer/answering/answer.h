/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h - carries out one request of a peer.  requests.c makes requests, workers.c carries
 * them out; buffers.c and server.c make and free the buffers.
 *
 * A READ is answered in pieces of up to 1 MiB.  Each piece is read into a buffer, which stays
 * taken until the piece was sent.  All peers share the buffers; [peers] buffers of vread.conf
 * says how many there are.
 *
 * Threads: any.
 */
#ifndef VREAD_PEER_ANSWER_H
#define VREAD_PEER_ANSWER_H

#include <stdbool.h>

#include "peer/wire/message.h"
#include "peer/wire/transport.h"
#include "read/service.h"

struct counters;

struct answer_request {
	struct answer_request *next;
	uint64_t id;
	uint16_t type;   /* MESSAGE_OPEN, _READ or _STAT */
	uint32_t status; /* READ: how many bytes the pieces before answered */
	uint32_t crc32c; /* READ: of these bytes */
	bool plain;      /* READ: the bytes may go in frames */
	bool cancelled;  /* cancelled while a worker carries it out: nobody waits for the answer */
	union {
		struct message_read read; /* what is left to be read */
		uint32_t handle;
	} u;
	struct message_open open[]; /* one if this is an OPEN, else none */
};

/* NULL: out of memory (*ret_error = -ENOMEM) or malformed (*ret_error = -EPROTO). */
struct answer_request *answer_request_new(const struct message_header *h, const uint8_t *body,
					  int *ret_error);

/* For whom requests are carried out, and the counters to update. */
struct answer_client {
	struct reader reader;
	struct counters *counters;
	const char *name; /* of the peer */
};

/* Bytes of one buffer: a page whose end holds the header, then the data. */
#define ANSWER_BUFFER_BYTES (4096U + MESSAGE_MAX_DATA)

/* A buffer for one piece.  pages: ANSWER_BUFFER_BYTES of memory to use; NULL: the buffer
 * allocates its own.  buffer->message has room for a header and MESSAGE_MAX_DATA bytes.  NULL:
 * out of memory. */
struct outgoing *answer_buffer_new(uint8_t *pages);
void answer_buffer_free(struct outgoing *buffer);

/* Releases o, the answer to r that will not be sent, and takes back what the answer gave to the
 * peer (the handle of an OPENED). */
void answer_drop(const struct answer_client *c, const struct answer_request *r, struct outgoing *o);

/* Carries r out.  Returns a message to send, or NULL: out of memory.  buffer: for a READ; the
 * returned message is buffer, or a short message whose release() is free().  *ret_more: another
 * piece is left; call again with r. */
struct outgoing *answer_request(const struct answer_client *c, struct answer_request *r,
				struct outgoing *buffer, bool *ret_more);

#endif

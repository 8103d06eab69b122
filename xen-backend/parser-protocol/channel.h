/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * channel.h - one socket between vreadd and a parser: a question, its answer,
 * and only then the next question; private to parser/.
 *
 * A message is a header and a payload (protocol.h).
 */
#ifndef VREAD_PARSER_CHANNEL_H
#define VREAD_PARSER_CHANNEL_H

#include "parser-protocol/protocol.h"
#include "parser-protocol/wire.h"

struct channel {
	int fd; /* a stream socket; -1: none */
	struct wire_out out;
	uint8_t *buffer; /* of what is received */
	size_t capacity;
	uint64_t end; /* of waiting for the other end, by clock_ms(); 0: never */
};

/* What is sent and received from now on may take this long in all; 0: any time. */
void channel_limit(struct channel *c, unsigned limit_ms);

/* Begins a message: its payload is to be put into c->out. */
void channel_begin(struct channel *c);
/* Sends it, with a descriptor unless fd is -1: 0, -ENOMEM, -ETIMEDOUT, or another negative errno. */
int channel_send(struct channel *c, uint32_t kind, int32_t result, int fd);
/*
 * Receives a message: 0 and *ret_payload, which is valid until the next call; -EPIPE the other end
 * is gone, -ETIMEDOUT, -EBADMSG it is no message, -ENOMEM.  A descriptor that comes with it is
 * *ret_fd, else -1; if ret_fd is NULL none is taken.
 */
int channel_receive(struct channel *c, struct parser_header *ret, struct wire_in *ret_payload,
		    int *ret_fd);
/* Frees and closes. */
void channel_clear(struct channel *c);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * channel.h - one socket between vreadd and a parser. Each message is a header and a payload
 * (protocol.h). vreadd (datanode/exchange.c, datanode/process.c) sends a question and waits for
 * its answer before the next question; the parser (parser/serve.c) receives and answers.
 */
#ifndef VREAD_PARSER_CHANNEL_H
#define VREAD_PARSER_CHANNEL_H

#include "parser-protocol/protocol.h"
#include "parser-protocol/wire.h"

struct channel {
	int fd; /* a stream socket; -1: none */
	struct wire_out out;
	uint8_t *buffer; /* received bytes */
	size_t capacity;
	uint64_t end; /* deadline for the other end, by clock_ms(); 0: none */
};

/* Sets the time limit for everything that is sent and received from now on, in total. 0: no
 * limit. */
void channel_limit(struct channel *c, unsigned limit_ms);

/* Begins a message. The caller then puts the payload into c->out. */
void channel_begin(struct channel *c);
/* Sends the message, together with the descriptor `fd` unless that is -1. Returns 0, -ENOMEM,
 * -ETIMEDOUT, or another negative errno. */
int channel_send(struct channel *c, uint32_t kind, int32_t result, int fd);
/*
 * Receives a message. Returns 0 and `*ret_payload`, which is valid until the next call. Errors:
 * -EPIPE if the other end has closed, -ETIMEDOUT, -EBADMSG if the bytes are not a message,
 * -ENOMEM, or another negative errno. If a descriptor comes with the message, `*ret_fd` is set to
 * the descriptor, which the caller then owns, else to -1. If `ret_fd` is NULL, no descriptor is
 * accepted.
 */
int channel_receive(struct channel *c, struct parser_header *ret, struct wire_in *ret_payload,
		    int *ret_fd);
/* Frees the buffers, closes the socket. */
void channel_clear(struct channel *c);

#endif

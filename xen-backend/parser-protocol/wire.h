/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.h - numbers and texts in a message between vreadd and a parser. answer.c, channel.c,
 * parser/serve.c and datanode/ call it.
 *
 * Both ends run the same build on the same machine, so numbers have the processor's byte order.
 * The reader trusts nothing: if a message ends early, or a length goes beyond its end, `failed`
 * is set and every further read returns 0 or NULL.
 */
#ifndef VREAD_PARSER_WIRE_H
#define VREAD_PARSER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_out {
	uint8_t *data;
	size_t length, capacity;
	bool failed; /* out of memory, or longer than WIRE_MAX_BYTES */
};

#define WIRE_MAX_BYTES (16U << 20) /* of a message; FS_MAX_EXTENTS extents take 1.5 MiB */

void wire_put(struct wire_out *out, const void *bytes, size_t length);
void wire_put32(struct wire_out *out, uint32_t value);
void wire_put64(struct wire_out *out, uint64_t value);
void wire_put_text(struct wire_out *out, const char *text); /* NULL: written as "" */

struct wire_in {
	const uint8_t *data;
	size_t left;
	bool failed;
};

/* Returns the next `length` bytes; NULL and failed if fewer are left. */
const void *wire_get(struct wire_in *in, size_t length);
uint32_t wire_get32(struct wire_in *in);
uint64_t wire_get64(struct wire_in *in);
/* Returns a text (free() it) of at most `max` bytes, none of them 0. NULL and failed if the
 * message holds no such text or memory is short. */
char *wire_get_text(struct wire_in *in, size_t max);
/* The same, to be shown to people: each byte that is not printable ASCII is replaced by '?'. */
char *wire_get_plain_text(struct wire_in *in, size_t max);
/* True if the whole message was read and no read failed. */
bool wire_done(const struct wire_in *in);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.h - numbers and texts in a message between vreadd and a parser; private to
 * parser/.
 *
 * Both ends are this build on this machine, so numbers are as the processor has
 * them.  Who reads believes nothing: a message that ends early, or a length that
 * goes beyond it, makes the whole message failed, and what was read of it zeros.
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

#define WIRE_MAX_BYTES (16U << 20) /* of a message: a file of FS_MAX_EXTENTS takes 1.5 MiB */

void wire_put(struct wire_out *out, const void *bytes, size_t length);
void wire_put32(struct wire_out *out, uint32_t value);
void wire_put64(struct wire_out *out, uint64_t value);
void wire_put_text(struct wire_out *out, const char *text); /* NULL: as "" */

struct wire_in {
	const uint8_t *data;
	size_t left;
	bool failed;
};

/* NULL if there are not that many. */
const void *wire_get(struct wire_in *in, size_t length);
uint32_t wire_get32(struct wire_in *in);
uint64_t wire_get64(struct wire_in *in);
/* malloc()ed, of at most max bytes and none of them 0; NULL on failure, also of memory. */
char *wire_get_text(struct wire_in *in, size_t max);
/* The same, what is not printable ASCII replaced by '?': to be shown to people. */
char *wire_get_plain_text(struct wire_in *in, size_t max);
/* Whether all of it was read, and made sense. */
bool wire_done(const struct wire_in *in);

#endif

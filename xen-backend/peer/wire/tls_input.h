/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls_input.h - where a TLS connection takes its bytes from: a socket, in turns.
 *
 * Only tls.c calls these functions.
 *
 * With frames (plain.h) the other side sends frames between the records of TLS.  tls_input_track()
 * makes the input look at the first byte of each record.  At a frame the input gives OpenSSL
 * nothing, as if nothing had arrived, until the caller has taken the whole frame.
 */
#ifndef VREAD_PEER_TLS_INPUT_H
#define VREAD_PEER_TLS_INPUT_H

#include <openssl/bio.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tls_input {
	int fd;
	bool ended;                /* the other side sends no more */
	uint64_t taken, turn_ends; /* bytes from the socket; the turn ends at turn_ends */

	/* Members for frames; buffer is NULL if the input does not track records. */
	uint8_t *buffer;
	size_t at, filled;  /* bytes from at to filled are not taken yet */
	size_t record_left; /* bytes of the present record that OpenSSL has not got yet */
	bool at_frame;      /* a frame is next, and OpenSSL gets nothing */
};

/* A BIO that reads from *in, which must outlive it.  NULL: out of memory. */
BIO *tls_input_bio(struct tls_input *in);
/* From now on frames may come.  Before anything is read.  False: out of memory. */
bool tls_input_track(struct tls_input *in);
/* Takes bytes of a frame.  Returns as recv(); also -1 with EAGAIN if the turn is over. */
ssize_t tls_input_take(struct tls_input *in, void *bytes, size_t length);
/* Frees the buffer, not *in. */
void tls_input_end(struct tls_input *in);

#endif

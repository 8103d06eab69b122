/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma_pair.h - what the two halves of rdma-pair share: a TLS connection, its secret, and what the
 * bytes of a "block" are.
 */
#ifndef RDMA_PAIR_H
#define RDMA_PAIR_H

#include "peer/wire/address.h"
#include "peer/rdma/rdma.h"
#include "peer/settings.h"
#include "peer/wire/stream.h"

#define PAIR_CREDITS 8U

/* What a READ's handle tells the answerer to do. */
enum pair_block {
	PAIR_BYTES,        /* the bytes asked for */
	PAIR_FAILS,        /* some of them, then ENOENT */
	PAIR_ENDS,         /* there are none: its end was reached */
	PAIR_NEVER,        /* nothing */
	PAIR_ANSWERS_MORE, /* the answer to the READ before, too */
	PAIR_KEEPS_FIRST,  /* the bytes; the first READ's only once PAIR_KEPT others were asked */
};

#define PAIR_KEPT (2 * PAIR_CREDITS)

struct pair_options {
	struct address address;
	const char *peer; /* NULL: answers */
	bool spoil_key;   /* has another key than the other end */
	bool spoil_name;  /* and another name */
	unsigned handle;
	unsigned reads;
	uint32_t length;
	bool bounce;      /* the memory is not told to any device */
	int domid;        /* whose pages the memory is; -1: our own */
	unsigned abandon; /* after so many answers the transport is freed; 0: never */
	unsigned
		withdraw; /* after so many answers, at most PAIR_CREDITS, the memory is; 0: never */
	unsigned credits; /* as the answerer counts them */
	unsigned timeout_ms;
	unsigned give_up; /* ms: rdma_choice's */
	struct peers_config config;
};

static inline uint8_t pair_byte(uint64_t offset)
{
	return (uint8_t)(offset * 31 + (offset >> 8) * 7 + (offset >> 20) * 3 + 1);
}

_Noreturn void pair_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t pair_now_ms(void);
struct tls *pair_connect(const struct pair_options *o, struct tls_context *context);
int pair_listen(const struct pair_options *o);
/* NULL: whoever connected is nobody. */
struct tls *pair_accept(int listener, struct tls_context *context);
void pair_secret(const struct pair_options *o, struct tls *tls, struct rdma_secret *ret);
/* A HELLO, the way to say that the other end may dial. */
void pair_hello(struct transport *t);
/* Polls what the transport polls, and one descriptor more (-1: none). */
void pair_wait(struct transport *t, int fd, int timeout_ms);

int pair_ask(const struct pair_options *o);
int pair_answer(const struct pair_options *o);

#endif

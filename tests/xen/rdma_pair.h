/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma_pair.h - functions and options shared by the two halves of rdma-pair: the TLS connection,
 * its secret, and the bytes of a "block".
 */
#ifndef RDMA_PAIR_H
#define RDMA_PAIR_H

#include "peer/wire/address.h"
#include "peer/rdma/rdma.h"
#include "peer/rdma/wire.h"
#include "peer/settings.h"
#include "peer/wire/stream.h"

#define PAIR_CREDITS 8U

/* The handle of a READ: tells the answerer what to answer. */
enum pair_block {
	PAIR_BYTES,        /* the bytes asked for */
	PAIR_FAILS,        /* some of them, then ENOENT */
	PAIR_ENDS,         /* no bytes: the end of the block was reached */
	PAIR_NEVER,        /* no answer */
	PAIR_ANSWERS_MORE, /* the bytes, and a second answer to the READ before */
	/* the bytes; but when READ PAIR_CREDITS + 1 arrives, which a READ's end made room for,
	 * bytes for the place of the first READ */
	PAIR_WRITES_LATE,
};

/* What a hostile answerer writes where it was not asked to. */
#define PAIR_PLANTED 0xee
#define PAIR_PLANTED_BYTES 512U

struct pair_options {
	struct address address;
	const char *peer; /* NULL: this end answers */
	bool spoil_key;   /* use a key that differs from the other end's */
	bool spoil_name;  /* use a name that differs from the other end's */
	unsigned handle;
	unsigned reads;
	uint32_t length;
	bool bounce;      /* do not register the memory with any device */
	int domid;        /* the domain that grants the memory; -1: own memory */
	unsigned abandon; /* free the transport after this many answers; 0: never */
	/* Asker: when standard input tells an address and a key, sends a READ with these as offset
	 * and handle, over a second connection to the next port, where a hostile answerer is.
	 * Answerer: hostile.  It writes to this address with this key, and answers the READ. */
	bool steals;
	bool hold;            /* asker: the last READ waits until standard input tells something */
	unsigned credits;     /* the answerer's limit */
	unsigned connections; /* the answerer ends after so many; 0: never */
	unsigned timeout_ms;  /* for all answers; 0: until the connection ends */
	unsigned give_up;     /* ms: give_up of struct rdma_choice */
	struct peers_config config;
};

#define PAIR_SUM 0xfedcba98U /* the CRC32C in every answer: the transports only pass it on */

static inline uint8_t pair_byte(uint64_t offset)
{
	return (uint8_t)(offset * 31 + (offset >> 8) * 7 + (offset >> 20) * 3 + 1);
}

_Noreturn void pair_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t pair_now_ms(void);
/* Sets the transport's clock forward by two seconds: it then tries again to register memory. */
void pair_step_clock(void);
struct tls *pair_connect(const struct pair_options *o, struct tls_context *context);
int pair_listen(const struct pair_options *o);
/* NULL: the TLS handshake failed. */
struct tls *pair_accept(int listener, struct tls_context *context);
void pair_secret(const struct pair_options *o, struct tls *tls, struct rdma_secret *ret);
/* Sends a HELLO, which tells the other end that it may dial. */
void pair_hello(struct transport *t);
/* Waits for the transport's descriptors, and for fd (-1: none). */
void pair_wait(struct transport *t, int fd, int timeout_ms);

/* The place of a READ, as the host that asks told it to the host that answers.  id: of a READ under
 * way over the queue pair. */
const struct rdma_target *pair_target(struct transport *t, uint64_t id);
/* Answerer: writes PAIR_PLANTED_BYTES from `from`, which must be registered memory, to target. */
void pair_plant(struct transport *t, uint8_t *from, const struct rdma_target *target);

int pair_ask(const struct pair_options *o);
int pair_answer(const struct pair_options *o);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma.h - a link's bytes by RDMA.
 *
 * A queue pair always belongs to a link's TLS connection, on which the two hosts agreed to use
 * one, and which gave both a secret no other connection has.  Before anything else passes both
 * prove over nonces of both that they have it (rdma/proof.h).  All messages but READ and what
 * answers it still go through TLS, and its end is the link's end.
 *
 * A READ tells where its bytes go.  The other host writes them there, out of the memory it
 * verified them in, and the last write brings a word (rdma/wire.h) that says which READ is done.
 * Only a host that was asked can write anywhere: memory of those that ask and of those
 * that answer is in different protection domains.
 *
 * While there is no queue pair, because it is not made yet or cannot be, READs may go over TLS
 * (dial.h).  One that was there and fails takes the connection with it: what was under way
 * cannot be told apart from what is still to land.
 *
 * Nothing here waits.  A transport that failed stays so: it is freed, which ends the queue
 * pair before it returns, and a new connection makes a new one.
 *
 * Threads: a transport as transport.h says, a listener one thread at a time; the rest any.
 */
#ifndef VREAD_PEER_RDMA_H
#define VREAD_PEER_RDMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "peer/rdma/proof.h"
#include "peer/wire/transport.h"

struct rdma;          /* this host's devices, as far as they are in use */
struct rdma_memory;   /* a range of memory that they may use */
struct rdma_listener; /* takes what others dial */
struct rdma_awaited;  /* one who may dial */

enum rdma_side { RDMA_ASKS, RDMA_ANSWERS };
#define RDMA_SIDES 2

/* -ENODEV: this host has no RDMA.  -ENOMEM. */
int rdma_new(struct rdma **ret);
/* All that was made of it has been freed. */
void rdma_free(struct rdma *r);

/* ---- memory ---- */

/* RDMA_ASKS: where places of DATA are.  RDMA_ANSWERS: where DATA's bytes lie that are sent.
 * A device learns of it when it first needs it.  0 or -ENOMEM. */
int rdma_memory_new(struct rdma *r, enum rdma_side side, uint8_t *base, size_t length,
		    struct rdma_memory **ret);
/* Returns when no device can reach it; whoever still tries to write there loses his connection. */
void rdma_memory_free(struct rdma_memory *m);

/* ---- transports ---- */

/* What an asker does while there is no queue pair. */
struct rdma_choice {
	bool or_tls;       /* READs may go over TLS; false: if it cannot be made all is over */
	unsigned patience; /* ms that READs wait for the first one; of no effect without or_tls */
	unsigned pause;    /* ms before the first is dialled for, in which nothing waits */
	unsigned give_up;  /* ms that packets go unacknowledged, and a queue pair ends */
};

/* stream: the link's transport over TLS, which belongs to what is returned.  What arrives is handed to
 * its user.  A queue pair that was there and failed is the transport's end.
 * NULL: see *ret_error (free() it); the stream is the caller's as before. */
struct transport *rdma_ask(struct rdma *r, const struct sockaddr *address,
			   const struct rdma_secret *secret, unsigned credits,
			   const struct rdma_choice *choice, struct transport *stream,
			   char **ret_error);
/* Whether the READs of a transport made by that go over TLS now.  *ret_why, unless NULL: what became of the
 * last queue pair; "": nothing yet. */
bool rdma_goes_by_tls(const struct transport *t, const char **ret_why);
/* Whether it was the queue pair, not TLS, that ended the transport. */
bool rdma_has_failed(const struct transport *t);
/* Takes over a, in any case.  Until a queue pair is up the other host may dial, and READs that came over
 * TLS are answered there.  NULL: out of memory or descriptors. */
struct transport *rdma_answer(struct rdma_awaited *a, unsigned credits, struct transport *stream);

struct rdma_counters {
	uint64_t direct;  /* bytes that were written where they belong */
	uint64_t bounced; /* bytes that came through a buffer, because a device cannot reach it */
	uint64_t sent;    /* bytes written to the other host */
};
/* Of a transport made by the two above. */
void rdma_counters(const struct transport *t, struct rdma_counters *ret);

/* ---- being dialled ---- */

int rdma_listener_new(struct rdma *r, const struct sockaddr *address, struct rdma_listener **ret,
		      char **ret_error);
/* Nobody is awaited. */
void rdma_listener_free(struct rdma_listener *l);
/* When it can be read, process is called. */
int rdma_listener_fd(const struct rdma_listener *l);
void rdma_listener_process(struct rdma_listener *l);
/* How many dialled whom nobody awaited. */
unsigned long rdma_listener_refused(struct rdma_listener *l);

/* From now on whoever has that secret may dial, and again: done before he is told to.  0, -ENOMEM or
 * another errno. */
int rdma_await(struct rdma_listener *l, const struct rdma_secret *secret,
	       struct rdma_awaited **ret);
/* NULL: nothing. */
void rdma_await_free(struct rdma_awaited *a);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma.h - moves a link's READs, and the bytes that answer them, by RDMA.  peers.c, pool.c,
 * asking/ and answering/ of peer/ call these functions.
 *
 *   host that asks                                     host that answers
 *
 *   over the TLS connection, which gives both hosts a secret: a name and a key
 *     HELLO    transports            ------------->    awaits the name of its secret
 *                                    <-------------    HELLO    RDMA, credits
 *                                    <-------------    STORAGES
 *
 *   the queue pair is dialled
 *     connect  "VRD1", name, nonce   ------------->    refuses a name that nobody awaits
 *     checks the proof; end is up    <-------------    accept   "VRD1", nonce, proof
 *     SEND     proof                 ------------->    checks the proof; end is up
 *
 *   over the queue pair, for each READ
 *     BIND     the place to a memory window
 *     SEND     READ  handle, length, offset,
 *                    address, key, slot  --------->    reads the block in pieces of 1 MiB
 *                                                      into buffers, verifies each piece
 *     guest's pool                                     buffers
 *     +-----------------+                              +-----------------+
 *     | address         |  <======= RDMA WRITE ======  | first piece     |
 *     | address + 1 MiB |  <======= RDMA WRITE ======  | second piece    |
 *     | address + 2 MiB |  <======= RDMA WRITE ======  | last piece      |
 *     +-----------------+                              +-----------------+
 *     INVALIDATE the window          <-------------    SEND     DATA    bytes, CRC32C
 *     the READ is done                                 a written piece frees its buffer
 *
 *     instead of the DATA:           <-------------    SEND     FAILED  errno
 *
 * A queue pair always belongs to one TLS connection.  On this connection the two hosts agree to
 * use RDMA, and the connection gives both hosts a secret that no other connection has.  Before
 * anything else passes over the queue pair, both hosts prove that they have the secret, over
 * the nonces of both (rdma/proof.h).  All messages except READ and its answer still go over
 * TLS.  The end of the TLS connection is the end of the link.
 *
 * A READ names the address its bytes go to.  The host that answers writes the bytes to this
 * address from the memory in which it verified them.  A queue pair keeps the order, so the DATA
 * that follows the last write arrives when all bytes are there.  It tells how many bytes were
 * written, and their CRC32C (rdma/wire.h).  The writes are neither encrypted nor authenticated;
 * the reader in the guest compares the bytes with the CRC32C.
 *
 * Only a host that was asked can write into the other host's memory, only to the place of its
 * READ, and only until the host that asked takes its answer: see rdma/windows.c.  If the device
 * of the host that asks cannot reach the guest's pool, or has no memory windows, the address lies
 * in a buffer of this queue pair, and the host that asks copies the bytes from there
 * (rdma/bounce.h).
 *
 * While there is no queue pair, because it is not made yet or cannot be made, READs may go over
 * TLS (rdma/dial.h).  If a queue pair that was up fails, the connection ends too: the host that
 * asks cannot tell which bytes have landed and which may still land.
 *
 * No function here waits.  A transport that failed stays failed.  The caller frees it, which
 * ends the queue pair before the call returns.  A new connection makes a new queue pair.
 *
 * Threads: the caller locks a transport, so that one thread at a time uses it.  One thread at a
 * time uses a listener.  All other functions may be called on any thread.
 */
#ifndef VREAD_PEER_RDMA_H
#define VREAD_PEER_RDMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "peer/rdma/proof.h"
#include "peer/wire/transport.h"

struct rdma;          /* this host's RDMA devices that are in use */
struct rdma_memory;   /* a range of memory that the devices may use */
struct rdma_listener; /* accepts queue pairs that other hosts dial */
struct rdma_awaited;  /* one host that may dial */

enum rdma_side { RDMA_ASKS, RDMA_ANSWERS };
#define RDMA_SIDES 2

/* 0, -ENODEV: this host has no RDMA, or -ENOMEM. */
int rdma_new(struct rdma **ret);
/* Everything made from r must have been freed before. */
void rdma_free(struct rdma *r);

/* ---- memory ---- */

/* Makes memory known to the devices.  RDMA_ASKS: memory that places of READs lie in.  RDMA_ANSWERS:
 * memory from which bytes of DATA are sent.  The memory is registered with a device when the device
 * first needs it.  0 or -ENOMEM. */
int rdma_memory_new(struct rdma *r, enum rdma_side side, uint8_t *base, size_t length,
		    struct rdma_memory **ret);
/* Returns when no device can reach the memory any more.  No READ into this memory may be under way:
 * a device does not give up memory with a window, and then this function ends the process. */
void rdma_memory_free(struct rdma_memory *m);

/* ---- transports ---- */

/* What the host that asks does while there is no queue pair. */
struct rdma_choice {
	/* READs may go over TLS.  False: if no queue pair can be made, the transport fails. */
	bool or_tls;
	/* ms that READs wait for the first queue pair.  No effect without or_tls. */
	unsigned patience;
	/* ms before the first dial.  If not 0, READs that may go over TLS do not wait for it. */
	unsigned pause;
	/* ms without acknowledgement of a packet after which the queue pair fails */
	unsigned give_up;
};

/* Returns a transport that dials address and moves READs by RDMA.  stream is the link's
 * transport over TLS.  The returned transport takes over stream, and hands messages that arrive
 * to stream's user.  If a queue pair that was up fails, the transport fails.  NULL: failed, see
 * *ret_error (free() it); stream still belongs to the caller. */
struct transport *rdma_ask(struct rdma *r, const struct sockaddr *address,
			   const struct rdma_secret *secret, unsigned credits,
			   const struct rdma_choice *choice, struct transport *stream,
			   char **ret_error);
/* True if READs of t, made by rdma_ask(), go over TLS now.  *ret_why, unless ret_why is NULL:
 * why the last attempt to make a queue pair failed; "": none has failed. */
bool rdma_goes_by_tls(const struct transport *t, const char **ret_why);
/* True if the queue pair, not TLS, ended the transport. */
bool rdma_has_failed(const struct transport *t);
/* Returns a transport for the host that a awaits.  Takes over a, also on failure.  On success
 * takes over stream too.  Until a queue pair is up the other host may dial, and READs that
 * arrive over TLS are answered over TLS.  NULL: out of memory or descriptors. */
struct transport *rdma_answer(struct rdma_awaited *a, unsigned credits, struct transport *stream);

struct rdma_counters {
	uint64_t direct;  /* bytes that the other host wrote to their place */
	uint64_t bounced; /* bytes copied from a buffer: the device cannot reach their place */
	uint64_t sent;    /* bytes written to the other host */
};
/* t: made by rdma_ask() or rdma_answer(). */
void rdma_counters(const struct transport *t, struct rdma_counters *ret);

/* ---- being dialled ---- */

int rdma_listener_new(struct rdma *r, const struct sockaddr *address, struct rdma_listener **ret,
		      char **ret_error);
/* Every rdma_await() must have been ended by rdma_await_free() before. */
void rdma_listener_free(struct rdma_listener *l);
/* Poll the descriptor for reading.  When it is readable, call rdma_listener_process(). */
int rdma_listener_fd(const struct rdma_listener *l);
void rdma_listener_process(struct rdma_listener *l);
/* How many connection requests were refused: malformed, or of a name that nobody awaits. */
unsigned long rdma_listener_refused(struct rdma_listener *l);

/* From now on the host that has this secret may dial, and may dial again.  Call this before
 * telling the other host to dial.  0, -ENOMEM or another negative errno. */
int rdma_await(struct rdma_listener *l, const struct rdma_secret *secret,
	       struct rdma_awaited **ret);
/* a: NULL is ignored. */
void rdma_await_free(struct rdma_awaited *a);

#endif

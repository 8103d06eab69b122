/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/end.h - this host's end of one queue pair, from dialling until it is freed.  making.c
 * makes ends; transport.c, asker.c and answerer.c send over them.
 *
 * An end is up when both hosts have proved that they have the secret (rdma/proof.h).  Before
 * that, nothing that arrives is handed on, and nothing can be posted.  No function here waits.
 * One thread at a time uses an end.
 */
#ifndef VREAD_PEER_RDMA_END_H
#define VREAD_PEER_RDMA_END_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#include "peer/rdma/host.h"

#define RDMA_ERROR_TEXT 160U

struct rdma_end;

/* Callbacks, called within rdma_end_advance(); withdrawn also within rdma_end_withdraw().  A
 * negative errno from message or withdrawn ends the queue pair. */
struct rdma_end_user {
	int (*message)(void *ctx, const uint8_t *data, size_t length);
	/* The oldest write under way has completed. */
	void (*written)(void *ctx);
	/* The range that was exposed in this slot is withdrawn: see rdma_end_withdraw(). */
	int (*withdrawn)(void *ctx, unsigned slot);
};

struct rdma_end_settings {
	struct rdma *rdma;
	const struct rdma_secret *secret; /* copied */
	/* most messages under way in each direction */
	unsigned messages;
	/* most writes under way */
	unsigned writes;
	/* ms, as in struct rdma_choice; the host that asks tells the host that answers */
	unsigned give_up;
	const struct rdma_end_user *user;
	void *ctx;
};

/* Dials address.  0, or negative errno with a text in error, which has RDMA_ERROR_TEXT bytes. */
int rdma_end_dial(const struct rdma_end_settings *settings, const struct sockaddr *address,
		  struct rdma_end **ret, char *error);
/* Accepts the connection request id.  Takes over id, also on failure.  m: the meeting, with the
 * asker's part filled in.  Returns as rdma_end_dial() does. */
int rdma_end_accept(const struct rdma_end_settings *settings, struct rdma_cm_id *id,
		    const struct rdma_meeting *m, struct rdma_end **ret, char *error);
/* When it returns, nothing that the other host does can reach any memory through this queue
 * pair. */
void rdma_end_free(struct rdma_end *e);

#define RDMA_END_FDS 2U
void rdma_end_poll(const struct rdma_end *e, struct pollfd fds[RDMA_END_FDS]);
/* Does all that can be done without waiting.  0; -ESHUTDOWN: the other host ended the queue
 * pair; or another negative errno.  rdma_end_error() tells why. */
int rdma_end_advance(struct rdma_end *e);
const char *rdma_end_error(const struct rdma_end *e);
bool rdma_end_is_up(const struct rdma_end *e);
/* True if the end is up or was up: messages may have passed. */
bool rdma_end_was_up(const struct rdma_end *e);

struct rdma_device *rdma_end_device(const struct rdma_end *e);

/* rdma_end_send() and rdma_end_write() return 0; -EAGAIN: try later, the end is not up yet or
 * the most allowed are under way; or another negative errno. */
int rdma_end_send(struct rdma_end *e, const uint8_t *data, size_t length);
/* True if rdma_end_send() would not return -EAGAIN. */
bool rdma_end_can_send(const struct rdma_end *e);
/* Writes length bytes, at least one, from `from` to address in the other host's memory.  key: the
 * local key of the memory that holds `from`.  address and remote_key: as the other host said.  A
 * message sent after the write arrives after the bytes. */
int rdma_end_write(struct rdma_end *e, const uint8_t *from, uint32_t length, uint32_t key,
		   uint64_t address, uint32_t remote_key);

/* ---- what the other host may write to: only an end that dialled, and that is up ---- */

/* Registers memory with this end alone, until rdma_end_free(); the memory must live longer.  Called
 * at most once for an end.  0 or negative errno. */
int rdma_end_register(struct rdma_end *e, uint8_t *base, size_t length, struct ibv_mr **ret);
/* Lets the other host, and no other, write to [at, at + length) of region.  region: of
 * rdma_region_of() or rdma_end_register().  slot: less than settings.messages, and nothing is
 * exposed in it.  *ret_key: the key for the other host; it is valid when a message that is sent
 * later arrives.  0 or negative errno. */
int rdma_end_expose(struct rdma_end *e, unsigned slot, struct ibv_mr *region, const uint8_t *at,
		    uint32_t length, uint32_t *ret_key);
/* Takes back what is exposed in slot.  The other host can write there until user->withdrawn() is
 * called, and not any more then; a write that is under way then ends the queue pair.  0 or
 * negative errno. */
int rdma_end_withdraw(struct rdma_end *e, unsigned slot);

#endif

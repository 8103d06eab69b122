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

/* Callbacks, called within rdma_end_advance().  A negative errno from message ends the queue
 * pair. */
struct rdma_end_user {
	int (*message)(void *ctx, const uint8_t *data, size_t length);
	/* The oldest write under way has completed. */
	void (*written)(void *ctx);
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

#endif

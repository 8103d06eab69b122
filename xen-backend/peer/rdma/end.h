/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/end.h - one queue pair, from dialling to its end.
 *
 * It is up when both ends have proved that they have the secret (rdma/proof.h); nothing that
 * arrives before is handed on, and nothing can be posted.  As in rdma.h nothing waits, and one
 * thread at a time uses it.
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

/* What is told from within advance(); negative errno: the end of it. */
struct rdma_end_user {
	int (*message)(void *ctx, const uint8_t *data, size_t length);
	int (*word)(void *ctx, uint32_t word);
	/* The oldest write is over. */
	void (*written)(void *ctx);
};

struct rdma_end_settings {
	struct rdma *rdma;
	const struct rdma_secret *secret; /* copied */
	unsigned messages;                /* under way at most in each direction, words included */
	unsigned writes;                  /* under way at most */
	unsigned give_up; /* ms: see struct rdma_choice; an answerer is told by the asker */
	const struct rdma_end_user *user;
	void *ctx;
};

/* error: RDMA_ERROR_TEXT bytes. */
int rdma_end_dial(const struct rdma_end_settings *settings, const struct sockaddr *address,
		  struct rdma_end **ret, char *error);
/* Takes over id, which asks for a connection, also on failure.  m: with the asker's part. */
int rdma_end_accept(const struct rdma_end_settings *settings, struct rdma_cm_id *id,
		    const struct rdma_meeting *m, struct rdma_end **ret, char *error);
/* Returns when nothing that the other host does can reach any memory through it. */
void rdma_end_free(struct rdma_end *e);

#define RDMA_END_FDS 2U
void rdma_end_poll(const struct rdma_end *e, struct pollfd fds[RDMA_END_FDS]);
/* 0, -ESHUTDOWN: the other host ended it, or another error, which rdma_end_error() tells. */
int rdma_end_advance(struct rdma_end *e);
const char *rdma_end_error(const struct rdma_end *e);
bool rdma_end_is_up(const struct rdma_end *e);
/* Whether it is or has been: something may have passed. */
bool rdma_end_was_up(const struct rdma_end *e);

struct rdma_device *rdma_end_device(const struct rdma_end *e);

/* Both: 0; -EAGAIN: later, as many as may be are under way or it is not up yet; or an error. */
int rdma_end_send(struct rdma_end *e, const uint8_t *data, size_t length);
/* Writes length bytes at from, which lie in memory with that key, to where the other host said.  word:
 * told there behind them; NULL: none. */
int rdma_end_write(struct rdma_end *e, const uint8_t *from, uint32_t length, uint32_t key,
		   uint64_t address, uint32_t remote_key, const uint32_t *word);

#endif

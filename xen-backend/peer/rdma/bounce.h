/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/bounce.h - buffers for bytes whose place the other host must not or cannot write to.
 * asker.c takes and gives back buffers; transport.c frees them all.
 *
 * The other host writes into a buffer, and asker.c copies the bytes from there to their place.
 * There are a few buffers, made when the first is needed.  If all are taken, a READ waits until
 * an answer frees one.  The buffers belong to one queue pair: no other host can write to them.
 */
#ifndef VREAD_PEER_RDMA_BOUNCE_H
#define VREAD_PEER_RDMA_BOUNCE_H

#include "peer/rdma/end.h"

struct rdma_bounce {
	struct ibv_mr *region; /* NULL: the buffers are not made yet */
	uint8_t *base;
	unsigned taken; /* one bit for each buffer */
};

/* Takes a buffer of VREAD_MAX_READ bytes, registered with e.  Returns its number, -EAGAIN (all are
 * taken), or another negative errno. */
int rdma_bounce_take(struct rdma_bounce *b, struct rdma_end *e, uint8_t **ret);
void rdma_bounce_give(struct rdma_bounce *b, int number);
uint8_t *rdma_bounce_at(const struct rdma_bounce *b, int number);
/* The end with which the buffers are registered must have been freed before. */
void rdma_bounce_free(struct rdma_bounce *b);

#endif

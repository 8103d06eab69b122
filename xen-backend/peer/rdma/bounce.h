/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/bounce.h - buffers for what the other host writes where its device cannot reach the pool.
 *
 * A few, made when the first is needed; whoever finds none waits for an answer to free one.
 */
#ifndef VREAD_PEER_RDMA_BOUNCE_H
#define VREAD_PEER_RDMA_BOUNCE_H

#include "peer/rdma/rdma.h"

struct rdma_bounce {
	struct rdma_memory *memory; /* NULL: not made yet */
	uint8_t *base;
	unsigned taken; /* one bit each */
};

/* A buffer of VREAD_MAX_READ bytes: its number, -EAGAIN or -ENOMEM. */
int rdma_bounce_take(struct rdma_bounce *b, struct rdma *r, uint8_t **ret);
void rdma_bounce_give(struct rdma_bounce *b, int number);
uint8_t *rdma_bounce_at(const struct rdma_bounce *b, int number);
/* No queue pair writes to them any more. */
void rdma_bounce_free(struct rdma_bounce *b);

#endif

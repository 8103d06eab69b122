// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pool.c - guests' pools, which the bytes of peers go to.
 *
 * Called by ring/session.c (peer.h).
 */
#include "peer/peers_private.h"

#include <errno.h>
#include <stdlib.h>

#include "peer/rdma/rdma.h"

int peer_pool_new(struct peers *p, uint8_t *base, size_t length, struct peer_pool **ret)
{
	struct peer_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	pool->peers = p;
	pool->base = base;
	pool->length = length;
	if (p->rdma && rdma_memory_new(p->rdma, RDMA_ASKS, base, length, &pool->memory)) {
		free(pool);
		return -ENOMEM;
	}
	*ret = pool;
	return 0;
}

void peer_pool_stop(struct peer_pool *pool)
{
	atomic_store(&pool->stopped, true);
	for (size_t i = 0; i < pool->peers->num_peers; i++)
		streams_stop(pool->peers->peers[i], pool);
}

/* After the return nothing can write to the pool: no operation is under way, and no RDMA device can
 * reach the memory any more. */
void peer_pool_free(struct peer_pool *pool)
{
	rdma_memory_free(pool->memory);
	free(pool);
}

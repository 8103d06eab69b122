/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read_private.h - the store and its handles, shared by the .c files of read/.
 */
#ifndef VREAD_READ_PRIVATE_H
#define VREAD_READ_PRIVATE_H

#include <pthread.h>
#include <stdint.h>

#include "datanode/datanode.h"
#include "datanode/published.h"
#include "datanode/served.h"
#include "policy/tokens.h"
#include "read/ahead.h"
#include "read/block.h"
#include "read/budget.h"
#include "read/replica.h"
#include "read/replica_cache.h"
#include "read/store.h"

struct block_store {
	struct registry *registry;
	struct replica_cache *cache;
	struct ahead_shared ahead;
	bool cache_fits;              /* block_store_fit_cache() sets the size of ahead.cache */
	const char *cache_limited_by; /* what keeps ahead.cache from being larger */
	_Atomic size_t handle_memory; /* bytes for the handles of one reader; 0: no limit */
};

struct block_handle {
	pthread_mutex_t lock;          /* protects the pointer replica: held to copy or change it */
	struct block_replica *replica; /* replaced when the files changed and were found again */
	struct replica_cache *cache;
	struct ahead_shared *shared;
	struct ahead *ahead;
	struct budget *budget; /* NULL: no limit */
	/* Taken out of the budget, besides the weight of the present replica. A replica that was
	 * replaced lives on for the reads under way, without weight. */
	size_t own_weight;
	struct published *published; /* of the replica's datanode */
	struct token_grant grant;    /* by the tokens of that datanode */
	uint64_t visible_length;

	/* The name of the replica. Stays the same when the replica is found again. */
	char *pool_id;
	int64_t block_id;
	uint64_t genstamp;
};

/* True if the datanode of p has withdrawn that replica as of now. */
bool store_withdrawn(struct published *p, const char *pool_id, int64_t block_id, uint64_t genstamp);

/* Returns a reference to the replica of h that was found last. */
struct block_replica *handle_replica(struct block_handle *h);
/*
 * Finds the replica of h again by its name, after r could not be used. 0; -EAGAIN: no replica was
 * found that fits h, or the replica takes more memory than the budget of h has; -ENOMEM; -EIO.
 */
int handle_renew(struct block_handle *h, const struct block_replica *r);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read_private.h - the store and its handles, as the files of this folder share them.
 */
#ifndef VREAD_READ_PRIVATE_H
#define VREAD_READ_PRIVATE_H

#include <pthread.h>
#include <stdint.h>

#include "datanode/datanode.h"
#include "datanode/published.h"
#include "datanode/served.h"
#include "read/ahead.h"
#include "read/block.h"
#include "read/replica.h"
#include "read/replica_cache.h"
#include "read/store.h"

struct block_store {
	struct registry *registry;
	struct replica_cache *cache;
	struct ahead_shared ahead;
};

struct block_handle {
	pthread_mutex_t lock;          /* of the pointer replica: held to copy or change it */
	struct block_replica *replica; /* changes when its files did, and are found again */
	struct replica_cache *cache;
	struct ahead_shared *shared;
	struct ahead *ahead;
	struct published *published; /* of the datanode the replica belongs to */
	uint64_t visible_length;

	/* What names the replica, however often it is found again. */
	char *pool_id;
	int64_t block_id;
	uint64_t genstamp;
};

/* Whether the datanode has withdrawn that replica as of now. */
bool store_withdrawn(struct published *p, const char *pool_id, int64_t block_id, uint64_t genstamp);

/* A reference to the replica of h as it was found last. */
struct block_replica *handle_replica(struct block_handle *h);
/* Finds it again by its name, as it was not to be had as r: 0, or -EAGAIN if there is nothing
 * like it that serves h. */
int handle_renew(struct block_handle *h, const struct block_replica *r);

#endif

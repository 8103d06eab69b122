/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * internal.h - what store, handles and reads share; private to block/.
 */
#ifndef VREAD_BLOCK_INTERNAL_H
#define VREAD_BLOCK_INTERNAL_H

#include "block/block.h"
#include "block/published.h"
#include "block/replica.h"
#include "block/replica_cache.h"
#include "block/store.h"
#include "image/layout.h"
#include "image/source.h"

struct store_datanode {
	char *name;
	char *layout_path;
	struct image_source *source;
	struct image_layout *layout;
	struct fs **fs; /* one per layout->filesystems */
	struct published *published;
};

/* Fixed after the last block_store_add(): read without a lock. */
struct block_store {
	struct store_datanode *datanodes;
	unsigned num_datanodes;
	struct replica_cache *cache;
};

struct block_handle {
	struct block_replica *replica;
	struct published *published; /* of the datanode the replica belongs to */
	uint64_t visible_length;
};

/* Whether the datanode has withdrawn that replica as of now. */
bool store_withdrawn(struct published *p, const char *pool_id, int64_t block_id, uint64_t genstamp);
/* For the status of a datanode; new reference. */
json_t *store_published_status(struct published *p);

#endif

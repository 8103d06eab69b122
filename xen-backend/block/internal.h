/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * internal.h - what store, handles and reads share; private to block/.
 */
#ifndef VREAD_BLOCK_INTERNAL_H
#define VREAD_BLOCK_INTERNAL_H

#include "block/block.h"
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
};

/* Fixed after the last block_store_add(): read without a lock. */
struct block_store {
	struct store_datanode *datanodes;
	unsigned num_datanodes;
	struct replica_cache *cache;
};

struct block_handle {
	struct block_replica *replica;
	uint64_t visible_length;
};

#endif

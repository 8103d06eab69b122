/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * internal.h - what store, handles and reads share; private to block/.
 */
#ifndef VREAD_BLOCK_INTERNAL_H
#define VREAD_BLOCK_INTERNAL_H

#include <pthread.h>
#include <stdint.h>

#include "block/ahead.h"
#include "block/block.h"
#include "block/published.h"
#include "block/replica.h"
#include "block/replica_cache.h"
#include "block/served.h"
#include "block/store.h"
#include "disk/usage.h"

/* Stays where it is until the store ends; what it serves changes. */
struct store_datanode {
	struct block_store *store;
	char *name;
	char **images; /* as image_open() takes them */
	unsigned num_images;
	char *layout_path; /* NULL: by its data directories */
	char **data_dirs;
	unsigned num_data_dirs;
	struct published *published;

	pthread_mutex_t lock; /* of these two: held to copy or change them, no longer */
	struct served *served;
	struct image_usage *usage; /* of each image, as it was asked for last */

	/* refresh.c's */
	atomic_bool wanted; /* somebody missed something: look soon */
	bool doubted;       /* the last look found less than is served */
	uint64_t looked;    /* ms: when the last look ended ... */
	uint64_t took;      /* ... and how long it took */
};

/* The list is fixed after the last datanode was added: read without a lock. */
struct block_store {
	struct store_datanode **datanodes;
	unsigned num_datanodes;
	struct replica_cache *cache;
	struct ahead_shared ahead;
	struct refresher *refresher; /* NULL: not started */
	image_usage_fn *usage;       /* NULL: images are read as their files' kind calls for */
	void *usage_ctx;
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
/* For the status of a datanode; new reference. */
json_t *store_published_status(struct published *p);

/* A reference to what dn serves now; never NULL. */
struct served *store_datanode_served(struct store_datanode *dn);
/* Whether all that was configured is served, from where it is. */
bool store_datanode_is_complete(struct store_datanode *dn);
/* Replaces it, and forgets replicas found through the one before.  Takes over v. */
void store_datanode_serve(struct store_datanode *dn, struct served *v);

/* A reference to the replica of h as it was found last. */
struct block_replica *handle_replica(struct block_handle *h);
/* Finds it again by its name, as it was not to be had as r: 0, or -EAGAIN if there is nothing
 * like it that serves h. */
int handle_renew(struct block_handle *h, const struct block_replica *r);

#endif

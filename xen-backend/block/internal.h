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
#include "policy/tokens.h"

/* What it serves changes, how it is configured does not: another takes its place then. */
struct store_datanode {
	atomic_uint references; /* rosters', and those of what it serves or served */
	struct block_store *store;
	char *name;
	char **images; /* as image_open() takes them */
	unsigned num_images;
	char *layout_path; /* NULL: by its data directories */
	char **data_dirs;
	unsigned num_data_dirs;
	struct published *published; /* shared with those of the same name before and after it */
	struct tokens *tokens;       /* likewise */

	pthread_mutex_t lock; /* of these: held to copy or change them, no longer */
	bool removed;         /* nothing is served any more, nor will be */
	struct served *served;
	struct image_usage *usage; /* of each image, as it was asked for last */

	/* refresh.c's */
	atomic_bool wanted; /* somebody missed something: look soon */
	bool doubted;       /* the last look found less than is served */
	uint64_t looked;    /* ms: when the last look ended ... */
	uint64_t took;      /* ... and how long it took */
};

/* The datanodes of one moment; never changed once it is made. */
struct roster {
	atomic_uint references;
	unsigned count;
	struct store_datanode *datanode[];
};

struct block_store {
	pthread_mutex_t lock; /* of the pointer: held to copy or change it, no longer */
	struct roster *roster;
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

/* A reference to the datanodes of now. */
struct roster *store_roster(struct block_store *s);
void roster_put(struct roster *r);

/* In the place of old, unless that is NULL; the caller's reference.  NULL: out of memory. */
struct store_datanode *store_datanode_new(struct block_store *s, const char *name,
					  struct block_texts images,
					  const struct store_datanode *old);
/* False: out of memory; what *ret has then is counted. */
bool store_copy_texts(struct block_texts from, char ***ret, unsigned *ret_count);
struct store_datanode *store_datanode_get(struct store_datanode *dn);
void store_datanode_put(struct store_datanode *dn);
/* A reference to what dn serves now; NULL: it was removed from the store. */
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

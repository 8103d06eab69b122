/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inquiry.h - asks one datanode for a block. search.c makes the inquiries of a search, one for each
 * datanode that may have the block.
 *
 * An inquiry may outlive its search: a datanode that hangs answers when nobody waits any more. So
 * what the inquiries of a search share (struct inquiries) is freed with the last reference.
 */
#ifndef VREAD_READ_INQUIRY_H
#define VREAD_READ_INQUIRY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "datanode/errands.h"
#include "datanode/served.h"
#include "policy/tokens.h"
#include "read/block.h"
#include "read/replica_cache.h"

struct inquiries;

struct inquiry {
	struct errand errand;
	struct inquiries *all;
	struct served *served;    /* a reference: of the datanode that is asked */
	struct token_grant grant; /* of the caller's right to open the block there */
	/* The directories to look into, in the order of served->layout. */
	struct inquiry_place {
		const struct layout_data_dir *dir;
		const struct parser_fs *fs;
	} * places;
	unsigned num_places;

	/* Guarded by all->lock. */
	bool answered;
	int error;                     /* 0: found */
	struct block_replica *replica; /* a reference; NULL: not found, or taken */
};

struct inquiries {
	atomic_uint references; /* of the search, and of each inquiry that runs on another thread */
	struct replica_cache *cache;
	char *pool_id, *party; /* as in struct block_name */
	int64_t block_id;
	uint64_t genstamp;
	uint64_t visible_length; /* 0: the replica's length */
	uint64_t until;          /* ms: no further directory is looked into after this time */
	atomic_bool over;        /* nobody waits any more */

	pthread_mutex_t lock;
	pthread_cond_t answer;
	unsigned count;
	struct inquiry inquiry[];
};

/* Room for `max` inquiries about that block, none yet. NULL: out of memory. */
struct inquiries *inquiries_new(struct replica_cache *c, const struct block_name *name,
				unsigned max, uint64_t until);
void inquiries_put(struct inquiries *all); /* NULL is ignored */
/*
 * Adds an inquiry to the datanode of v about the directories that `name` may mean. Takes a
 * reference to v. False: there is no such directory, or no memory (*ret_error is 0 or -ENOMEM).
 */
bool inquiries_add(struct inquiries *all, struct served *v, const struct block_name *name,
		   int *ret_error);

/* Of two errors, the one that says more about the block. 0, and -ENODEV: none. */
int more_telling(int a, int b);

/* Carries out the inquiry on this thread. */
void inquiry_run(struct inquiry *q);
/* Has the inquiry carried out on a thread of its datanode. An error is the inquiry's answer. */
void inquiry_send(struct inquiry *q);

/* True if a request of that name may mean a replica in that directory. */
bool inquiry_concerns(const struct layout_data_dir *d, const struct block_name *name);

#endif

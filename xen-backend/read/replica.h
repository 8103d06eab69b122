/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replica.h - one replica of a block as it was found, shared by all handles of that replica. find.c
 * creates replicas. read/ reads and caches them.
 *
 * A replica stays valid while the basis of its search holds (struct parser_basis). On an unmounted
 * file system: nobody has mounted the file system since. On a mounted file system: no transaction
 * committed since has touched the directories, inodes and extents that the search used.
 *
 * A replica is immutable.
 */
#ifndef VREAD_READ_REPLICA_H
#define VREAD_READ_REPLICA_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "parser-protocol/blocks.h"
#include "datanode/served.h"

/*
 * Identifies a replica in the cache. dir is compared by address. The address belongs to that
 * directory as long as the directory's struct served exists.
 */
struct replica_key {
	const void *dir;
	const char *pool;
	int64_t id;
	uint64_t genstamp;
};

struct block_replica {
	atomic_uint references;
	struct served *served; /* a reference; keeps fs and key.dir valid */
	const struct parser_fs *fs;
	struct replica_key key; /* pool is the replica's own copy */
	struct block_files files;
	struct parser_basis *basis;
	bool direct; /* the bytes are read with O_DIRECT */

	/* Used by replica_cache.c, under its lock. */
	struct block_replica *chain;
	TAILQ_ENTRY(block_replica) use;
};

/*
 * Returns a replica with one reference. NULL: out of memory. Takes over *files and basis in any
 * case. fs and key->dir must belong to served. basis is what finding the files rested on.
 */
struct block_replica *replica_new(struct served *served, const struct parser_fs *fs,
				  const struct replica_key *key, struct block_files *files,
				  struct parser_basis *basis);
struct block_replica *replica_get(struct block_replica *r);
void replica_put(struct block_replica *r); /* NULL is ignored */

/* Bytes of memory that r takes. The weight of a replica never changes. */
size_t replica_weight(const struct block_replica *r);

/*
 * 0: r has not changed since it was found, and its image is still the one served. Else -EAGAIN or
 * -EIO.
 */
int replica_check(const struct block_replica *r);
/* True if the bytes of r cannot change while replica_check() returns 0. */
bool replica_is_still(const struct block_replica *r);
/* True if the bytes of r are read with O_DIRECT, without a page cache. */
bool replica_is_direct(const struct block_replica *r);

#endif

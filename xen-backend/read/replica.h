/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replica.h - one replica of a block as it was found, shared by its handles.
 *
 * It is the block it was found as while what finding it rested on holds
 * (struct parser_basis): nobody mounted the file system since, or, if it is mounted,
 * no transaction committed since touched the directories, inodes and extents it
 * was found by.
 *
 * Immutable but for the record of what has been verified: one bit per
 * REPLICA_UNIT bytes whose checksums were right.  A set bit lets a later read
 * skip the checksums; only where nobody can write are bits set.
 */
#ifndef VREAD_READ_REPLICA_H
#define VREAD_READ_REPLICA_H

#include <stdatomic.h>

#include "parser-protocol/blocks.h"
#include "datanode/served.h"

#define REPLICA_UNIT (64U << 10)
#define REPLICA_MAX_UNITS (1U << 24) /* of a block of 1 TiB; above, nothing is recorded */

/* Identifies a replica in the cache; dir is compared by address, which belongs to it as
 * long as what is served does. */
struct replica_key {
	const void *dir;
	const char *pool;
	int64_t id;
	uint64_t genstamp;
};

struct block_replica {
	atomic_uint references;
	struct served *served; /* keeps fs and key.dir */
	const struct parser_fs *fs;
	struct replica_key key; /* pool is the replica's own copy */
	struct block_files files;
	struct parser_basis *basis;
	bool direct; /* its bytes are read with O_DIRECT */
	uint64_t num_units;
	_Atomic(uint64_t) *verified;

	/* replica_cache.c's, under its lock */
	struct block_replica *newer, *older, *chain;
};

/* Takes over *files and basis in any case.  fs and key->dir are of served.  basis is what
 * finding them rested on.  One reference; NULL: out of memory. */
struct block_replica *replica_new(struct served *served, const struct parser_fs *fs,
				  const struct replica_key *key, struct block_files *files,
				  struct parser_basis *basis);
struct block_replica *replica_get(struct block_replica *r);
void replica_put(struct block_replica *r); /* NULL is ignored */

/* About how much memory it holds. */
size_t replica_weight(const struct block_replica *r);

/* Whether checksums of all of [offset, offset + length) were found right. */
bool replica_is_verified(const struct block_replica *r, uint64_t offset, uint64_t length);
/* Records the units that lie in [offset, offset + length) whole. */
void replica_set_verified(struct block_replica *r, uint64_t offset, uint64_t length);

/* Whether it still is what it was found as, and was ever since, and its image is still what is
 * served: 0, -EAGAIN, -EIO. */
int replica_check(const struct block_replica *r);
/* Whether its bytes do not change while that holds. */
bool replica_is_still(const struct block_replica *r);
/* Whether there is no page cache below it. */
bool replica_is_direct(const struct block_replica *r);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replica.h - one replica of a block as it was found, shared by its handles.
 *
 * It is the block it was found as while nobody wrote to the file system: that
 * was cleanly unmounted when the replica was looked for (stamp), and a stamp
 * taken later is the same.  Mounting for writing clears the clean state on
 * disk before anything else is written, and what mounting, checking and tuning
 * write to the superblock (times, counts) never comes back; a file-backed
 * image's own modification time must be the same besides.
 *
 * Immutable but for the record of what has been verified: one bit per
 * REPLICA_UNIT bytes whose checksums were right.  A set bit lets a later read
 * skip the checksums.
 */
#ifndef VREAD_BLOCK_REPLICA_H
#define VREAD_BLOCK_REPLICA_H

#include <stdatomic.h>

#include "block/locate.h"
#include "block/served.h"

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
	struct fs *fs;
	struct replica_key key; /* pool is the replica's own copy */
	struct block_files files;
	struct fs_stamp stamp;
	uint64_t num_units;
	_Atomic(uint64_t) *verified;

	/* replica_cache.c's, under its lock */
	struct block_replica *newer, *older, *chain;
};

/* Takes over *files in any case.  fs and key->dir are of served.  stamp was taken before
 * they were looked for.  One reference; NULL: out of memory. */
struct block_replica *replica_new(struct served *served, struct fs *fs,
				  const struct replica_key *key, struct block_files *files,
				  const struct fs_stamp *stamp);
struct block_replica *replica_get(struct block_replica *r);
void replica_put(struct block_replica *r); /* NULL is ignored */

/* About how much memory it holds. */
size_t replica_weight(const struct block_replica *r);

/* Whether checksums of all of [offset, offset + length) were found right. */
bool replica_is_verified(const struct block_replica *r, uint64_t offset, uint64_t length);
/* Records the units that lie in [offset, offset + length) whole. */
void replica_set_verified(struct block_replica *r, uint64_t offset, uint64_t length);

/* 0 if nobody wrote to the file system since the replica was looked for; -EAGAIN if
 * someone may have, -EIO. */
int replica_check(const struct block_replica *r);

#endif

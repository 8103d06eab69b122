/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verified_cache.h - bytes of blocks whose checksums were right, for images read with
 * O_DIRECT: there is no page cache below those.
 *
 * Shared by all clients, and no client's way around anything: who asks holds
 * a replica it was allowed to open, and is given bytes only if that replica is
 * still what it was found as, as of after they were picked.
 *
 * A finalized replica's bytes under one generation stamp do not change, which HDFS
 * promises and reads of moved replicas rest on, too.  So they are kept by data directory,
 * pool, block and stamp, for as long as that directory is served; what its
 * datanode says it is about to change is dropped.
 *
 * Bounded in bytes; what was used longest ago goes first.  Threads: any.  A NULL cache keeps
 * nothing.
 */
#ifndef VREAD_READ_VERIFIED_CACHE_H
#define VREAD_READ_VERIFIED_CACHE_H

#include <jansson.h>

#include "read/replica.h"

#define VERIFIED_UNIT REPLICA_UNIT
#define VERIFIED_MAX_UNITS 128U /* given out at a time */

struct verified_cache;

/* NULL: out of memory, or most is less than a unit. */
struct verified_cache *verified_cache_new(size_t most);
void verified_cache_free(struct verified_cache *c);
size_t verified_cache_most(const struct verified_cache *c); /* 0 for NULL */

/* Keeps those of r's units that lie in [offset, offset + length) whole; data are that range's
 * bytes. */
void verified_cache_add(struct verified_cache *c, struct block_replica *r, uint64_t offset,
			const uint8_t *data, size_t length);

/* The same of memory that it takes over, to be given back with free(): room bytes, of which the
 * range's begin at skip. */
void verified_cache_give(struct verified_cache *c, struct block_replica *r, uint64_t offset,
			 uint8_t *memory, size_t room, size_t skip, size_t length);

/* Writes [offset, offset + length) to dst, which a guest may see: 1; 0: not all of it is there;
 * or as replica_check().  dst is untouched but for 1. */
int verified_cache_read(struct verified_cache *c, const struct block_replica *r, uint64_t offset,
			uint8_t *dst, size_t length);
/* Whether all of it is there. */
bool verified_cache_has(struct verified_cache *c, const struct block_replica *r, uint64_t offset,
			size_t length);

/* Of a datanode's snapshot, or all replicas of one block. */
void verified_cache_forget(struct verified_cache *c, const struct served *v);
void verified_cache_forget_block(struct verified_cache *c, const char *pool, int64_t id);

/* {"size", "used": bytes, "hits", "misses": reads}; new reference. */
json_t *verified_cache_status(struct verified_cache *c);

#endif

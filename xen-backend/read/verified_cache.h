/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verified_cache.h - a cache of verified bytes of blocks, for images read with O_DIRECT. read.c and
 * ahead.c use the cache. store.c owns it.
 *
 * Images read with O_DIRECT have no page cache below them, so this cache takes its place.
 *
 * All clients share the cache, and no client can use it to get around a policy. The caller holds a
 * replica that it was allowed to open. The caller gets bytes only if that replica is still
 * unchanged, checked after the bytes were picked.
 *
 * HDFS promises that the bytes of a finalized replica under one generation stamp do not change.
 * Reads of moved replicas rest on the same promise. So bytes are kept by data directory, pool,
 * block and generation stamp, as long as that directory is served. The promise ends when an upgrade
 * of HDFS is rolled back: the NameNode then gives the names of blocks that were written since to
 * new blocks. So bytes are kept by inode and generation of the data file, too. If a datanode
 * announces that it is about to change a block, the bytes of that block are dropped.
 *
 * The cache is bounded in bytes, and the bound may change at any time. s3fifo.h says which bytes
 * are dropped first: bytes that were read once do not push out bytes that are read again and again.
 * Memory of dropped bytes goes back to the kernel (frames.h).
 *
 * Threads: any. A NULL cache keeps nothing.
 */
#ifndef VREAD_READ_VERIFIED_CACHE_H
#define VREAD_READ_VERIFIED_CACHE_H

#include <jansson.h>

#include "read/replica.h"

#define VERIFIED_UNIT (64U << 10)
#define VERIFIED_MAX_UNITS 128U /* most units that one call returns */

struct piece;
struct verified_cache;

/* most: bytes the cache may hold. A cache of less than a unit keeps nothing. NULL: no memory. */
struct verified_cache *verified_cache_new(size_t most);
void verified_cache_free(struct verified_cache *c);
/* Changes the bound. The bytes beyond it are dropped before the call returns. */
void verified_cache_resize(struct verified_cache *c, size_t most);
size_t verified_cache_used(const struct verified_cache *c); /* bytes; 0 for NULL */

/*
 * Keeps a copy of the units of r that lie completely in p, which was verified. read_to: the
 * end of what was read of them, in the block. A read that goes on from there is no second use.
 */
void verified_cache_add(struct verified_cache *c, struct block_replica *r, const struct piece *p,
			uint64_t read_to);

/*
 * Copies [offset, offset + length) to dst, which may be memory that a guest sees. 1: copied; 0: not
 * all of the range is cached; or an error as replica_check(). dst is unchanged unless the result is
 * 1. *ret_crc32c: as for block_read().
 */
int verified_cache_read(struct verified_cache *c, const struct block_replica *r, uint64_t offset,
			uint8_t *dst, size_t length, uint32_t *ret_crc32c);
/* True if all of [offset, offset + length) is cached. This is no use of the bytes. */
bool verified_cache_has(struct verified_cache *c, const struct block_replica *r, uint64_t offset,
			size_t length);

/* Drop the bytes of a datanode's snapshot, or of all replicas of one block. */
void verified_cache_forget(struct verified_cache *c, const struct served *v);
void verified_cache_forget_block(struct verified_cache *c, const char *pool, int64_t id);

/*
 * New reference:
 *   size, used    bytes: the bound, and what the cache takes now
 *   hits, misses  reads
 *   filled        bytes that were read from disks and put into the cache
 *   filled_again  of these, bytes that a cache of twice the size would have had
 * Of a cache that keeps nothing: only size, 0.
 */
json_t *verified_cache_status(struct verified_cache *c);

#endif

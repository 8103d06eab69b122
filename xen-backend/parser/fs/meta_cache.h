/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * meta_cache.h - an LRU cache of metadata blocks of a file system; private to fs/.  journal.c
 * (ext4) and xfs_log.c (XFS) call it.
 *
 * The cache holds the content of blocks in the newest committed state that is known.  The caller
 * drops a block as soon as a transaction names the block, and adds only blocks that were read in
 * one committed state.  The caller also does the locking.  When the cache is full, the least
 * recently used block goes.
 */
#ifndef VREAD_FS_META_CACHE_H
#define VREAD_FS_META_CACHE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define META_CACHE_BYTES (32U << 20)
#define META_CACHE_BUCKETS 8192U

/* The cache and views share a block.  The data does not change once it has been read. */
struct meta_block {
	atomic_uint references;
	uint64_t block; /* number; for XFS a key (xfs_overlay.h) */

	/* private to the cache */
	struct meta_block *chain;
	TAILQ_ENTRY(meta_block) use;

	uint8_t data[];
};

/* A block with room for size bytes and one reference.  NULL: out of memory. */
struct meta_block *meta_block_new(uint64_t block, size_t size);
struct meta_block *meta_block_get(struct meta_block *m);
void meta_block_put(struct meta_block *m); /* NULL is ignored */

struct meta_cache {
	struct meta_block *bucket[META_CACHE_BUCKETS];
	TAILQ_HEAD(, meta_block) by_use; /* the least recently used block first */
	size_t count;
};

void meta_cache_init(struct meta_cache *c);
/* Returns a new reference, or NULL if the block is not in the cache. */
struct meta_block *meta_cache_find(struct meta_cache *c, uint64_t block);
/* Adds m, unless the cache has that block, and takes a reference of its own.  block_size is the
 * same in all calls; the cache keeps at most META_CACHE_BYTES / block_size blocks. */
void meta_cache_add(struct meta_cache *c, struct meta_block *m, size_t block_size);
void meta_cache_drop(struct meta_cache *c, uint64_t block);
void meta_cache_clear(struct meta_cache *c); /* drops all blocks */

#endif

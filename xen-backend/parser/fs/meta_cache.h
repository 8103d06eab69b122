/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * meta_cache.h - blocks of a file system's metadata, kept; private to fs/.
 *
 * Holds what the newest committed state known says is in a block.  Its user
 * (journal.c) drops a block as soon as a transaction names it, adds only what
 * was read in one committed state, and locks.  The least recently used go first.
 */
#ifndef VREAD_FS_META_CACHE_H
#define VREAD_FS_META_CACHE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define META_CACHE_BYTES (32U << 20)
#define META_CACHE_BUCKETS 8192U

/* Immutable once read; shared by the cache and views. */
struct meta_block {
	atomic_uint references;
	uint64_t block;
	struct meta_block *chain, *newer, *older; /* the cache's */
	uint8_t data[];
};

struct meta_block *meta_block_new(uint64_t block, size_t size); /* one reference; NULL */
struct meta_block *meta_block_get(struct meta_block *m);
void meta_block_put(struct meta_block *m); /* NULL is ignored */

struct meta_cache {
	struct meta_block *bucket[META_CACHE_BUCKETS];
	struct meta_block *newest, *oldest;
	size_t count;
};

/* A reference, or NULL. */
struct meta_block *meta_cache_find(struct meta_cache *c, uint64_t block);
/* block_size: of all in c. */
void meta_cache_add(struct meta_cache *c, struct meta_block *m, size_t block_size);
void meta_cache_drop(struct meta_cache *c, uint64_t block);
void meta_cache_clear(struct meta_cache *c);

#endif

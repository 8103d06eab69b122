/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - the store: the blocks of all datanodes served on this host, and what is cached of
 * blocks that were read. control/ creates and configures the store. block.h opens and reads blocks
 * in it.
 *
 * The registry (datanode/registry.h) knows which datanodes there are.
 */
#ifndef VREAD_READ_STORE_H
#define VREAD_READ_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct block_store;
struct registry;

struct block_store *block_store_new(void); /* NULL: out of memory */
void block_store_free(struct block_store *s);

/* The datanodes of the store (datanode/registry.h). Valid as long as the store exists. */
struct registry *block_store_registry(struct block_store *s);

/* Sets how many bytes are read ahead for one client; 0 unless set. May be called at any time. */
void block_store_set_read_ahead(struct block_store *s, size_t read_ahead);
/*
 * Sets how many bytes of memory the handles of one reader (service.h) may take; 0, and unless set:
 * any number. Counts for readers that are made from then on. May be called at any time.
 */
void block_store_set_handle_memory(struct block_store *s, size_t bytes);
size_t block_store_handle_memory(struct block_store *s);

#define CACHE_AUTO SIZE_MAX /* as much as the host can spare (cache_size.h) */

/*
 * Sets how many verified bytes are cached of images read with O_DIRECT, or CACHE_AUTO; 0 unless
 * set. The bytes beyond that are dropped before the call returns. May be called at any time.
 * Threads: as block_store_fit_cache().
 */
void block_store_set_cache(struct block_store *s, size_t cache);
/*
 * With CACHE_AUTO: sets the size of the cache by the memory that the host has now. The caller does
 * this once a second. Without CACHE_AUTO: no effect. Threads: the one that asks for the status.
 */
void block_store_fit_cache(struct block_store *s);

/*
 * How disks are read; new reference:
 *   read_ahead     bytes for one client
 *   disks          disks that are read ahead now (disk/shares.h)
 *   cache          of images read with O_DIRECT (verified_cache.h), and limited_by:
 *                  "configuration", or as cache_size_now()
 *   io_uring       "ok", or why io_uring is not available
 */
json_t *block_store_reading_status(struct block_store *s);

#endif

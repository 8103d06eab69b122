/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - the blocks of all datanodes served here, and what is kept of those that were read.
 *
 * Blocks are opened and read by block.h.  Which datanodes there are is the registry's.
 */
#ifndef VREAD_READ_STORE_H
#define VREAD_READ_STORE_H

#include <stddef.h>

#include <jansson.h>

struct block_store;
struct registry;

struct block_store *block_store_new(void); /* NULL: out of memory */
void block_store_free(struct block_store *s);

/* Its datanodes (datanode/registry.h), as long as the store is there. */
struct registry *block_store_registry(struct block_store *s);

/* How many bytes are read ahead for one client; 0 unless set.  Any time. */
void block_store_set_read_ahead(struct block_store *s, size_t read_ahead);
/* Before the first datanode is added: how many verified bytes are kept of images read with
 * O_DIRECT; 0 unless set.  0 or -ENOMEM. */
int block_store_set_cache(struct block_store *s, size_t cache);

/* How disks are read; new reference:
 *   read_ahead     bytes for one client
 *   disks          that are read ahead now (disk/shares.h)
 *   cache          of images read with O_DIRECT (verified_cache.h)
 *   io_uring       "ok", or why it is not to be had */
json_t *block_store_reading_status(struct block_store *s);

#endif

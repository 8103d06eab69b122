/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * open_blocks.h - the blocks a peer has open here, by the number it was given.
 *
 * A number is never used again soon, so one that was closed names nothing.  Whoever works on a
 * block holds a reference: it is closed when the last one lets go.
 *
 * Threads: any, but for new and free.
 */
#ifndef VREAD_PEER_OPEN_BLOCKS_H
#define VREAD_PEER_OPEN_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define OPEN_BLOCKS_MAX 4096U

struct block_handle;
struct open_blocks;

struct open_blocks *open_blocks_new(void);    /* NULL: out of memory */
void open_blocks_free(struct open_blocks *b); /* closes all */

/* 0, -EMFILE or -ENOMEM: then the block is still the caller's. */
int open_blocks_add(struct open_blocks *b, struct block_handle *block, uint32_t *ret_number);
/* NULL: no such block.  Each get needs one put. */
struct block_handle *open_blocks_get(struct open_blocks *b, uint32_t number);
void open_blocks_put(struct open_blocks *b, uint32_t number);
/* False: no such block. */
bool open_blocks_close(struct open_blocks *b, uint32_t number);
unsigned open_blocks_count(struct open_blocks *b);

#endif

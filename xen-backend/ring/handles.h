/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handles.h - the open blocks of one device, by number: those read here, and those
 * other hosts read for it.
 *
 * A number is a slot and the count of times the slot was used, so that a
 * number of a closed block is refused instead of naming its successor.
 * 0 is never a handle.  Look-ups hold a reference: a block closed on one queue
 * while another reads it lives until that read has ended.
 * Threads: any.
 */
#ifndef VREAD_HANDLES_H
#define VREAD_HANDLES_H

#include <stdint.h>

#define HANDLES_MAX 4096U

struct block_handle;
struct handles;
struct peer_handle;

/* One of the two is set; neither: none. */
struct open_block {
	struct block_handle *here;
	struct peer_handle *there;
};

struct handles *handles_new(void);
/* Closes what is still open.  No reference may be out. */
void handles_free(struct handles *t);

/* Takes over b and gives it a number: 0, or -EMFILE (b stays the caller's). */
int handles_add(struct handles *t, struct open_block b, uint32_t *ret_number);
/* -EMFILE when an add would fail: asked before work is put into an open. */
int handles_room(struct handles *t);
/* None: no such handle.  Each get of one needs one put. */
struct open_block handles_get(struct handles *t, uint32_t number);
void handles_put(struct handles *t, uint32_t number);
/* The number is gone at once, the block when its last reference is put.  0 or -EBADF. */
int handles_remove(struct handles *t, uint32_t number);
unsigned handles_count(struct handles *t);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handles.h - open blocks by number, of a device or of a peer's connection.
 *
 * A number is a slot and the count of times the slot was used.  So the number of a closed block is
 * refused, and does not name the slot's next block.  0 is never a handle.  Each get holds a
 * reference: a block that is closed on one thread while another reads it lives until that read has
 * ended.
 *
 * Threads: any, but handles_free() is the last call.
 */
#ifndef VREAD_READ_HANDLES_H
#define VREAD_READ_HANDLES_H

#include <stdint.h>

#define HANDLES_MAX 4096U

struct handles;

/* What a number stands for. */
struct handle {
	void *object;  /* NULL: there is no such number */
	unsigned kind; /* of the object, as whoever added it says */
};

typedef void handles_close_fn(struct handle h);

/* close: for each that was added, when its last reference is put.  NULL: out of memory. */
struct handles *handles_new(handles_close_fn *close);
/* Closes what is still open.  No reference may be out.  NULL is ignored. */
void handles_free(struct handles *t);

/* Takes over h.object, which is not NULL, and gives it a number: 0, or -EMFILE (the object stays
 * the caller's). */
int handles_add(struct handles *t, struct handle h, uint32_t *ret_number);
/* -EMFILE when an add would fail: asked before work is put into an open. */
int handles_room(struct handles *t);
/* Each get of an object needs one put. */
struct handle handles_get(struct handles *t, uint32_t number);
void handles_put(struct handles *t, uint32_t number);
/* The number is gone at once, the object when its last reference is put.  0 or -EBADF. */
int handles_remove(struct handles *t, uint32_t number);
unsigned handles_count(struct handles *t);

#endif

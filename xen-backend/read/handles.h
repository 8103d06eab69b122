/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handles.h - a table of open blocks by number. Each device (ring/) and each connection of a peer
 * (peer/answering/) has a table. The connections of a peer share a budget.
 *
 * A number is made of a slot and the count of times the slot was used. So the number of a closed
 * block is refused, and does not name the next block in that slot. 0 is never a handle. Each
 * handles_get() holds a reference: if one thread closes a block while another thread reads it, the
 * block lives until that read has ended.
 *
 * Threads: any, but handles_free() is the last call.
 */
#ifndef VREAD_READ_HANDLES_H
#define VREAD_READ_HANDLES_H

#include <stddef.h>
#include <stdint.h>

#define HANDLES_MAX 4096U

struct budget;

struct handles;

/* The object that a number stands for. */
struct handle {
	void *object;  /* NULL: no such number */
	unsigned kind; /* of the object; the caller of handles_add() defines it */
};

typedef void handles_close_fn(struct handle h);

/*
 * close is called for each object that was added, when its last reference is put. budget: for the
 * memory of the objects (budget.h); it must outlive the table. NULL: out of memory.
 */
struct handles *handles_new(handles_close_fn *close, struct budget *budget);
/*
 * Closes the blocks that are still open. No reference from handles_get() may be held. NULL is
 * ignored.
 */
void handles_free(struct handles *t);

/*
 * Takes over h.object, which must not be NULL, and gives it a number. 0, or -EMFILE: the table is
 * full, and the object stays the caller's.
 */
int handles_add(struct handles *t, struct handle h, uint32_t *ret_number);
/* 0, or -EMFILE if handles_add() would fail now. Call before the work of opening a block. */
int handles_room(struct handles *t);
/*
 * Returns the object of a number with a reference. Each handles_get() that returned an object needs
 * one handles_put().
 */
struct handle handles_get(struct handles *t, uint32_t number);
void handles_put(struct handles *t, uint32_t number);
/*
 * Makes the number invalid at once. The object is closed when its last reference is put. 0 or
 * -EBADF.
 */
int handles_remove(struct handles *t, uint32_t number);
unsigned handles_count(struct handles *t);
/*
 * The budget of the objects. Whoever makes an object takes the memory of the object out of the
 * budget, and close gives it back.
 */
struct budget *handles_budget(struct handles *t);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ahead_direct.h - read-ahead of parts of a block from an image that is read with O_DIRECT. ahead.c
 * calls these functions.
 *
 * The parts, called steps, are read into private buffers, unverified. A read that reaches a step
 * takes the bytes out of these buffers instead of the disk, and verifies them at that moment, as
 * any read does. Several reads may do so at a time.
 *
 * Threads: one thread at a time, which holds the lock. ahead_direct_get() releases the lock while
 * it waits for a disk. Bytes that it found may be looked at without the lock.
 */
#ifndef VREAD_READ_AHEAD_DIRECT_H
#define VREAD_READ_AHEAD_DIRECT_H

#include <pthread.h>

#include "read/piece.h"
#include "read/replica.h"

struct ahead_direct;
struct ahead_step;
struct budget;

/*
 * steps: how many steps can be kept at a time. budget: for all memory of the result; NULL: no
 * limit. lock: the caller holds it in all calls. NULL: out of memory, the budget has no room, or no
 * source queue (io_uring) is available.
 */
struct ahead_direct *ahead_direct_new(unsigned steps, struct budget *budget, pthread_mutex_t *lock);
/* Waits for the reads under way. Nobody may hold a step. NULL is ignored. */
void ahead_direct_free(struct ahead_direct *d);

/*
 * Starts to read [from, to) of r. from must be a multiple of VERIFIED_UNIT. False: not possible
 * now, or not possible for this range.
 */
bool ahead_direct_ask(struct ahead_direct *d, struct block_replica *r, uint64_t from, uint64_t to);
/*
 * Finds the bytes of r from `from` on: waits for their step, and sets p to its units up to the one
 * that `to` ends in, as far as they belong to the step. Returns the step, which the caller holds
 * until ahead_direct_put(). NULL: the bytes were not read ahead, or not without an error.
 */
struct ahead_step *ahead_direct_get(struct ahead_direct *d, const struct block_replica *r,
				    uint64_t from, uint64_t to, struct piece *p);
/* p: what ahead_direct_get() set. */
void ahead_direct_put(struct ahead_direct *d, struct ahead_step *s, const struct piece *p);
/*
 * A reader that goes forward begins to read at from. Drops the steps before from of which all bytes
 * were taken, and those that end slack bytes before from.
 */
void ahead_direct_reach(struct ahead_direct *d, uint64_t from, uint64_t slack);
/* Drops all steps. */
void ahead_direct_drop(struct ahead_direct *d);

#endif

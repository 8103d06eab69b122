/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ahead_direct.h - read-ahead of parts of a block from an image that is read with O_DIRECT. ahead.c
 * calls these functions.
 *
 * The parts are read into private buffers, unverified. When the reader reaches a part,
 * ahead_direct_take() waits for the part and verifies it at that moment, as any read does. Correct
 * bytes go into the verified cache, where the reader finds them.
 *
 * Threads: one thread at a time.
 */
#ifndef VREAD_READ_AHEAD_DIRECT_H
#define VREAD_READ_AHEAD_DIRECT_H

#include "read/replica.h"
#include "read/verified_cache.h"

struct ahead_direct;
struct budget;

/*
 * steps: how many parts can be kept at a time. budget: for all memory of the result; NULL: no
 * limit. NULL: out of memory, the budget has no room, or no source queue (io_uring) is available.
 */
struct ahead_direct *ahead_direct_new(unsigned steps, struct budget *budget);
/* Waits for the reads under way. NULL is ignored. */
void ahead_direct_free(struct ahead_direct *d);

/*
 * Starts to read [from, to) of r. from must be a multiple of VERIFIED_UNIT. False: not possible
 * now, or not possible for this range.
 */
bool ahead_direct_ask(struct ahead_direct *d, struct block_replica *r, uint64_t from, uint64_t to);
/*
 * Waits for each part that begins before to, verifies the part, puts correct bytes into cache, and
 * frees the part. UINT64_MAX: all parts.
 */
void ahead_direct_take(struct ahead_direct *d, uint64_t to, struct verified_cache *cache);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ahead_direct.h - parts of a block that are on their way from an image read with
 * O_DIRECT, before a reader needs them.
 *
 * They come into buffers of their own, unverified.  When the reader gets to one it is
 * waited for, verified as any read is, as of then, and what is right goes into
 * the verified cache, where the reader finds it.
 *
 * Threads: one at a time.
 */
#ifndef VREAD_READ_AHEAD_DIRECT_H
#define VREAD_READ_AHEAD_DIRECT_H

#include "read/replica.h"
#include "read/verified_cache.h"

struct ahead_direct;

/* For up to steps parts at a time; NULL: not to be had here. */
struct ahead_direct *ahead_direct_new(unsigned steps);
void ahead_direct_free(struct ahead_direct *d); /* waits for what is under way; NULL is ignored */

/* Asks for [from, to) of r, from a multiple of a unit.  False: not now, or not so. */
bool ahead_direct_ask(struct ahead_direct *d, struct block_replica *r, uint64_t from, uint64_t to);
/* Takes in all that begins before to; with UINT64_MAX everything. */
void ahead_direct_take(struct ahead_direct *d, uint64_t to, struct verified_cache *cache);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ahead.h - what of a block is fetched before its reader asks for it.
 *
 * A handle that is read from front to back and has to wait for the disk is read ahead:
 * its next steps, data and checksums, are asked for where they lie, as far as the
 * client's share of the disk goes (disk/shares.h).  Of a buffered image they
 * come into the page cache; nobody waits for them but the read that needs them.
 * Of an image read with O_DIRECT they are read into buffers of ours, verified by
 * the read that needs them, and kept in the verified cache (ahead_direct.h); without a
 * cache nothing of such an image is read ahead.
 *
 * Nothing here decides what is right: reads verify what they find, however it got there.
 *
 * Where all is in memory nobody waits, nothing is asked for, and this costs a lock per read.
 */
#ifndef VREAD_READ_AHEAD_H
#define VREAD_READ_AHEAD_H

#include <pthread.h>

#include "read/replica.h"
#include "read/verified_cache.h"
#include "disk/shares.h"

struct ahead;

/* What all handles of a store share. */
struct ahead_shared {
	struct shares *shares;
	struct verified_cache *cache; /* NULL: none */
	_Atomic uint64_t window;      /* bytes for one client; 0: nothing is read ahead */
};

/* For one handle of client, which is only compared; shared outlives it.  NULL: out of memory. */
struct ahead *ahead_new(struct ahead_shared *shared, const void *client);
void ahead_free(struct ahead *a); /* while none of its reads is under way; NULL is ignored */

/* Before [from, to) of r is read, for a reader that may see up to end. */
void ahead_begin(struct ahead *a, struct block_replica *r, uint64_t from, uint64_t to,
		 uint64_t end);
/* After it was; waited: the disk was waited for. */
void ahead_end(struct ahead *a, bool waited);

#endif

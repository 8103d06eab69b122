/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ahead.h - read-ahead for handles. open.c creates the read-ahead state of a handle. read.c calls
 * ahead_begin() and ahead_end() around each read.
 *
 * Read-ahead applies to a handle that is read from front to back and has to wait for the disk. The
 * next steps of the block, data and checksums, are requested at their places on the disk, up to the
 * client's share of the disk (disk/shares.h).
 *
 * Buffered image: the bytes go into the page cache. Only the read that needs the bytes waits for
 * them.
 *
 * Image read with O_DIRECT: the bytes go into private buffers (ahead_direct.h). The read that needs
 * the bytes verifies them. The verified cache keeps them. Without a verified cache no such image is
 * read ahead.
 *
 * Read-ahead decides nothing about correctness: each read verifies the bytes it finds, however the
 * bytes got there.
 *
 * If everything is in memory, no read waits and nothing is requested. The cost is then one lock per
 * read.
 */
#ifndef VREAD_READ_AHEAD_H
#define VREAD_READ_AHEAD_H

#include <pthread.h>

#include "read/replica.h"
#include "read/verified_cache.h"
#include "disk/shares.h"

struct ahead;
struct budget;

/* Shared by all handles of a store. */
struct ahead_shared {
	struct shares *shares;
	struct verified_cache *cache; /* NULL: none */
	_Atomic uint64_t window;      /* bytes for one client; 0: nothing is read ahead */
};

/*
 * Creates the read-ahead state of one handle of client. client is only compared. shared and budget
 * must outlive the result. Buffers for bytes that are read ahead are taken out of the budget
 * (budget.h), and if the budget has no room for them, nothing is read ahead. The caller has taken
 * ahead_weight(). NULL: out of memory.
 */
struct ahead *ahead_new(struct ahead_shared *shared, const void *client, struct budget *budget);
/* Bytes of memory that ahead_new() allocates. */
size_t ahead_weight(void);
/* No read of a may be under way. NULL is ignored. */
void ahead_free(struct ahead *a);

/* Call before [from, to) of r is read. end: the reader may read up to end. */
void ahead_begin(struct ahead *a, struct block_replica *r, uint64_t from, uint64_t to,
		 uint64_t end);
/* Call after the read. waited: the read had to wait for the disk. */
void ahead_end(struct ahead *a, bool waited);

#endif

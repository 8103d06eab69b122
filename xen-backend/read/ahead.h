/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ahead.h - read-ahead for handles. open.c creates the read-ahead state of a handle. read.c calls
 * ahead_begin() and ahead_end() around each read, and ahead_get() where it would read the disk.
 *
 * Read-ahead applies to a handle that is read from front to back and has to wait for the disk. The
 * next steps of the block, data and checksums, are requested at their places on the disk, up to the
 * client's share of the disk (disk/shares.h).
 *
 * Buffered image: the bytes go into the page cache. Only the read that needs the bytes waits for
 * them.
 *
 * Image read with O_DIRECT: the bytes go into private buffers (ahead_direct.h). The read that needs
 * the bytes takes them out of these buffers, by ahead_get().
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
struct ahead_step;
struct budget;
struct piece;

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

/*
 * Finds bytes of r from `from` on that were read ahead from an image read with O_DIRECT: sets p to
 * them, unverified, as far as `to` or the end of its unit. May wait for the disk. Returns what the
 * caller gives to ahead_put() when it has used p. NULL: there are none; always, if a is NULL.
 */
struct ahead_step *ahead_get(struct ahead *a, const struct block_replica *r, uint64_t from,
			     uint64_t to, struct piece *p);
void ahead_put(struct ahead *a, struct ahead_step *s, const struct piece *p);

#endif

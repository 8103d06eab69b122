/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * s3fifo.h - S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023):
 * says which entry of a cache goes when room is needed. verified_cache.c calls it.
 *
 *   new ---> small ---- used twice ----> main --. used since: again, one use less
 *              |                          |  ^--'
 *              | not                      | not
 *              v                          v
 *            gone, the key is kept for a while (ghosts.h) ---> back: to main
 *
 * What is read once goes through the small queue, and never moves what is in the main queue. So a
 * scan of any length leaves the entries that are used again and again in the cache.
 *
 * Two differences from the paper:
 * - Keys of entries that left the main queue are kept, too, and the keys stand for as much memory
 *   as the whole cache. So they also tell what a cache of twice the size would have had.
 * - One eviction moves a bounded number of entries. Then the next one goes, however often it was
 *   used.
 *
 * Entries belong to the caller. Threads: the caller locks.
 */
#ifndef VREAD_READ_S3FIFO_H
#define VREAD_READ_S3FIFO_H

#include "read/ghosts.h"

#define S3FIFO_MOST_MOVES 256U /* entries that one eviction moves */

struct s3fifo_entry {
	uint64_t key;    /* a hash, set by the caller */
	uint32_t weight; /* memory of the entry, set by the caller */
	/* private to s3fifo.c */
	bool main;
	uint8_t uses;
	TAILQ_ENTRY(s3fifo_entry) order;
};

TAILQ_HEAD(s3fifo_list, s3fifo_entry);

struct s3fifo {
	struct s3fifo_list small, main; /* the oldest first */
	size_t small_weight, main_weight;
	size_t small_most; /* the share of the small queue when the cache is full */
	struct ghosts ghosts;
};

bool s3fifo_init(struct s3fifo *q); /* false: out of memory */
/* No entry may be in a queue. */
void s3fifo_clear(struct s3fifo *q);
/* Sets the share of the small queue, and the memory that kept keys stand for; 0 at first. */
void s3fifo_set(struct s3fifo *q, size_t small_most, size_t ghosts_most);

/* True if the entry was in the cache a while ago: a cache of twice the size would have it. */
bool s3fifo_insert(struct s3fifo *q, struct s3fifo_entry *e);
void s3fifo_use(struct s3fifo_entry *e);
/* Takes the entry that is to go out of its queue, and returns it. NULL: there are no entries. */
struct s3fifo_entry *s3fifo_evict(struct s3fifo *q);
/* Takes an entry out of its queue. Its key is not kept. */
void s3fifo_remove(struct s3fifo *q, struct s3fifo_entry *e);

#endif

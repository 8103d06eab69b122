/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ghosts.h - the keys of entries that left a cache, without their bytes. s3fifo.c adds the key of
 * each entry that it evicts, and asks whether a new entry was in the cache a while ago.
 *
 * Each key has a weight: the memory that its entry took. The weights of all keys are bounded. The
 * oldest keys are forgotten first. So the keys are those of a second cache that would have begun
 * where the first one ended.
 *
 * Two keys may be equal by chance. The answer about the second key is then wrong, and costs a
 * better or worse choice of what is kept, nothing else.
 *
 * Threads: the caller locks.
 */
#ifndef VREAD_READ_GHOSTS_H
#define VREAD_READ_GHOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct ghost;
TAILQ_HEAD(ghost_list, ghost);

struct ghosts {
	struct ghost **bucket;
	struct ghost_list by_age; /* the oldest first */
	size_t weight, most;      /* of all keys */
	size_t count;
};

bool ghosts_init(struct ghosts *g); /* false: out of memory */
void ghosts_clear(struct ghosts *g);
/* Sets the bound of the weights, 0 at first. The oldest keys are forgotten until the rest fits. */
void ghosts_set_most(struct ghosts *g, size_t most);

/* Without memory for it the key is not kept. */
void ghosts_add(struct ghosts *g, uint64_t key, uint32_t weight);
/* True if the key was there. The key is forgotten. */
bool ghosts_take(struct ghosts *g, uint64_t key);
/* Bytes of memory that the keys take. */
size_t ghosts_memory(const struct ghosts *g);

#endif

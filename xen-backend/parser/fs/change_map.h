/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * change_map.h - a hash table from a block number to the newest committed transaction that holds
 * a copy of the block or revoked the block; private to fs/.  journal.c calls it.
 */
#ifndef VREAD_FS_CHANGE_MAP_H
#define VREAD_FS_CHANGE_MAP_H

#include "parser/fs/jbd2.h"

struct change {
	uint64_t block;
	uint32_t id;  /* the transaction */
	uint32_t pos; /* block of the log that holds the copy; 0: revoked, no copy counts */
	uint32_t sum; /* sum and escaped: as in struct jbd2_tag */
	bool escaped;
	bool used; /* false: the slot is free */
};

struct change_map {
	struct change *slots;
	size_t capacity, count;
};

/* NULL: no change of block is known.  The result is valid until the map changes. */
const struct change *change_map_find(const struct change_map *m, uint64_t block);
/* Adds *c, or replaces the change of c->block with *c.  false: out of memory, nothing changed. */
bool change_map_put(struct change_map *m, const struct change *c);
/* Removes changes by transactions older than id.  false: out of memory, nothing changed. */
bool change_map_forget(struct change_map *m, uint32_t id);
void change_map_clear(struct change_map *m);

#endif

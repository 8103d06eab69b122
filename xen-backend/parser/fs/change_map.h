/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * change_map.h - which blocks a journal's transactions changed last; private to fs/.
 *
 * A hash table from a block's number to the newest committed transaction that
 * holds a copy of it or revoked it.
 */
#ifndef VREAD_FS_CHANGE_MAP_H
#define VREAD_FS_CHANGE_MAP_H

#include "parser/fs/jbd2.h"

struct change {
	uint64_t block;
	uint32_t id;  /* the transaction */
	uint32_t pos; /* of the copy in the log; 0: revoked, what is at home counts */
	uint32_t sum;
	bool escaped;
	bool used; /* the slot */
};

struct change_map {
	struct change *slots;
	size_t capacity, count;
};

const struct change *change_map_find(const struct change_map *m, uint64_t block);
/* Replaces what is known of c->block.  false: out of memory, nothing changed. */
bool change_map_put(struct change_map *m, const struct change *c);
/* Forgets changes older than transaction id.  false: out of memory, nothing changed. */
bool change_map_forget(struct change_map *m, uint32_t id);
void change_map_clear(struct change_map *m);

#endif

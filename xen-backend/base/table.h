/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.h - a hash table from 64-bit keys to records of one size. parser/fs/ keeps in it what a
 * journal has changed and what a view has read.
 *
 * A record is a struct whose first member is `uint64_t tag`. The tag belongs to the table; the rest
 * belongs to the caller. Records lie in one array and move when the table grows. So a pointer to a
 * record is valid until the next table_put() or table_remove().
 *
 * Threads: the caller locks.
 */
#ifndef VREAD_BASE_TABLE_H
#define VREAD_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table {
	size_t record; /* bytes of a record */
	size_t capacity, count;
	uint8_t *records;
};

/* An empty table; needs no memory yet. */
#define TABLE_OF(type) ((struct table){.record = sizeof(type)})

/* Frees all records. The table is empty then, and can be used again. */
void table_clear(struct table *t);

/* Returns the record of a key; NULL: there is none. */
void *table_find(const struct table *t, uint64_t key);
/*
 * Returns the record of a key; adds one that is zero but for its tag if there is none. NULL: out of
 * memory, or key is UINT64_MAX, which no record can have; nothing changed.
 */
void *table_put(struct table *t, uint64_t key);
/*
 * Calls gone() once for each record, and removes those for which gone() returns true. gone() must
 * not use the table. False: out of memory, gone() was not called.
 */
typedef bool table_gone_fn(void *record, void *ctx);
bool table_remove(struct table *t, table_gone_fn *gone, void *ctx);
/* Returns the first record (previous: NULL), or the one after `previous`; NULL: no more. */
void *table_next(const struct table *t, const void *previous);

#endif

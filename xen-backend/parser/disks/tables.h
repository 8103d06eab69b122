/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables.h - the sectors of a disk that its partition table consists of.
 *
 * Those of an MBR's logical partitions form a list that goes all over the disk.  Of a
 * GPT the header is enough: it has the checksum of the rest.
 */
#ifndef VREAD_LAYOUT_TABLES_H
#define VREAD_LAYOUT_TABLES_H

#include "layout/guards.h"
#include "layout/layout.h"

#define TABLE_SECTOR 512U

typedef int table_cb(void *ctx, uint64_t offset, const uint8_t sector[TABLE_SECTOR]);
/* Calls cb for the MBR and the tables of logical partitions, as far as they are ones; cb returns 0
 * to go on, else its value is returned. */
int tables_of_mbr(struct volume *disk, table_cb *cb, void *ctx);

/* Of one image, both kinds: what a table may be concluded from that is read after this. */
int tables_guard(struct image *img, unsigned image, struct layout_guards *ret);
/* Leaves those that count for a disk that turned out to have such a table. */
void tables_guard_only(struct layout_guards *g, enum layout_table table);

#endif

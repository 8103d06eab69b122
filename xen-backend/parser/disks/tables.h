/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables.h - the sectors that a disk's partition table consists of: to guard them, and to show
 * them to libblkid.
 *
 * A table counts in sectors of the disk: 512 or 4096 bytes (`unit`). An image does not say which.
 * The tables of an MBR's logical partitions form a linked list that may go all over the disk.
 * For a GPT the header is enough, because it holds the checksum of the rest.
 */
#ifndef VREAD_LAYOUT_TABLES_H
#define VREAD_LAYOUT_TABLES_H

#include "layout/guards.h"
#include "layout/layout.h"

#define TABLE_UNIT 512U        /* of most disks */
#define TABLE_LARGE_UNIT 4096U /* of disks with "4Kn" sectors */
#define TABLE_SECTOR 512U      /* bytes of a table that are read of each sector */

/* Returns 0 to go on, or a negative errno, which ends the walk. */
typedef int table_cb(void *ctx, uint64_t offset, const uint8_t sector[TABLE_SECTOR]);
/* Calls `cb` for the MBR and then for each table of logical partitions. The walk ends after a
 * sector without the signature of a table. Returns 0, the error of `cb`, or an error of reading. */
int tables_of_mbr(struct volume *disk, unsigned unit, table_cb *cb, void *ctx);

/* Adds the sectors of both kinds of table on one image to `*ret`. Call this before the table is
 * read, so that the guards are older than every conclusion from the table. Returns 0, -ENOMEM,
 * -E2BIG, or an error of reading. */
int tables_guard(struct image *img, unsigned image, unsigned unit, struct layout_guards *ret);
/* Removes the guards that do not belong to this kind of table; removes all if the disk has no
 * table. */
void tables_guard_only(struct layout_guards *g, enum layout_table table, unsigned unit);

#endif

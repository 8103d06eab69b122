// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the sectors of partition tables.
 */
#include "parser/disks/tables.h"

#include <errno.h>
#include <string.h>

#include "parser/disks/partition.h"

/* Returns the first sector of the next table, 0 if there is none. The MBR counts sectors from
 * the start of the disk; all further tables count from the start of the extended partition. */
static uint32_t next_table(const uint8_t sector[TABLE_SECTOR])
{
	uint32_t next = 0;

	for (unsigned k = 0; k < 4 && !next; k++) {
		const uint8_t *entry = sector + 446 + 16 * k;

		if (entry[4] == 0x5 || entry[4] == 0xf || entry[4] == 0x85)
			next = (uint32_t)(entry[8] | entry[9] << 8 | entry[10] << 16) |
			       (uint32_t)entry[11] << 24;
	}
	return next;
}

/* A damaged list just ends early; that is no error. */
int tables_of_mbr(struct volume *disk, unsigned unit, table_cb *cb, void *ctx)
{
	uint64_t extended = 0, at = 0;

	for (unsigned i = 0; i <= DISK_MAX_PARTITIONS; i++) {
		uint8_t sector[TABLE_SECTOR];
		uint32_t next;
		int r;

		if (at + sizeof(sector) > volume_size(disk))
			return 0;
		r = volume_read(disk, at, sector, sizeof(sector));
		if (r == 0)
			r = cb(ctx, at, sector);
		if (r < 0 || sector[510] != 0x55 || sector[511] != 0xaa)
			return r;
		next = next_table(sector);
		if (!next)
			return 0;
		at = extended + (uint64_t)next * unit;
		if (!extended)
			extended = at;
	}
	return 0;
}

struct guarding {
	unsigned image;
	struct layout_guards *guards;
};

static int add_guard(void *ctx, uint64_t offset, const uint8_t sector[TABLE_SECTOR])
{
	const struct guarding *g = ctx;
	struct layout_guard guard = {.image = g->image, .offset = offset};

	memcpy(guard.bytes, sector, sizeof(guard.bytes));
	return layout_guards_add(g->guards, &guard);
}

static int guard_gpt(struct volume *disk, unsigned unit, struct guarding *g)
{
	uint8_t sector[TABLE_SECTOR];
	int r;

	if (volume_size(disk) < unit + sizeof(sector))
		return 0;
	r = volume_read(disk, unit, sector, sizeof(sector));
	return r < 0 ? r : add_guard(g, unit, sector);
}

int tables_guard(struct image *img, unsigned image, unsigned unit, struct layout_guards *ret)
{
	struct guarding g = {image, ret};
	struct volume *disk;
	int r = volume_new_range(img, 0, image_size(img), &disk);

	if (r < 0)
		return r;
	r = guard_gpt(disk, unit, &g);
	if (r == 0)
		r = tables_of_mbr(disk, unit, add_guard, &g);
	volume_free(disk);
	return r;
}

void tables_guard_only(struct layout_guards *g, enum layout_table table, unsigned unit)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < g->count; i++)
		if ((g->list[i].offset == unit) == (table == LAYOUT_GPT))
			g->list[kept++] = g->list[i];
	g->count = table == LAYOUT_GPT || table == LAYOUT_MBR ? kept : 0;
}

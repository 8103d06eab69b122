// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes discover() on a datanode's disk with or without a partition table: disk_read_table(),
 * disk_probe(), window.c and lvm*.c of parser/disks/, and libblkid.  A layout that discover()
 * returns must be accepted by layout_parse() and fit by layout_check_fit().
 *
 * The input: one byte for the disk, one that says if checksums of GPT and LVM stay wrong, then
 * changes (sectors.h).
 */
#include <endian.h>
#include <string.h>

#include <isa-l/crc.h>

#include "disk/volume.h"
#include "parser/hdfs/discover.h"
#include "parser/disks/partition.h"
#include "sectors.h"

static const char *const names[] = {"gpt", "mbr", "bare", "lvm"};
#define LVM_AREA 4096U
#define NUM_DISKS (sizeof(names) / sizeof(names[0]))
static struct sectors disks[NUM_DISKS];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	for (unsigned i = 0; i < NUM_DISKS; i++)
		sectors_load(&disks[i], names[i]);
	return 0;
}

static void put_sum(uint8_t *to, const uint8_t *data, size_t length)
{
	uint32_t sum = htole32(crc32_gzip_refl(0, data, length));

	memcpy(to, &sum, sizeof(sum));
}

/* Corrects the sums of one header and of the entries it names, if they are inside the disk. */
static void fix_gpt(struct memory *m, uint64_t offset)
{
	uint8_t *header = memory_touch(m, offset, SECTOR), *entries;
	uint64_t lba;
	uint32_t numbers[2];

	check(header);
	if (memcmp(header, "EFI PART", 8))
		return;
	memcpy(&lba, header + 72, sizeof(lba));
	memcpy(numbers, header + 80, sizeof(numbers));
	if (lba < m->size / SECTOR && numbers[0] <= 1024 && numbers[1] <= 1024) {
		entries = memory_touch(m, lba * SECTOR, (size_t)numbers[0] * numbers[1]);
		if (entries)
			put_sum(header + 88, entries, (size_t)numbers[0] * numbers[1]);
	}
	memset(header + 16, 0, 4);
	put_sum(header + 16, header, 92);
}

/* LVM's CRC starts with another number and is not inverted. */
static void put_lvm_sum(uint8_t *to, const uint8_t *data, size_t length)
{
	uint32_t sum = htole32(~crc32_gzip_refl(~0xf597a6cfU, data, length));

	memcpy(to, &sum, sizeof(sum));
}

/* Corrects the sums of the label in the second sector, of the metadata's text and its header. */
static void fix_lvm(struct memory *m)
{
	uint8_t *label = memory_touch(m, SECTOR, SECTOR);
	uint8_t *header = memory_touch(m, LVM_AREA, SECTOR);
	uint64_t place[2]; /* of the text: offset, length */

	check(label && header);
	if (memcmp(label, "LABELONE", 8))
		return;
	put_lvm_sum(label + 16, label + 20, SECTOR - 20);
	memcpy(place, header + 40, sizeof(place));
	if (place[0] < m->size - LVM_AREA && place[1] < m->size - LVM_AREA - place[0])
		put_lvm_sum(header + 56, m->bytes + LVM_AREA + place[0], place[1]);
	put_lvm_sum(header, header + 4, SECTOR - 4);
}

static void change(struct sectors *d, struct bytes in)
{
	bool sums = take8(&in) % 4 != 3;

	sectors_change(d, in, 0);
	if (sums) {
		fix_gpt(&d->memory, SECTOR);
		fix_gpt(&d->memory, d->memory.size - SECTOR);
		fix_lvm(&d->memory);
	}
}

static void check_layout(struct image *const *images, const struct image_layout *found)
{
	json_t *json = layout_to_json(found);
	char *text = json_dumps(json, 0), *error = NULL;
	struct image_layout *same = NULL;

	check(text);
	if (layout_parse(text, strlen(text), "found", &same, &error) < 0 ||
	    layout_check_fit(images, 1, same, "found", &error) < 0) {
		fprintf(stderr, "%s\n", error);
		abort();
	}
	layout_free(same);
	free(text);
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const dirs[] = {"/data", "/other"};
	struct bytes in = {data, size};
	struct sectors *d = &disks[take8(&in) % NUM_DISKS];
	struct image *images[] = {d->memory.image};
	struct image_layout *layout = NULL;
	char *missing = NULL;
	int r;

	change(d, in);
	r = discover(images, 1, dirs, 2, &layout, &missing);
	check(r == 0 || missing);
	if (r >= 0)
		check_layout(images, layout);
	layout_free(layout);
	free(missing);
	memory_restore(&d->memory);
	return 0;
}

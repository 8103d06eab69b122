// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes files in the formats of image_open() (disk/): headers, tables, compressed clusters, a
 * backing file.  The files also change between two reads.  The bytes that image_read() returns must
 * be those at the place that image_map() returns.
 *
 * The input: one byte for the file, one that says if checksums (of VHD) stay wrong, then changes
 * (sectors.h).
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "disk/image.h"
#include "sectors.h"

#define BACKING_FD 900
#define BACKING_PATH "/proc/self/fd/900" /* bases.py writes it into the images */
#define PIECE 8192U

static const struct {
	const char *name, *format;
} kinds[] = {
	{"qcow2-v2", "qcow2"},   {"qcow2-v3", "qcow2"},   {"qcow2-parts", "qcow2"},
	{"qcow2-zlib", "qcow2"}, {"qcow2-zstd", "qcow2"}, {"qcow2-over", "qcow2"},
	{"vhd-fixed", "vhd"},    {"vhd-dynamic", "vhd"},
};
#define NUM_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct sectors files[NUM_KINDS];
static struct memory backing;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	for (unsigned i = 0; i < NUM_KINDS; i++)
		sectors_load(&files[i], kinds[i].name);
	memory_new(&backing, 256 * 1024 + 1000); /* shorter than the overlay */
	memset(backing.bytes, 'b', backing.size);
	return 0;
}

/* Gives the backing file as vreadd gives it to a parser.  The image of the input before may have
 * left it, or taken and closed it. */
static void give_backing(void)
{
	if (fcntl(BACKING_FD, F_GETFD) >= 0)
		return;
	check(dup2(backing.fd, BACKING_FD) == BACKING_FD);
	check(source_give(BACKING_PATH, BACKING_FD) == 0);
}

/* Stores the complement of the sum of all other bytes: 32 bits, big-endian. */
static void put_sum(struct memory *m, uint64_t offset, size_t length, size_t at)
{
	uint8_t *bytes = memory_touch(m, offset, length);
	uint32_t sum = 0;

	check(bytes);
	memset(bytes + at, 0, sizeof(sum));
	for (size_t i = 0; i < length; i++)
		sum += bytes[i];
	sum = htobe32(~sum);
	memcpy(bytes + at, &sum, sizeof(sum));
}

/* Corrects the footer and, in dynamic files, its copy and the header at the beginning. */
static void fix_vhd(struct memory *m)
{
	put_sum(m, m->size - SECTOR, SECTOR, 64);
	if (memcmp(m->pristine, "conectix", 8))
		return;
	put_sum(m, 0, SECTOR, 64);
	put_sum(m, SECTOR, 1024, 36);
}

static void change(unsigned which, struct bytes changes, bool sums, unsigned moment)
{
	sectors_change(&files[which], changes, moment);
	if (sums && !strcmp(kinds[which].format, "vhd"))
		fix_vhd(&files[which].memory);
}

static void read_run(struct image *img, uint64_t offset, uint64_t length)
{
	static uint8_t by_run[PIECE], by_read[PIECE];
	struct image_run run;
	int r = image_map(img, offset, length, &run);

	if (r < 0)
		return;
	check(run.length && run.length <= length);
	memset(by_run, 0, run.length);
	if (run.source && source_read(run.source, run.offset, by_run, run.length) < 0)
		return;
	check(image_read(img, offset, by_read, run.length) == 0);
	check(!memcmp(by_run, by_read, run.length));
}

static void read_all_over(struct image *img)
{
	static uint8_t buf[PIECE];
	uint64_t size = image_size(img), step = size / 16 + 1, changes;

	for (uint64_t at = 0; at < size; at += step) {
		uint64_t length = size - at < PIECE ? size - at : PIECE;

		(void)image_read(img, at, buf, length);
		read_run(img, at, length);
	}
	check(image_read(img, size, buf, 1) == -EIO);
	check(image_read(img, size - 1, buf, 2) == -EIO);
	(void)image_changes(img, &changes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	unsigned which = take8(&in) % NUM_KINDS;
	bool sums = take8(&in) % 4 != 3;
	struct image *img;
	char spec[64], *error = NULL;

	snprintf(spec, sizeof(spec), "%s:%s", kinds[which].format, files[which].memory.path);
	change(which, in, sums, 0);
	give_backing();
	if (image_open(spec, SOURCE_BUFFERED, &img, &error) == 0) {
		check(image_size(img));
		read_all_over(img);
		change(which, in, sums, 1);
		read_all_over(img);
		image_close(img);
	} else {
		check(error);
	}
	free(error);
	memory_restore(&files[which].memory);
	return 0;
}

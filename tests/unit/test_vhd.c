// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests the VHD reader: false footers, headers and tables, and files that their owners change. */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "disk/image.h"
#include "disk/vhd_header.h"

#define SECTOR VHD_SECTOR
#define BLOCK 8192U /* 16 sectors: two bytes of bitmap, in a separate sector */
#define BLOCKS 4U
#define DISK (BLOCKS * BLOCK)
#define HEADER_AT 512U
#define TABLE_AT 1536U
#define BLOCK_AT 2048U /* the only block in the file, its bitmap first */
#define END_AT (BLOCK_AT + SECTOR + BLOCK)

enum { FIXED = 2, DYNAMIC = 3, DIFFERENCING = 4 };

static char path[64], spec[80];
static int file;

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
}

static void put_sum(uint8_t *raw, size_t length, size_t at)
{
	uint32_t sum = 0;

	put32(raw + at, 0);
	for (size_t i = 0; i < length; i++)
		sum += raw[i];
	put32(raw + at, ~sum);
}

static void make_footer(uint8_t raw[VHD_FOOTER_BYTES], uint32_t type)
{
	memset(raw, 0, VHD_FOOTER_BYTES);
	memcpy(raw, "conectix", 8);
	put64(raw + 16, type == FIXED ? UINT64_MAX : HEADER_AT);
	put64(raw + 48, DISK);
	put32(raw + 60, type);
	put_sum(raw, VHD_FOOTER_BYTES, 64);
}

static void make_header(uint8_t raw[VHD_HEADER_BYTES])
{
	memset(raw, 0, VHD_HEADER_BYTES);
	memcpy(raw, "cxsparse", 8);
	put64(raw + 16, TABLE_AT);
	put32(raw + 28, BLOCKS);
	put32(raw + 32, BLOCK);
	put_sum(raw, VHD_HEADER_BYTES, 36);
}

static void write_at(uint64_t offset, const void *bytes, size_t length)
{
	assert_int_equal(pwrite(file, bytes, length, (off_t)offset), length);
}

static void write32(uint64_t offset, uint32_t value)
{
	uint8_t bytes[4];

	put32(bytes, value);
	write_at(offset, bytes, sizeof(bytes));
}

static void write_footer(uint64_t offset, uint32_t type)
{
	uint8_t raw[VHD_FOOTER_BYTES];

	make_footer(raw, type);
	write_at(offset, raw, sizeof(raw));
}

/* The second block is in the file: 'A's, but sector 2 and the last 7 were never written. */
static int make_dynamic(void **state)
{
	uint8_t header[VHD_HEADER_BYTES], block[BLOCK];

	(void)state;
	strcpy(path, "/tmp/vhd-XXXXXX");
	file = mkstemp(path);
	snprintf(spec, sizeof(spec), "vhd:%s", path);
	make_header(header);
	memset(block, 'A', sizeof(block));
	write_footer(0, DYNAMIC);
	write_at(HEADER_AT, header, sizeof(header));
	for (unsigned i = 0; i < BLOCKS; i++)
		write32(TABLE_AT + 4 * i, i == 1 ? BLOCK_AT / SECTOR : UINT32_MAX);
	write_at(BLOCK_AT, "\xdf\x80", 2);
	write_at(BLOCK_AT + SECTOR, block, sizeof(block));
	write_footer(END_AT, DYNAMIC);
	return 0;
}

static int make_fixed(void **state)
{
	uint8_t disk[DISK];

	(void)state;
	strcpy(path, "/tmp/vhd-XXXXXX");
	file = mkstemp(path);
	snprintf(spec, sizeof(spec), "vhd:%s", path);
	memset(disk, 'F', sizeof(disk));
	write_at(0, disk, sizeof(disk));
	write_footer(DISK, FIXED);
	return 0;
}

static int remove_file(void **state)
{
	(void)state;
	unlink(path);
	return close(file);
}

static struct image *opened(void)
{
	struct image *img;
	char *error = NULL;

	if (image_open(spec, SOURCE_AUTO, &img, &error) < 0)
		fail_msg("%s", error);
	return img;
}

static void refused(const char *said)
{
	struct image *img;
	char *error = NULL;

	assert_int_equal(image_open(spec, SOURCE_AUTO, &img, &error), -EMEDIUMTYPE);
	if (!error || !strstr(error, said) || !strstr(error, path))
		fail_msg("expected ...%s..., got: %s", said, error);
	free(error);
}

static void expect_bytes(struct image *img, uint64_t offset, size_t length, uint8_t byte)
{
	uint8_t *buf = malloc(length);

	memset(buf, ~byte, length);
	assert_int_equal(image_read(img, offset, buf, length), 0);
	for (size_t i = 0; i < length; i++)
		assert_int_equal(buf[i], byte);
	free(buf);
}

/* ---- footers and headers ------------------------------------------------------------ */

static void wrong_footers(void **state)
{
	static const struct {
		unsigned at, bytes;
		uint64_t value;
		const char *said;
	} wrong[] = {
		{0, 4, 0, "not a VHD file"},
		{60, 4, 0, "type"},
		{60, 4, 5, "type"},
		{48, 8, 0, "empty"},
		{48, 8, 513, "disk is invalid"},
		{48, 8, UINT64_MAX, "disk is invalid"},
		{16, 8, UINT64_MAX, "invalid offset"},
		{16, 8, INT64_MAX, "invalid offset"},
	};
	uint8_t raw[VHD_FOOTER_BYTES];
	struct vhd_footer f;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *reason;

		make_footer(raw, DYNAMIC);
		if (wrong[i].bytes == 4)
			put32(raw + wrong[i].at, (uint32_t)wrong[i].value);
		else
			put64(raw + wrong[i].at, wrong[i].value);
		put_sum(raw, sizeof(raw), 64);
		reason = vhd_footer_parse(raw, &f);
		if (!reason || !strstr(reason, wrong[i].said))
			fail_msg("%zu: expected ...%s..., got: %s", i, wrong[i].said, reason);
	}
	make_footer(raw, DYNAMIC);
	raw[100] ^= 1;
	assert_non_null(strstr(vhd_footer_parse(raw, &f), "checksum"));
}

static void wrong_headers(void **state)
{
	static const struct {
		unsigned at, bytes;
		uint64_t value;
		const char *said;
	} wrong[] = {
		{0, 4, 0, "damaged"},
		{16, 8, UINT64_MAX, "invalid offset"},
		{28, 4, BLOCKS - 1, "too short"},
		{28, 4, 0, "too short"},
		{32, 4, 0, "block size"},
		{32, 4, 512, "block size"},
		{32, 4, BLOCK + 1, "block size"},
		{32, 4, UINT32_C(1) << 31, "block size"},
		{32, 4, BLOCK / 2, "too short"},
	};
	uint8_t raw[VHD_HEADER_BYTES];
	struct vhd_header h;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *reason;

		make_header(raw);
		if (wrong[i].bytes == 4)
			put32(raw + wrong[i].at, (uint32_t)wrong[i].value);
		else
			put64(raw + wrong[i].at, wrong[i].value);
		put_sum(raw, sizeof(raw), 36);
		reason = vhd_header_parse(raw, DISK, &h);
		if (!reason || !strstr(reason, wrong[i].said))
			fail_msg("%zu: expected ...%s..., got: %s", i, wrong[i].said, reason);
	}
	make_header(raw);
	assert_null(vhd_header_parse(raw, DISK, &h));
	assert_int_equal(h.bitmap_bytes, SECTOR);
}

/* ---- fixed ones ------------------------------------------------------------------------ */

static void fixed(void **state)
{
	struct image *img = opened();
	uint8_t byte;

	(void)state;
	assert_int_equal(image_size(img), DISK);
	expect_bytes(img, 0, DISK, 'F');
	assert_int_equal(image_read(img, DISK, &byte, 1), -EIO); /* not the footer */
	image_close(img);
}

/* A guest may write a footer into the first sector, where a dynamic file has a copy. */
static void fixed_with_a_forged_beginning(void **state)
{
	uint8_t forged[VHD_FOOTER_BYTES], sector[VHD_FOOTER_BYTES];
	struct image *img;

	(void)state;
	make_footer(forged, DYNAMIC);
	write_at(0, forged, sizeof(forged));
	img = opened();
	assert_int_equal(image_read(img, 0, sector, sizeof(sector)), 0);
	assert_memory_equal(sector, forged, sizeof(sector));
	expect_bytes(img, SECTOR, DISK - SECTOR, 'F');
	image_close(img);
}

static void fixed_and_cut(void **state)
{
	(void)state;
	assert_int_equal(ftruncate(file, DISK), 0);
	refused("truncated");
	write_footer(0, FIXED);
	refused("footer is missing");
	assert_int_equal(ftruncate(file, 0), 0);
	write_footer(DISK - SECTOR, FIXED);
	refused("shorter than its disk");
	assert_int_equal(ftruncate(file, 100), 0);
	refused("truncated");
}

/* ---- dynamic ones ------------------------------------------------------------------------ */

static void dynamic(void **state)
{
	struct image *img = opened();
	struct image_run run;

	(void)state;
	expect_bytes(img, 0, BLOCK, 0);
	expect_bytes(img, BLOCK, 2 * SECTOR, 'A');
	expect_bytes(img, BLOCK + 2 * SECTOR, SECTOR, 0);
	expect_bytes(img, BLOCK + 3 * SECTOR, 6 * SECTOR, 'A');
	expect_bytes(img, BLOCK + 9 * SECTOR, DISK - BLOCK - 9 * SECTOR, 0);
	expect_bytes(img, BLOCK + 2 * SECTOR - 1, 1, 'A');
	assert_int_equal(image_map(img, BLOCK + 3 * SECTOR + 10, DISK - 3 * BLOCK, &run), 0);
	assert_non_null(run.source);
	assert_int_equal(run.offset, BLOCK_AT + SECTOR + 3 * SECTOR + 10);
	assert_int_equal(run.length, 6 * SECTOR - 10);
	assert_int_equal(image_map(img, 2 * BLOCK, 2 * BLOCK, &run), 0);
	assert_null(run.source);
	assert_int_equal(run.length, 2 * BLOCK);
	image_close(img);
}

static void written_meanwhile(void **state)
{
	uint8_t block[BLOCK];
	struct image *img = opened(), *again;

	(void)state;
	expect_bytes(img, 3 * BLOCK, BLOCK, 0);
	memset(block, 'C', sizeof(block));
	write_at(END_AT + SECTOR, block, sizeof(block)); /* overwrites the footer at the end */
	write_at(END_AT, "\xff\xff", 2);
	write32(TABLE_AT + 4 * 3, END_AT / SECTOR);
	expect_bytes(img, 3 * BLOCK, BLOCK, 'C');
	again = opened(); /* from the copy at the beginning */
	expect_bytes(again, 3 * BLOCK, BLOCK, 'C');
	assert_true(image_is_same(img, again));
	image_close(again);
	image_close(img);
}

static void blocks_that_lead_nowhere(void **state)
{
	struct image *img = opened();
	uint8_t buf[BLOCK];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		const uint32_t places[] = {UINT32_MAX - 1, END_AT / SECTOR + 100, END_AT / SECTOR};

		write32(TABLE_AT + 4, places[i]);
		write_at(END_AT, "\xff\xff", 2);
		assert_int_equal(image_read(img, BLOCK, buf, BLOCK), -EIO);
		expect_bytes(img, 0, BLOCK, 0);
	}
	image_close(img);
}

/* Blocks that overlap each other, the table or the header: data or EIO. */
static void tables_of_anything(void **state)
{
	struct image *img = opened();
	uint8_t buf[DISK];

	(void)state;
	srandom(3);
	for (unsigned round = 0; round < 2000; round++) {
		int r;

		for (unsigned i = 0; i < BLOCKS; i++)
			write32(TABLE_AT + 4 * i, (uint32_t)random() % 30);
		r = image_read(img, (uint64_t)random() % BLOCK, buf, DISK - BLOCK);
		assert_true(r == 0 || r == -EIO);
	}
	image_close(img);
}

static void another_disk(void **state)
{
	uint8_t footer[VHD_FOOTER_BYTES], buf[SECTOR];
	struct image *img = opened(), *again;

	(void)state;
	make_footer(footer, DYNAMIC);
	put64(footer + 48, DISK - BLOCK);
	put_sum(footer, sizeof(footer), 64);
	write_at(0, footer, sizeof(footer));
	write_at(END_AT, footer, sizeof(footer));
	assert_int_equal(image_read(img, BLOCK, buf, SECTOR), -EIO);
	again = opened();
	assert_int_equal(image_size(again), DISK - BLOCK);
	expect_bytes(again, BLOCK, SECTOR, 'A');
	assert_false(image_is_same(img, again));
	image_close(again);
	image_close(img);
}

static void table_is_outside(void **state)
{
	uint8_t header[VHD_HEADER_BYTES];

	(void)state;
	make_header(header);
	put32(header + 28, UINT32_MAX);
	put_sum(header, sizeof(header), 36);
	write_at(HEADER_AT, header, sizeof(header));
	refused("block table lies outside");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_footers),
		cmocka_unit_test(wrong_headers),
		cmocka_unit_test_setup_teardown(fixed, make_fixed, remove_file),
		cmocka_unit_test_setup_teardown(fixed_with_a_forged_beginning, make_fixed,
						remove_file),
		cmocka_unit_test_setup_teardown(fixed_and_cut, make_fixed, remove_file),
		cmocka_unit_test_setup_teardown(dynamic, make_dynamic, remove_file),
		cmocka_unit_test_setup_teardown(written_meanwhile, make_dynamic, remove_file),
		cmocka_unit_test_setup_teardown(blocks_that_lead_nowhere, make_dynamic,
						remove_file),
		cmocka_unit_test_setup_teardown(tables_of_anything, make_dynamic, remove_file),
		cmocka_unit_test_setup_teardown(another_disk, make_dynamic, remove_file),
		cmocka_unit_test_setup_teardown(table_is_outside, make_dynamic, remove_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

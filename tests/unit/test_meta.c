// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests the parser of .meta headers and the checksums, on bytes as HDFS writes them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "read/checksum.h"
#include "parser/hdfs/locate.h"
#include "parser/hdfs/meta.h"

static const uint8_t crc32c_512[] = {0, 1, 2, 0, 0, 2, 0};

static int parse(const uint8_t *raw, size_t length, struct meta_header *h)
{
	const char *reason = NULL;
	int r = meta_parse(raw, length, h, &reason);

	assert_true(r == 0 || reason != NULL);
	return r;
}

static void header_is_parsed(void **state)
{
	static const uint8_t crc32_1000[] = {0, 1, 1, 0, 0, 3, 0xe8};
	struct meta_header h;

	(void)state;
	assert_int_equal(parse(crc32c_512, sizeof(crc32c_512), &h), 0);
	assert_int_equal(h.type, META_CRC32C);
	assert_int_equal(h.chunk, 512);
	assert_int_equal(parse(crc32_1000, sizeof(crc32_1000), &h), 0);
	assert_int_equal(h.type, META_CRC32);
	assert_int_equal(h.chunk, 1000);
}

static void header_is_refused(void **state)
{
	static const uint8_t bad[][META_HEADER_BYTES] = {
		{0, 0, 2, 0, 0, 2, 0},             /* version 0 */
		{1, 0, 2, 0, 0, 2, 0},             /* version 256: little-endian 1 */
		{0, 2, 2, 0, 0, 2, 0},             /* version 2 */
		{0, 1, 3, 0, 0, 2, 0},             /* unknown type */
		{0, 1, 0xff, 0, 0, 2, 0},          /* -1 */
		{0, 1, 2, 0, 0, 0, 0},             /* 0 bytes per checksum */
		{0, 1, 2, 0x80, 0, 0, 0},          /* negative */
		{0, 1, 2, 0xff, 0xff, 0xff, 0xff}, /* -1 */
	};
	struct meta_header h = {.chunk = 77};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i], sizeof(bad[i]), &h), -EILSEQ);
	for (size_t length = 0; length < META_HEADER_BYTES; length++)
		assert_int_equal(parse(crc32c_512, length, &h), -EILSEQ);
	assert_int_equal(h.chunk, 77);
}

static void checksums_that_are_not_verified_are_told_from_damage(void **state)
{
	static const uint8_t headers[][META_HEADER_BYTES] = {
		{0, 1, 0, 0, 0, 2, 0},             /* no checksums */
		{0, 1, 2, 0, 0, 0, 1},             /* the least that HDFS writes */
		{0, 1, 2, 0, 0, 0, 15},            /* below the minimum */
		{0, 1, 2, 0, 0x10, 0, 1},          /* above the maximum */
		{0, 1, 1, 0x7f, 0xff, 0xff, 0xff}, /* the most that HDFS writes */
	};
	struct meta_header h = {.chunk = 77};

	(void)state;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		assert_int_equal(parse(headers[i], sizeof(headers[i]), &h), -EOPNOTSUPP);
	assert_int_equal(h.chunk, 77);
}

static void bounds_of_chunk_are_inclusive(void **state)
{
	static const uint8_t least[] = {0, 1, 2, 0, 0, 0, 16}, most[] = {0, 1, 2, 0, 0x10, 0, 0};
	struct meta_header h;

	(void)state;
	assert_int_equal(parse(least, sizeof(least), &h), 0);
	assert_int_equal(h.chunk, META_MIN_CHUNK);
	assert_int_equal(parse(most, sizeof(most), &h), 0);
	assert_int_equal(h.chunk, META_MAX_CHUNK);
}

static void expected_length(void **state)
{
	struct meta_header h = {META_CRC32C, 512};
	uint64_t length;

	(void)state;
	assert_true(meta_expected_length(&h, 0, &length));
	assert_int_equal(length, 7);
	assert_true(meta_expected_length(&h, 1, &length));
	assert_int_equal(length, 11);
	assert_true(meta_expected_length(&h, 512, &length));
	assert_int_equal(length, 11);
	assert_true(meta_expected_length(&h, 513, &length));
	assert_int_equal(length, 15);
	assert_true(meta_expected_length(&h, UINT64_MAX, &length));
	assert_true(length > UINT64_MAX / 512 * 4);
	h.chunk = 1;
	assert_false(meta_expected_length(&h, UINT64_MAX, &length));
}

/* "123456789" has well-known check values. */
static void checksums_are_the_known_ones(void **state)
{
	static const uint8_t data[] = "123456789";
	static const uint8_t crc32[] = {0xcb, 0xf4, 0x39, 0x26},
			     crc32c[] = {0xe3, 0x06, 0x92, 0x83};
	struct meta_header h = {META_CRC32, 16};

	(void)state;
	assert_true(checksum_verify(&h, data, 9, crc32));
	assert_false(checksum_verify(&h, data, 9, crc32c));
	assert_false(checksum_verify(&h, data, 8, crc32));
	h.type = META_CRC32C;
	assert_true(checksum_verify(&h, data, 9, crc32c));
	assert_false(checksum_verify(&h, data, 9, crc32));
}

/* Uses the vectors of RFC 3720, appendix B.4, and a short last chunk. */
static void every_chunk_counts(void **state)
{
	static const uint8_t sums[] = {0x8a, 0x91, 0x36, 0xaa, 0x62, 0xa8,
				       0xab, 0x43, 0xe3, 0x06, 0x92, 0x83};
	static const size_t end[] = {0, 32, 64, 73};
	struct meta_header h = {META_CRC32C, 32};
	uint8_t data[73];

	(void)state;
	memset(data, 0, 32);
	memset(data + 32, 0xff, 32);
	memcpy(data + 64, "123456789", 9);
	for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++)
		assert_true(checksum_verify(&h, data, end[i], sums));
	for (size_t i = 0; i < sizeof(data); i++) {
		data[i] ^= 0x10;
		assert_false(checksum_verify(&h, data, sizeof(data), sums));
		data[i] ^= 0x10;
	}
}

static void data_names(void **state)
{
	static const char *const bad[] = {
		"blk_",   "blk_-",  "blk_01",       "blk_1x", "blk_ 1",
		"blk_+1", "blk_-0", "blk_1_1.meta", "xlk_1",  "blk_9223372036854775808",
	};
	int64_t id;

	(void)state;
	assert_true(block_parse_data_name("blk_1073741825", &id));
	assert_int_equal(id, 1073741825);
	assert_true(block_parse_data_name("blk_-9223372036854775808", &id));
	assert_true(id == INT64_MIN);
	assert_true(block_parse_data_name("blk_0", &id));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (block_parse_data_name(bad[i], &id))
			fail_msg("%s", bad[i]);
}

static void meta_names(void **state)
{
	static const char *const bad[] = {
		"blk_1",         "blk_1_.meta", "blk_1_2", "blk_1_2.metax", "blk_1_2.meta.tmp",
		"blk_1_02.meta", "blk__2.meta",
	};
	uint64_t genstamp;
	int64_t id;

	(void)state;
	assert_true(block_parse_meta_name("blk_-5_1001.meta", &id, &genstamp));
	assert_int_equal(id, -5);
	assert_int_equal(genstamp, 1001);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (block_parse_meta_name(bad[i], &id, &genstamp))
			fail_msg("%s", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_is_parsed),
		cmocka_unit_test(header_is_refused),
		cmocka_unit_test(checksums_that_are_not_verified_are_told_from_damage),
		cmocka_unit_test(bounds_of_chunk_are_inclusive),
		cmocka_unit_test(expected_length),
		cmocka_unit_test(checksums_are_the_known_ones),
		cmocka_unit_test(every_chunk_counts),
		cmocka_unit_test(data_names),
		cmocka_unit_test(meta_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests read/crc_join.h, and the sums of verified bytes (read/checksum.h). */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/checksum.h"
#include "read/crc_join.h"
#include "read/crc_table.h"

#define SIZE (200U << 10)

static struct crc_table table[3]; /* by enum meta_type */
static uint8_t data[SIZE], sums[SIZE / META_MIN_CHUNK * 4];

static uint32_t sum_of(size_t from, size_t to)
{
	return crc_table_sum(&table[META_CRC32C], data + from, to - from);
}

static void put_sums(const struct meta_header *h)
{
	for (size_t at = 0; at < SIZE; at += h->chunk) {
		size_t n = SIZE - at < h->chunk ? SIZE - at : h->chunk;
		uint32_t sum = htobe32(crc_table_sum(&table[h->type], data + at, n));

		memcpy(sums + at / h->chunk * 4, &sum, sizeof(sum));
	}
}

static void two_parts(void **state)
{
	static const size_t lengths[] = {0, 1, 2, 3, 7, 8, 255, 511, 512, 4096, 65536, SIZE};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
			size_t middle = lengths[i], end = middle + lengths[k];

			if (end <= SIZE)
				assert_int_equal(crc_join(sum_of(0, middle), sum_of(middle, end),
							  (uint32_t)(end - middle)),
						 sum_of(0, end));
		}
}

/* The longest length that a READ, or one part of it, may have, and lengths beyond. */
static void long_parts(void **state)
{
	static const uint32_t lengths[] = {1U << 20, 4U << 20, 1U << 31, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t half = lengths[i] / 2, other = lengths[i] - half;
		uint32_t once = crc_join(0x12345678, 0, lengths[i]);

		assert_int_equal(crc_join(crc_join(0x12345678, 0, half), 0, other), once);
	}
}

static void whole_chunks(void **state)
{
	/* 512 twice: a thread's table of one chunk size is made again for another. */
	static const uint32_t chunks[] = {512, META_MIN_CHUNK, 1000, 512, 65536, 4096};

	(void)state;
	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		const struct meta_header h = {META_CRC32C, chunks[i]};
		size_t count = SIZE / h.chunk;

		put_sums(&h);
		assert_int_equal(crc_join_chunks(0, sums, count, h.chunk),
				 sum_of(0, count * h.chunk));
		assert_int_equal(crc_join_chunks(sum_of(0, h.chunk), sums + 4, count - 1, h.chunk),
				 sum_of(0, count * h.chunk));
		assert_int_equal(crc_join_chunks(7, sums, 0, h.chunk), 7);
	}
}

static void assert_parts(const struct meta_header *h)
{
	const size_t n = h->chunk;
	const size_t edges[] = {0,         1,         n - 1, n,        n + 1,    2 * n,
				2 * n + 3, 5 * n - 1, 5 * n, SIZE - n, SIZE - 1, SIZE};
	const size_t count = sizeof(edges) / sizeof(edges[0]);

	put_sums(h);
	assert_true(checksum_verify(h, data, SIZE, sums));
	for (size_t i = 0; i < count; i++)
		for (size_t k = i; k < count; k++)
			assert_int_equal(checksum_of(h, data, sums, edges[i], edges[k]),
					 sum_of(edges[i], edges[k]));
}

static void parts_of_verified_bytes(void **state)
{
	static const uint32_t chunks[] = {META_MIN_CHUNK, 512, 1000, 4096, 30000};

	(void)state;
	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		assert_parts(&(struct meta_header){META_CRC32C, chunks[i]});
		assert_parts(&(struct meta_header){META_CRC32, chunks[i]});
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_parts),
		cmocka_unit_test(long_parts),
		cmocka_unit_test(whole_chunks),
		cmocka_unit_test(parts_of_verified_bytes),
	};

	crc_table_init(&table[META_CRC32], CRC32_POLYNOMIAL);
	crc_table_init(&table[META_CRC32C], CRC32C_POLYNOMIAL);
	srandom(7);
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (uint8_t)random();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests libvread's read-ahead: when a reader counts as sequential, how far ahead it fetches, and
 * where chunks end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "readahead.h"

#define KIB ((size_t)1024)

static struct readahead ra;

static void test_window_doubles_up_to_the_maximum(void **state)
{
	uint64_t at = 0;
	size_t expected[] = {128 * KIB, 256 * KIB, 512 * KIB, 1000 * KIB, 1000 * KIB};

	(void)state;
	readahead_init(&ra, 1000 * KIB);
	for (unsigned i = 0; i < 5; i++, at += 4096) {
		readahead_note(&ra, at, 4096);
		assert_int_equal(ra.window, expected[i]);
	}
}

static void test_seek_closes_it(void **state)
{
	(void)state;
	readahead_init(&ra, 1024 * KIB);
	readahead_note(&ra, 0, 4096);
	readahead_note(&ra, 4096, 4096);
	readahead_note(&ra, 100000, 10);
	assert_int_equal(ra.window, 0);
	readahead_note(&ra, 100010, 10);
	assert_int_equal(ra.window, 128 * KIB);
	readahead_note(&ra, 100010, 10); /* reading the same again is backwards */
	assert_int_equal(ra.window, 0);
}

static void test_first_read_elsewhere_is_random(void **state)
{
	(void)state;
	readahead_init(&ra, 1024 * KIB);
	readahead_note(&ra, 4096, 4096);
	assert_int_equal(ra.window, 0);
}

static void test_maximum(void **state)
{
	(void)state;
	readahead_init(&ra, 0);
	for (int i = 0; i < 4; i++)
		readahead_note(&ra, (uint64_t)i * 10, 10);
	assert_int_equal(ra.window, 0);
	readahead_init(&ra, 16 * KIB); /* less than the first window */
	readahead_note(&ra, 0, 10);
	assert_int_equal(ra.window, 16 * KIB);
	readahead_note(&ra, 10, 10);
	assert_int_equal(ra.window, 16 * KIB);
}

static void test_chunks_end_at_multiples(void **state)
{
	(void)state;
	assert_int_equal(readahead_chunk(0, 1 << 20, 64 * KIB), 64 * KIB);
	assert_int_equal(readahead_chunk(100, 1 << 20, 64 * KIB), 64 * KIB - 100);
	assert_int_equal(readahead_chunk(64 * KIB - 1, 1 << 20, 64 * KIB), 1);
	assert_int_equal(readahead_chunk(64 * KIB, 64 * KIB + 7, 64 * KIB), 7);
	assert_int_equal(readahead_chunk((5ULL << 40) + 3, (5ULL << 40) + 9, 4096), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window_doubles_up_to_the_maximum),
		cmocka_unit_test(test_seek_closes_it),
		cmocka_unit_test(test_first_read_elsewhere_is_random),
		cmocka_unit_test(test_maximum),
		cmocka_unit_test(test_chunks_end_at_multiples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

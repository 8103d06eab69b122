/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the page allocator of a slice: no page is given twice, none is lost, and the lowest run
 * that fits is taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <cmocka.h>

#include "slice.h"

static struct slice slice;

static void test_first_fit(void **state)
{
	uint32_t a, b, c;

	(void)state;
	slice_init(&slice, 100);
	assert_int_equal(slice_take(&slice, 10, &a), 0);
	assert_int_equal(slice_take(&slice, 70, &b), 0);
	assert_int_equal(slice_take(&slice, 20, &c), 0);
	assert_int_equal(a, 0);
	assert_int_equal(b, 10);
	assert_int_equal(c, 80);
	assert_int_equal(slice.free_pages, 0);
	assert_int_equal(slice_take(&slice, 1, &a), -EAGAIN);
	slice_give(&slice, 10, 70);
	slice_give(&slice, 0, 10);
	/* the two runs are one again */
	assert_int_equal(slice_take(&slice, 80, &a), 0);
	assert_int_equal(a, 0);
}

static void test_never_and_not_now(void **state)
{
	uint32_t first = 77;

	(void)state;
	slice_init(&slice, 16);
	assert_int_equal(slice_take(&slice, 0, &first), -EINVAL);
	assert_int_equal(slice_take(&slice, 17, &first), -EINVAL);
	assert_int_equal(slice_take(&slice, 4, &first), 0);
	slice_give(&slice, first, 4);
	assert_int_equal(slice_take(&slice, 1, &first), 0);
	/* 15 free, and they are a run */
	assert_int_equal(slice_take(&slice, 16, &first), -EAGAIN);
	assert_int_equal(slice_take(&slice, 15, &first), 0);
	assert_int_equal(first, 1);
}

/* Enough pages are free, but they are no run. */
static void test_fragments(void **state)
{
	uint32_t first;

	(void)state;
	slice_init(&slice, 64);
	for (int i = 0; i < 64; i++)
		assert_int_equal(slice_take(&slice, 1, &first), 0);
	for (uint32_t i = 0; i < 64; i += 2)
		slice_give(&slice, i, 1);
	assert_int_equal(slice.free_pages, 32);
	assert_int_equal(slice_take(&slice, 2, &first), -EAGAIN);
	slice_give(&slice, 33, 1);
	assert_int_equal(slice_take(&slice, 3, &first), 0);
	assert_int_equal(first, 32);
}

/* Compares with a plain array of owners, across word boundaries and at full size. */
static void random_walk(uint32_t pages, unsigned seed)
{
	static bool used[VREAD_MAX_POOL_PAGES];
	static struct {
		uint32_t first, pages;
	} runs[512];
	unsigned count = 0;

	srand(seed);
	slice_init(&slice, pages);
	for (uint32_t i = 0; i < pages; i++)
		used[i] = false;
	for (int step = 0; step < 20000; step++) {
		uint32_t n = 1 + (uint32_t)rand() % (step % 7 ? 9 : 300), first;

		if (count < 512 && rand() % 2) {
			if (slice_take(&slice, n, &first))
				continue;
			assert_true(first + n <= pages);
			for (uint32_t i = first; i < first + n; i++) {
				assert_false(used[i]);
				used[i] = true;
			}
			runs[count].first = first;
			runs[count++].pages = n;
		} else if (count) {
			unsigned victim = (unsigned)rand() % count;

			slice_give(&slice, runs[victim].first, runs[victim].pages);
			for (uint32_t i = 0; i < runs[victim].pages; i++)
				used[runs[victim].first + i] = false;
			runs[victim] = runs[--count];
		}
	}
	while (count--)
		slice_give(&slice, runs[count].first, runs[count].pages);
	assert_int_equal(slice.free_pages, pages);
	assert_int_equal(slice_take(&slice, pages, &pages), 0);
}

static void test_random(void **state)
{
	(void)state;
	random_walk(16, 1);
	random_walk(1000, 2);
	random_walk(VREAD_MAX_POOL_PAGES, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_fit),
		cmocka_unit_test(test_never_and_not_now),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

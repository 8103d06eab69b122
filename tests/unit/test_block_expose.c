// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests read/expose.h: both ways of copying are right, and the cheaper way is used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/expose.h"

#define GUARD 64
#define LARGEST (EXPOSE_UNIT + 4096 + 77)

static uint8_t source[LARGEST + 64];
static uint8_t *place;

typedef void copy(void *dst, const void *src, size_t length);

static int make(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(i * 2654435761U >> 13);
	place = aligned_alloc(64, (LARGEST + 64 + 2 * GUARD) / 64 * 64);
	return !place;
}

static int drop(void **state)
{
	(void)state;
	free(place);
	return 0;
}

static void check(copy *way, size_t to, size_t from, size_t length)
{
	memset(place, 0xee, LARGEST + 2 * GUARD);
	way(place + GUARD + to, source + from, length);
	assert_memory_equal(place + GUARD + to, source + from, length);
	for (size_t i = 0; i < GUARD + to; i++)
		assert_int_equal(place[i], 0xee);
	for (size_t i = GUARD + to + length; i < LARGEST + 2 * GUARD; i++)
		assert_int_equal(place[i], 0xee);
}

static void test_every_byte_and_no_other(void **state)
{
	static const size_t lengths[] = {0,  1,   15,   16,          63,          64,
					 65, 127, 4096, EXPOSE_UNIT, LARGEST - 16};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (size_t from = 0; from < 33; from += 11) {
			check(expose_streaming, 0, from, lengths[i]);
			check(expose_streaming, 16, from, lengths[i]);
			for (size_t to = 0; to < 3; to++) /* expose() takes any place */
				check(expose, to, from, lengths[i]);
		}
}

static void test_many_copies_go_both_ways(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++)
		check(expose, 0, (size_t)i % 32, LARGEST - 16);
}

/* Makes n copies at these costs.  Returns how many of them were streamed. */
static unsigned run(struct expose_pace *pace, unsigned n, unsigned plain, unsigned streamed)
{
	unsigned streams = 0;

	for (unsigned i = 0; i < n; i++) {
		bool way = expose_streams(pace);

		streams += way;
		expose_note(pace, way, way ? streamed : plain);
	}
	return streams;
}

static void test_both_are_tried_first(void **state)
{
	struct expose_pace pace = {0};

	(void)state;
	assert_false(expose_streams(&pace));
	expose_note(&pace, false, 3000);
	assert_true(expose_streams(&pace));
	expose_note(&pace, true, 3000);
	assert_int_equal(pace.plain, 3000);
	assert_int_equal(pace.streamed, 3000);
}

static void test_the_cheaper_is_used(void **state)
{
	struct expose_pace near = {0}, far = {0};

	(void)state;
	run(&near, 128, 3000, 6000);
	run(&far, 128, 20000, 6000);
	assert_in_range(run(&near, 640, 3000, 6000), 10, 11);
	assert_in_range(run(&far, 640, 20000, 6000), 629, 630);
}

static void test_streaming_must_be_clearly_cheaper(void **state)
{
	struct expose_pace pace = {0};

	(void)state;
	run(&pace, 128, 6000, 5600);
	assert_in_range(run(&pace, 640, 6000, 5600), 10, 11);
}

static void test_it_follows_a_move(void **state)
{
	struct expose_pace pace = {0};

	(void)state;
	run(&pace, 200, 3000, 6000);
	assert_in_range(run(&pace, 640, 20000, 6000), 600, 640);
	run(&pace, 2000, 3000, 6000); /* only rare probes show the change */
	assert_in_range(run(&pace, 640, 3000, 6000), 10, 11);
}

static void test_one_interruption_changes_nothing(void **state)
{
	struct expose_pace pace = {0};

	(void)state;
	run(&pace, 200, 3000, 6000);
	expose_note(&pace, false, UINT32_MAX / 4);
	assert_in_range(run(&pace, 640, 3000, 6000), 10, 200);
	assert_in_range(run(&pace, 640, 3000, 6000), 10, 11);
}

/* The first use of a page costs more than the copy, in either way. */
static void test_a_misleading_start(void **state)
{
	struct expose_pace near = {0}, far = {0};

	(void)state;
	expose_note(&near, false, 100000);
	run(&near, 128, 3000, 6000);
	assert_in_range(run(&near, 640, 3000, 6000), 10, 11);
	expose_note(&far, false, 20000);
	expose_note(&far, true, 100000);
	run(&far, 128, 20000, 6000);
	assert_in_range(run(&far, 640, 20000, 6000), 629, 630);
}

static void test_costs_of_nothing(void **state)
{
	struct expose_pace pace = {0};

	(void)state;
	run(&pace, 300, 0, 0);
	assert_true(pace.plain > 0 && pace.streamed > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_byte_and_no_other),
		cmocka_unit_test(test_many_copies_go_both_ways),
		cmocka_unit_test(test_both_are_tried_first),
		cmocka_unit_test(test_the_cheaper_is_used),
		cmocka_unit_test(test_streaming_must_be_clearly_cheaper),
		cmocka_unit_test(test_it_follows_a_move),
		cmocka_unit_test(test_one_interruption_changes_nothing),
		cmocka_unit_test(test_a_misleading_start),
		cmocka_unit_test(test_costs_of_nothing),
	};

	return cmocka_run_group_tests(tests, make, drop);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the table of handles (read/handles.h): numbers, references, a full table, and closing on
 * one thread while others read.  The close function only counts.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "read/handles.h"

struct block_handle {
	atomic_bool closed;
};

#define KIND 7U

static atomic_uint closed;

static void close_block(struct handle h)
{
	struct block_handle *b = h.object;

	assert_int_equal(h.kind, KIND);
	assert_false(atomic_exchange(&b->closed, true));
	atomic_fetch_add(&closed, 1);
}

static struct handle handle(struct block_handle *b)
{
	return (struct handle){b, KIND};
}

static int set_up(void **state)
{
	closed = 0;
	*state = handles_new(close_block, NULL);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	handles_free(*state);
	return 0;
}

static void test_numbers(void **state)
{
	struct block_handle b = {0};
	uint32_t n;

	assert_null(handles_get(*state, 0).object);
	assert_int_equal(handles_add(*state, handle(&b), &n), 0);
	assert_int_not_equal(n, 0);
	assert_ptr_equal(handles_get(*state, n).object, &b);
	handles_put(*state, n);
	assert_null(handles_get(*state, n + 1).object);
	assert_null(handles_get(*state, n + HANDLES_MAX).object);
	assert_null(handles_get(*state, UINT32_MAX).object);
	assert_int_equal(handles_count(*state), 1);
	assert_int_equal(handles_remove(*state, n), 0);
	assert_int_equal(handles_remove(*state, n), -EBADF);
	assert_null(handles_get(*state, n).object);
	assert_int_equal(closed, 1);
	assert_int_equal(handles_count(*state), 0);
}

static void test_closed_while_read(void **state)
{
	struct block_handle b = {0};
	uint32_t n;

	assert_int_equal(handles_add(*state, handle(&b), &n), 0);
	assert_non_null(handles_get(*state, n).object);
	assert_non_null(handles_get(*state, n).object);
	assert_int_equal(handles_remove(*state, n), 0);
	assert_int_equal(handles_remove(*state, n), -EBADF);
	assert_null(handles_get(*state, n).object);
	handles_put(*state, n);
	assert_int_equal(closed, 0);
	handles_put(*state, n);
	assert_int_equal(closed, 1);
}

static void test_full(void **state)
{
	struct block_handle *blocks = calloc(HANDLES_MAX + 1, sizeof(*blocks));
	uint32_t *numbers = calloc(HANDLES_MAX, sizeof(*numbers)), again;

	for (unsigned i = 0; i < HANDLES_MAX; i++) {
		assert_int_equal(handles_room(*state), 0);
		assert_int_equal(handles_add(*state, handle(&blocks[i]), &numbers[i]), 0);
	}
	assert_int_equal(handles_room(*state), -EMFILE);
	assert_int_equal(handles_add(*state, handle(&blocks[HANDLES_MAX]), &again), -EMFILE);
	assert_int_equal(handles_remove(*state, numbers[1234]), 0);
	assert_int_equal(handles_add(*state, handle(&blocks[HANDLES_MAX]), &again), 0);
	assert_int_not_equal(again, numbers[1234]);
	assert_null(handles_get(*state, numbers[1234]).object);
	handles_free(*state);
	*state = handles_new(close_block, NULL);
	assert_int_equal(closed, HANDLES_MAX + 1);
	free(blocks);
	free(numbers);
}

/* A number comes again only after its slot was used many times. */
static void test_numbers_are_not_used_again_soon(void **state)
{
	uint32_t first, n = 0;

	for (unsigned round = 0; round < 3 * HANDLES_MAX; round++) {
		struct block_handle b = {0};

		assert_int_equal(handles_add(*state, handle(&b), &n), 0);
		if (round == 0)
			first = n;
		else
			assert_int_not_equal(n, first);
		assert_int_equal(handles_remove(*state, n), 0);
	}
}

struct race {
	struct handles *table;
	_Atomic uint32_t number;
	atomic_bool stop;
};

static void *reader(void *arg)
{
	struct race *r = arg;

	while (!r->stop) {
		uint32_t n = r->number;
		struct block_handle *b = handles_get(r->table, n).object;

		if (!b)
			continue;
		assert_false(b->closed);
		handles_put(r->table, n);
	}
	return NULL;
}

static void test_race_of_readers_and_closer(void **state)
{
	enum { ROUNDS = 20000 };
	struct block_handle *blocks = calloc(ROUNDS, sizeof(*blocks));
	struct race r = {.table = *state};
	pthread_t threads[2];

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reader, &r), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t n;

		assert_int_equal(handles_add(*state, handle(&blocks[i]), &n), 0);
		r.number = n;
		assert_int_equal(handles_remove(*state, n), 0);
	}
	r.stop = true;
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(closed, ROUNDS);
	free(blocks);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(test_numbers),
		TEST(test_closed_while_read),
		TEST(test_full),
		TEST(test_numbers_are_not_used_again_soon),
		TEST(test_race_of_readers_and_closer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

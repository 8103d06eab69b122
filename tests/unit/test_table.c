// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests base/table.h: keys of all kinds, growth, removal and iteration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/table.h"

#define MANY 5000U

struct number {
	uint64_t tag;
	uint64_t key;
	uint32_t value;
};

static struct table table;

static int make(void **state)
{
	(void)state;
	table = TABLE_OF(struct number);
	return 0;
}

static int clear(void **state)
{
	(void)state;
	table_clear(&table);
	return 0;
}

static void put(uint64_t key, uint32_t value)
{
	struct number *n = table_put(&table, key);

	assert_non_null(n);
	n->key = key;
	n->value = value;
}

static uint32_t value_of(uint64_t key)
{
	const struct number *n = table_find(&table, key);

	return n ? n->value : 0;
}

/* Neighbours, multiples of a large power of two, and keys at both ends. */
static uint64_t key_of(uint32_t i)
{
	switch (i % 3) {
	case 0:
		return i;
	case 1:
		return (uint64_t)i << 44;
	default:
		return UINT64_MAX - 1 - i;
	}
}

static void test_an_empty_table(void **state)
{
	(void)state;
	assert_null(table_find(&table, 0));
	assert_null(table_next(&table, NULL));
	table_clear(&table);
	assert_int_equal(table.count, 0);
}

static void test_a_new_record_is_zero(void **state)
{
	const struct number *n = table_put(&table, 0);

	(void)state;
	assert_non_null(n);
	assert_int_equal(n->key, 0);
	assert_int_equal(n->value, 0);
	assert_ptr_equal(table_find(&table, 0), n);
	assert_null(table_find(&table, 1));
}

static void test_the_same_key_again(void **state)
{
	(void)state;
	put(7, 1);
	put(7, 2);
	assert_int_equal(table.count, 1);
	assert_int_equal(value_of(7), 2);
}

static void test_the_largest_number_is_no_key(void **state)
{
	(void)state;
	put(0, 5);
	assert_null(table_put(&table, UINT64_MAX));
	assert_null(table_find(&table, UINT64_MAX));
	assert_int_equal(table.count, 1);
	put(UINT64_MAX - 1, 6);
	assert_int_equal(value_of(UINT64_MAX - 1), 6);
}

static void test_growth_keeps_all(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		put(key_of(i), i + 1);
	assert_int_equal(table.count, MANY);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(value_of(key_of(i)), i + 1);
	assert_null(table_find(&table, key_of(MANY)));
}

static void test_iteration_sees_each_once(void **state)
{
	static uint8_t seen[MANY];
	unsigned count = 0;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		put(key_of(i), i);
	for (const struct number *n = NULL; (n = table_next(&table, n)); count++)
		assert_int_equal(seen[n->value]++, 0);
	assert_int_equal(count, MANY);
}

static bool is_odd(void *record, void *calls)
{
	const struct number *n = record;

	++*(unsigned *)calls;
	return n->value % 2;
}

static void test_removal(void **state)
{
	unsigned calls = 0;

	(void)state;
	assert_true(table_remove(&table, is_odd, &calls));
	assert_int_equal(calls, 0);
	for (uint32_t i = 0; i < MANY; i++)
		put(key_of(i), i);
	assert_true(table_remove(&table, is_odd, &calls));
	assert_int_equal(calls, MANY);
	assert_int_equal(table.count, MANY / 2);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(table_find(&table, key_of(i)) != NULL, i % 2 == 0);
	put(key_of(1), 1);
	assert_int_equal(value_of(key_of(1)), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_empty_table),
		TEST(test_a_new_record_is_zero),
		TEST(test_the_same_key_again),
		TEST(test_the_largest_number_is_no_key),
		TEST(test_growth_keeps_all),
		TEST(test_iteration_sees_each_once),
		TEST(test_removal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests the memory budget of handles (read/budget.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "read/budget.h"

static void no_more_than_there_is(void **state)
{
	struct budget b = {.most = 100};

	(void)state;
	assert_true(budget_take(&b, 60));
	assert_false(budget_take(&b, 41));
	assert_false(budget_take(&b, SIZE_MAX));
	assert_int_equal(b.used, 60);
	assert_int_equal(b.refused, 2);
	assert_true(budget_take(&b, 40));
	assert_false(budget_take(&b, 1));
	budget_give(&b, 100);
	assert_true(budget_take(&b, 100));
}

static void what_can_be_spared_leaves_half(void **state)
{
	struct budget b = {.most = 100};

	(void)state;
	assert_true(budget_take(&b, 20));
	assert_false(budget_take_spare(&b, 31));
	assert_true(budget_take_spare(&b, 30));
	assert_false(budget_take_spare(&b, 1));
	assert_int_equal(b.refused, 0);
	assert_true(budget_take(&b, 50));
	assert_false(budget_take_spare(&b, 1));
}

static void without_a_limit(void **state)
{
	struct budget b = {0};

	(void)state;
	assert_true(budget_take(&b, SIZE_MAX / 2));
	assert_true(budget_take_spare(&b, SIZE_MAX / 2));
	assert_true(budget_take(NULL, SIZE_MAX));
	assert_true(budget_take_spare(NULL, SIZE_MAX));
	budget_give(NULL, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_than_there_is),
		cmocka_unit_test(what_can_be_spared_leaves_half),
		cmocka_unit_test(without_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

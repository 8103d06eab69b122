// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests of xen-backend/ring/spin.h and of the rule in vread-spin.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ring/spin.h"
#include "vread-spin.h"

/* Waits that were short make the spin longer, up to a limit, however it was before. */
static void test_grows_after_short_waits(void **state)
{
	static const unsigned expected[] = {10000, 20000, 40000, 50000, 50000};
	unsigned ns = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		ns = vread_spin_ns(ns, VREAD_SPIN_MOST_NS);
		assert_int_equal(ns, expected[i]);
	}
}

/* Who is called rarely must not spin at all. */
static void test_ends_after_long_waits(void **state)
{
	static const unsigned expected[] = {25000, 12500, 0, 0};
	unsigned ns = VREAD_SPIN_MOST_NS;

	(void)state;
	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		ns = vread_spin_ns(ns, VREAD_SPIN_MOST_NS + 1);
		assert_int_equal(ns, expected[i]);
	}
}

static bool third_time(void *count)
{
	return ++*(unsigned *)count == 3;
}

static bool never(void *count)
{
	++*(unsigned *)count;
	return false;
}

static void test_looks_until_it_is_there(void **state)
{
	struct spin s = {.allowed = true, .ns = UINT32_MAX};
	unsigned count = 0;

	(void)state;
	assert_true(spin_until(&s, third_time, &count));
	assert_int_equal(count, 3);
}

static void test_looks_not_for_long(void **state)
{
	struct spin s = {.allowed = true, .ns = 1};
	unsigned count = 0;

	(void)state;
	assert_false(spin_until(&s, never, &count));
	assert_true(count > 0);
	s.ns = count = 0;
	assert_false(spin_until(&s, third_time, &count));
	assert_int_equal(count, 0);
}

/* With one processor nobody could send a request meanwhile: nothing is learnt. */
static void test_learns_only_where_it_is_allowed(void **state)
{
	struct spin s = {.allowed = true, .ns = VREAD_SPIN_MOST_NS};

	(void)state;
	spin_waited(&s, clock_measure_ns() - 1000000000U);
	assert_int_equal(s.ns, VREAD_SPIN_MOST_NS / 2);
	s.allowed = false;
	spin_waited(&s, clock_measure_ns() - 1000000000U);
	assert_int_equal(s.ns, VREAD_SPIN_MOST_NS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows_after_short_waits),
		cmocka_unit_test(test_ends_after_long_waits),
		cmocka_unit_test(test_looks_until_it_is_there),
		cmocka_unit_test(test_looks_not_for_long),
		cmocka_unit_test(test_learns_only_where_it_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* When a worker watches its ring, and when it gives up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "ring/patience.h"

static bool comes_at_the_third_look(void *ctx)
{
	return ++*(unsigned *)ctx == 3;
}

static bool never_comes(void *ctx)
{
	++*(unsigned *)ctx;
	return false;
}

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){0, ns}, NULL);
}

static struct patience after_short_pause(void)
{
	struct patience p = {.possible = true};

	patience_sleep(&p);
	patience_wake(&p);
	return p;
}

static void a_short_pause_makes_it_watch(void **state)
{
	struct patience p = after_short_pause();
	unsigned looks = 0;

	(void)state;
	assert_true(patience_watch(&p, comes_at_the_third_look, &looks));
	assert_int_equal(looks, 3);
	assert_true(p.pays);
}

static void in_vain_is_once(void **state)
{
	struct patience p = after_short_pause();
	unsigned looks = 0, more = 0;

	(void)state;
	assert_false(patience_watch(&p, never_comes, &looks));
	assert_true(looks > 0);
	assert_false(patience_watch(&p, never_comes, &more));
	assert_int_equal(more, 0);
}

static void a_long_pause_ends_it(void **state)
{
	struct patience p = after_short_pause();
	unsigned looks = 0;

	(void)state;
	patience_sleep(&p);
	sleep_ns(4 * PATIENCE_MAX_NS);
	patience_wake(&p);
	assert_false(patience_watch(&p, never_comes, &looks));
	assert_int_equal(looks, 0);
}

static void not_with_one_processor(void **state)
{
	struct patience p = {.possible = false};
	unsigned looks = 0;

	(void)state;
	patience_sleep(&p);
	patience_wake(&p);
	assert_false(patience_watch(&p, never_comes, &looks));
	assert_int_equal(looks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_pause_makes_it_watch),
		cmocka_unit_test(in_vain_is_once),
		cmocka_unit_test(a_long_pause_ends_it),
		cmocka_unit_test(not_with_one_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

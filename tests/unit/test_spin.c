// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests of xenstore-schema/vread-spin.h: when the ends of a ring spin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "vread-spin.h"

#define SHORT VREAD_SPIN_NS
#define HANDOVER (VREAD_SPIN_NS + VREAD_SPIN_HANDOVER_NS)
#define LONG (HANDOVER + 1)

static struct vread_spin after(uint64_t waited)
{
	struct vread_spin s = vread_spin_new(2);

	vread_spin_waited(&s, waited);
	return s;
}

static void test_spins_after_a_short_wait(void **state)
{
	(void)state;
	assert_false(vread_spin_new(2).on);
	assert_true(after(SHORT).on);
	assert_false(after(SHORT + 1).on);
}

static void test_does_not_spin_where_nobody_else_can_run(void **state)
{
	struct vread_spin s = vread_spin_new(1);

	(void)state;
	vread_spin_waited(&s, SHORT);
	assert_false(s.on);
}

static void test_three_long_waits_in_a_row_end_it(void **state)
{
	struct vread_spin s = after(SHORT);

	(void)state;
	vread_spin_waited(&s, LONG);
	vread_spin_waited(&s, LONG);
	assert_true(s.on);
	vread_spin_waited(&s, SHORT);
	vread_spin_waited(&s, LONG);
	vread_spin_waited(&s, LONG);
	assert_true(s.on);
	vread_spin_waited(&s, LONG);
	assert_false(s.on);
	vread_spin_waited(&s, LONG);
	assert_false(s.on);
	vread_spin_waited(&s, SHORT);
	assert_true(s.on);
}

/* Short waits until it spins again. */
static unsigned pause_of(struct vread_spin *s)
{
	unsigned waits = 0;

	for (vread_spin_waited(s, SHORT); !s->on; vread_spin_waited(s, SHORT))
		waits++;
	return waits;
}

static void wait_three_times(struct vread_spin *s, uint64_t waited)
{
	assert_true(s->on);
	for (unsigned i = 0; i < VREAD_SPIN_LONG_WAITS; i++)
		vread_spin_waited(s, waited);
	assert_false(s->on);
}

/* The other end answers as soon as this one sleeps: a spin is what it waits for. */
static void test_a_spin_that_hinders_the_other_end_is_not_repeated(void **state)
{
	struct vread_spin s = after(SHORT);
	unsigned pause = VREAD_SPIN_FIRST_PAUSE;

	(void)state;
	for (int i = 0; i < 10; i++) {
		wait_three_times(&s, HANDOVER);
		assert_int_equal(pause_of(&s), pause);
		if (pause < VREAD_SPIN_LONGEST_PAUSE)
			pause *= 2;
	}
	assert_int_equal(pause, VREAD_SPIN_LONGEST_PAUSE);
	vread_spin_waited(&s, SHORT);
	wait_three_times(&s, HANDOVER);
	assert_int_equal(pause_of(&s), VREAD_SPIN_FIRST_PAUSE);
}

/* A busy machine makes single waits last a little longer than a spin. */
static void test_single_handovers_do_not_end_it(void **state)
{
	struct vread_spin s = after(SHORT);

	(void)state;
	for (int i = 0; i < 100; i++) {
		vread_spin_waited(&s, HANDOVER);
		vread_spin_waited(&s, HANDOVER);
		vread_spin_waited(&s, SHORT);
		assert_true(s.on);
	}
}

static void test_handovers_among_long_waits_make_no_pause(void **state)
{
	struct vread_spin s = after(SHORT);

	(void)state;
	vread_spin_waited(&s, HANDOVER);
	vread_spin_waited(&s, LONG);
	vread_spin_waited(&s, HANDOVER);
	assert_false(s.on);
	assert_int_equal(pause_of(&s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spins_after_a_short_wait),
		cmocka_unit_test(test_does_not_spin_where_nobody_else_can_run),
		cmocka_unit_test(test_three_long_waits_in_a_row_end_it),
		cmocka_unit_test(test_a_spin_that_hinders_the_other_end_is_not_repeated),
		cmocka_unit_test(test_single_handovers_do_not_end_it),
		cmocka_unit_test(test_handovers_among_long_waits_make_no_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

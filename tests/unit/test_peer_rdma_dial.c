/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests peer/rdma/dial.h: when an asker dials, and which way READs go in the meantime. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "peer/rdma/dial.h"

#define BEGIN 1000U
static const struct rdma_choice both = {.or_tls = true, .patience = 300};

static void test_reads_wait_a_while_for_the_first(void **state)
{
	struct rdma_dial d;

	(void)state;
	rdma_dial_begin(&d, &both, BEGIN);
	assert_true(rdma_dial_is_due(&d, BEGIN));
	assert_false(rdma_dial_is_due(&d, BEGIN));
	assert_int_equal(rdma_dial_next(&d, BEGIN), BEGIN + 300);
	assert_false(rdma_dial_goes_by_tls(&d, BEGIN + 299));
	assert_true(rdma_dial_goes_by_tls(&d, BEGIN + 300));
	rdma_dial_succeeded(&d);
	assert_false(rdma_dial_goes_by_tls(&d, BEGIN + 300));
	assert_int_equal(rdma_dial_next(&d, BEGIN + 300), UINT64_MAX);
}

static void test_a_call_nobody_answers_is_given_up(void **state)
{
	struct rdma_dial d;
	uint64_t end;

	(void)state;
	rdma_dial_begin(&d, &both, BEGIN);
	rdma_dial_is_due(&d, BEGIN);
	end = rdma_dial_next(&d, BEGIN + 300);
	assert_true(end > BEGIN + 300 && end < BEGIN + 60000);
	assert_false(rdma_dial_is_overdue(&d, end - 1));
	assert_true(rdma_dial_is_overdue(&d, end));
	assert_true(rdma_dial_failed(&d, end));
	assert_false(rdma_dial_is_overdue(&d, end));
	assert_true(rdma_dial_goes_by_tls(&d, end));
}

static void test_pauses_grow_and_end(void **state)
{
	uint64_t now = BEGIN, pause, before = 0, longest = 0;
	struct rdma_dial d;

	(void)state;
	rdma_dial_begin(&d, &both, now);
	for (unsigned i = 0; i < 20; i++) {
		assert_true(rdma_dial_is_due(&d, now));
		assert_true(rdma_dial_failed(&d, now));
		pause = rdma_dial_next(&d, now) - now;
		assert_true(pause > before || (i > 3 && pause == before));
		assert_false(rdma_dial_is_due(&d, now + pause - 1));
		assert_true(rdma_dial_goes_by_tls(&d, now + pause - 1));
		before = longest = pause;
		now += pause;
	}
	assert_int_equal(longest, 60000);
}

static void test_nothing_waits_during_a_first_pause(void **state)
{
	const struct rdma_choice later = {.or_tls = true, .patience = 300, .pause = 5000};
	struct rdma_dial d;

	(void)state;
	rdma_dial_begin(&d, &later, BEGIN);
	assert_false(rdma_dial_is_due(&d, BEGIN + 4999));
	assert_true(rdma_dial_goes_by_tls(&d, BEGIN));
	assert_int_equal(rdma_dial_next(&d, BEGIN), BEGIN + 5000);
	assert_true(rdma_dial_is_due(&d, BEGIN + 5000));
	assert_true(rdma_dial_goes_by_tls(&d, BEGIN + 5000));
}

static void test_where_there_is_no_other_way_the_first_failure_is_the_end(void **state)
{
	const struct rdma_choice only = {.or_tls = false};
	struct rdma_dial d;

	(void)state;
	rdma_dial_begin(&d, &only, BEGIN);
	assert_true(rdma_dial_is_due(&d, BEGIN));
	assert_false(rdma_dial_goes_by_tls(&d, BEGIN + 1));
	assert_false(rdma_dial_failed(&d, BEGIN + 1));
	assert_false(rdma_dial_goes_by_tls(&d, BEGIN + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_wait_a_while_for_the_first),
		cmocka_unit_test(test_a_call_nobody_answers_is_given_up),
		cmocka_unit_test(test_pauses_grow_and_end),
		cmocka_unit_test(test_nothing_waits_during_a_first_pause),
		cmocka_unit_test(test_where_there_is_no_other_way_the_first_failure_is_the_end),
	};

	return cmocka_run_group_tests_name("peer_rdma_dial", tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests a link's choices for RDMA (peer/asking/): how long READs wait for a queue pair, how long
 * packets may stay unacknowledged, and the pause after RDMA failed.  rdma_ask() here only records
 * the choice.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "own_clock.h"
#include "peer/asking/link_private.h"

static struct rdma_choice asked;
static struct transport stream, queue_pair;
static bool failed;

struct transport *rdma_ask(struct rdma *r, const struct sockaddr *address,
			   const struct rdma_secret *secret, unsigned credits,
			   const struct rdma_choice *choice, struct transport *over,
			   char **ret_error)
{
	(void)r, (void)address, (void)secret, (void)credits, (void)ret_error;
	assert_ptr_equal(over, &stream);
	asked = *choice;
	return &queue_pair;
}

bool rdma_has_failed(const struct transport *t)
{
	assert_ptr_equal(t, &queue_pair);
	return failed;
}

bool rdma_goes_by_tls(const struct transport *t, const char **ret_why)
{
	assert_ptr_equal(t, &queue_pair);
	*ret_why = "";
	return true;
}

int link_failed(struct link *l, int error, const char *format, ...)
{
	(void)l, (void)format;
	return error;
}

static struct link connection(unsigned answer_timeout, unsigned transports)
{
	return (struct link){
		.settings = {.answer_timeout = answer_timeout, .transports = transports},
		.transport = &stream,
	};
}

static struct rdma_choice choice_of(unsigned answer_timeout)
{
	struct link l = connection(answer_timeout, MESSAGE_TRANSPORT_RDMA | MESSAGE_TRANSPORT_TLS);

	assert_int_equal(link_use_rdma(&l, 8), 0);
	assert_true(l.by_rdma);
	assert_ptr_equal(l.transport, &queue_pair);
	return asked;
}

static void a_fabric_has_longer_than_a_short_answer_timeout(void **state)
{
	(void)state;
	assert_int_equal(choice_of(100).give_up, 1500);
	assert_int_equal(choice_of(1500).give_up, 1500);
	assert_int_equal(choice_of(60000).give_up, 60000);
}

static void reads_wait_for_a_part_of_their_time(void **state)
{
	(void)state;
	assert_int_equal(choice_of(1500).patience, 375);
	assert_int_equal(choice_of(60000).patience, 1000);
}

static void without_tls_nothing_else_is_possible(void **state)
{
	struct link l = connection(1500, MESSAGE_TRANSPORT_RDMA);

	(void)state;
	assert_int_equal(link_use_rdma(&l, 8), 0);
	assert_false(asked.or_tls);
}

static void rdma_that_failed_before_it_carried_anything_rests(void **state)
{
	struct link l = connection(1500, MESSAGE_TRANSPORT_RDMA | MESSAGE_TRANSPORT_TLS);

	(void)state;
	assert_int_equal(link_use_rdma(&l, 8), 0);
	assert_int_equal(asked.pause, 0);
	failed = true;
	link_end_rdma(&l);
	failed = false;
	own_clock_advance(20000);
	l.transport = &stream;
	assert_int_equal(link_use_rdma(&l, 8), 0);
	assert_int_equal(asked.pause, 40000);
	own_clock_advance(40000);
	l.transport = &stream;
	assert_int_equal(link_use_rdma(&l, 8), 0);
	assert_int_equal(asked.pause, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fabric_has_longer_than_a_short_answer_timeout),
		cmocka_unit_test(reads_wait_for_a_part_of_their_time),
		cmocka_unit_test(without_tls_nothing_else_is_possible),
		cmocka_unit_test(rdma_that_failed_before_it_carried_anything_rests),
	};

	own_clock_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

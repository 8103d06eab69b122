/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests policy/key_agent.h with an agent that the test plays: slots, and an agent that reads
 * nothing.  tests/protocol/test_key_agent.py tests the real one.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "own_clock.h"
#include "policy/key_agent.h"

static int agent; /* its end of the channel */
static unsigned forgotten[KEY_AGENT_SLOTS];

static int begin(void **state)
{
	const struct key_agent_answer ready = {0};
	int pair[2];

	(void)state;
	memset(forgotten, 0, sizeof(forgotten));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	agent = pair[1];
	if (send(agent, &ready, sizeof(ready), 0) < 0)
		return -1;
	return key_agent_use(pair[0]);
}

static int end(void **state)
{
	(void)state;
	key_agent_end();
	return close(agent);
}

/* Reads until a question comes, and answers it. */
static void *answer_one(void *arg)
{
	const struct key_agent_answer a = {.count = 2, .newest = 5};
	struct key_agent_request q;

	(void)arg;
	while (recv(agent, &q, sizeof(q), 0) == sizeof(q) && q.kind == KEY_AGENT_FORGET)
		forgotten[q.slot]++;
	assert_int_equal(q.kind, KEY_AGENT_KEYS);
	assert_int_equal(send(agent, &a, sizeof(a), 0), sizeof(a));
	return NULL;
}

static void ask_for_keys(uint32_t slot)
{
	struct key_facts facts;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, answer_one, NULL), 0);
	assert_int_equal(key_agent_keys(slot, NULL, 0, &facts), 0);
	assert_int_equal(facts.count, 2);
	assert_int_equal(facts.newest, 5);
	pthread_join(thread, NULL);
}

/* All slots are given back at once, which is more than the channel has room for.  Nobody waits, and
 * each is forgotten once, before the next question. */
static void more_is_forgotten_than_has_room(void **state)
{
	uint32_t slot, taken = 0;

	(void)state;
	while (key_agent_take_slot(&slot) == 0)
		taken++;
	assert_int_equal(taken, KEY_AGENT_SLOTS - 1);
	for (slot = 1; slot < KEY_AGENT_SLOTS; slot++)
		key_agent_give_slot(slot);
	assert_int_equal(key_agent_take_slot(&slot), 0);
	ask_for_keys(slot);
	assert_int_equal(forgotten[KEY_AGENT_NO_KEYS], 0);
	for (uint32_t i = 1; i < KEY_AGENT_SLOTS; i++)
		assert_int_equal(forgotten[i], 1);
	key_agent_give_slot(slot);
	for (taken = 0; key_agent_take_slot(&slot) == 0;)
		taken++;
	assert_int_equal(taken, KEY_AGENT_SLOTS - 1);
	for (slot = 1; slot < KEY_AGENT_SLOTS; slot++)
		key_agent_give_slot(slot);
}

static void *pass_the_limit(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		clock_rest_us(5000);
		own_clock_advance(1000);
	}
	return NULL;
}

/* With a channel that is full, and with one that is not. */
static void an_agent_that_reads_nothing(void **state)
{
	unsigned forgets = *state ? 2000 : 0;
	struct key_facts facts;
	pthread_t thread;
	uint64_t number;
	uint32_t slot;

	for (unsigned i = 0; i < forgets; i++) {
		assert_int_equal(key_agent_take_slot(&slot), 0);
		key_agent_give_slot(slot);
	}
	assert_int_equal(pthread_create(&thread, NULL, pass_the_limit, NULL), 0);
	assert_int_equal(key_agent_keys(1, NULL, 0, &facts), -EIO);
	pthread_join(thread, NULL);
	assert_int_equal(key_agent_judge(1, "BP-1", 1, "x", 1, &number),
			 TOKEN_NOT_JUDGED); /* at once */
}

static void nonsense_as_an_answer(void **state)
{
	const struct key_agent_answer answers[] = {{.result = TOKEN_NOT_JUDGED},
						   {.result = TOKEN_VERDICTS},
						   {.result = TOKEN_VALID}, /* by no key */
						   {.result = -EPERM}};
	uint64_t number;

	(void)state;
	for (unsigned i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		assert_true(send(agent, &answers[i], sizeof(answers[i]), 0) > 0);
		assert_int_equal(key_agent_judge(1, "BP-1", 1, "x", 1, &number), TOKEN_NOT_JUDGED);
	}
	assert_true(send(agent, "x", 1, 0) > 0);
	assert_int_equal(key_agent_judge(1, "BP-1", 1, "x", 1, &number), TOKEN_NOT_JUDGED);
}

int main(void)
{
	static int full = 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(more_is_forgotten_than_has_room, begin, end),
		cmocka_unit_test_setup_teardown(an_agent_that_reads_nothing, begin, end),
		{"an_agent_that_reads_nothing, full", an_agent_that_reads_nothing, begin, end,
		 &full},
		cmocka_unit_test_setup_teardown(nonsense_as_an_answer, begin, end),
	};
	int failed;

	own_clock_start();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	own_clock_end();
	return failed;
}

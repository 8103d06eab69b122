// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests disk/opener.h where vread-opener does not answer, or answers nonsense. The test itself is
 * the opener, on the other ends of the channels. What the real opener answers is tested in
 * tests/protocol/test_opener.py.
 *
 * The tests run in this order: the opener of a process cannot be exchanged.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "disk/opener.h"
#include "eventually.h"
#include "own_clock.h"

#define WAIT_MS 10000U /* for a channel; as in disk/opener.c */

static int theirs[OPENER_CHANNELS];
static pthread_t askers[OPENER_CHANNELS];
static int found[OPENER_CHANNELS]; /* what each asker was told: 0 or an errno */

static void answer(int channel, int32_t result)
{
	const struct opener_answer a = {.result = result, .mode = S_IFREG};

	assert_int_equal(send(theirs[channel], &a, sizeof(a), 0), sizeof(a));
}

static void *ask(void *arg)
{
	int *ret = arg;
	struct stat st;

	*ret = opener_stat("/hung", &st) < 0 ? errno : 0;
	return NULL;
}

/* Takes a request, which the opener does not answer yet. */
static void take_request(int channel)
{
	char request[OPENER_MAX_REQUEST];

	assert_true(recv(theirs[channel], request, sizeof(request), 0) > 0);
}

static int start(void **state)
{
	int ours[OPENER_CHANNELS];

	(void)state;
	own_clock_start();
	for (unsigned i = 0; i < OPENER_CHANNELS; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
			return -1;
		ours[i] = pair[0];
		theirs[i] = pair[1];
	}
	answer(0, 0); /* READY */
	return opener_use(ours);
}

static int end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < OPENER_CHANNELS; i++)
		close(theirs[i]);
	own_clock_end();
	return 0;
}

static void *open_one_more(void *ret_error)
{
	return (void *)(intptr_t)opener_image("/good", ret_error);
}

static void test_files_that_hang_are_named(void **state)
{
	pthread_t one_more;
	char *error = NULL;
	void *r;

	(void)state;
	for (unsigned i = 0; i < OPENER_CHANNELS; i++) {
		assert_int_equal(pthread_create(&askers[i], NULL, ask, &found[i]), 0);
		take_request((int)i);
	}
	assert_int_equal(pthread_create(&one_more, NULL, open_one_more, &error), 0);
	/* The thread begins to wait at some moment; the clock goes on until the wait is over. */
	while (pthread_tryjoin_np(one_more, &r) == EBUSY) {
		own_clock_advance(WAIT_MS / 100);
		clock_rest_us(1000);
	}
	assert_int_equal((intptr_t)r, -EBUSY);
	assert_string_equal(error, "image /good: vread-opener waits for 16 other files, among them "
				   "/hung: check the storage below these");
	free(error);
}

static void test_an_answer_makes_room(void **state)
{
	pthread_t one_more;
	char *error = NULL;
	void *r;

	(void)state;
	answer(3, 0);
	assert_int_equal(pthread_join(askers[3], NULL), 0);
	assert_int_equal(found[3], 0);
	assert_int_equal(pthread_create(&one_more, NULL, open_one_more, &error), 0);
	take_request(3);
	answer(3, -ENOENT);
	assert_int_equal(pthread_join(one_more, &r), 0);
	assert_int_equal((intptr_t)r, -ENOENT);
	free(error);
}

static void test_names_that_are_too_long(void **state)
{
	char *name = calloc(1, PATH_MAX + 1), *error = NULL;

	(void)state;
	memset(name, '/', PATH_MAX);
	assert_int_equal(opener_image(name, &error), -ENAMETOOLONG);
	free(error);
	free(name);
}

/* Whoever asks must not take a later answer for that of the next question. */
static void test_nonsense_ends_every_question(void **state)
{
	char *error = NULL;

	(void)state;
	assert_int_equal(send(theirs[5], "x", 1, 0), 1);
	for (unsigned i = 0; i < OPENER_CHANNELS; i++)
		if (i != 3) {
			assert_int_equal(pthread_join(askers[i], NULL), 0);
			assert_int_equal(found[i], i == 5 ? EBADMSG : EPIPE);
		}
	for (unsigned i = 0; i < OPENER_CHANNELS; i++) {
		char byte;

		/* The opener sees the end of each channel, and ends, too. */
		assert_int_equal(recv(theirs[i], &byte, 1, 0), 0);
	}
	assert_int_equal(opener_image("/good", &error), -EPIPE);
	assert_string_equal(error, "image /good: vread-opener has ended");
	free(error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_that_hang_are_named),
		cmocka_unit_test(test_an_answer_makes_room),
		cmocka_unit_test(test_names_that_are_too_long),
		cmocka_unit_test(test_nonsense_ends_every_question),
	};

	return cmocka_run_group_tests(tests, start, end);
}

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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "disk/opener.h"
#include "eventually.h"
#include "own_clock.h"

#define LIMIT_MS 10000U /* of an answer, and of the wait for a channel; as in disk/opener.c */

struct asker {
	pthread_t thread;
	char path[16];
	enum opener_whose whose;
	int error; /* 0 or negative errno */
};

static int theirs[OPENER_CHANNELS];
static struct asker askers[OPENER_CHANNELS];

/* With a descriptor, unless fd is -1. */
static void answer(int channel, int32_t result, int fd)
{
	struct opener_answer fixed = {.result = result, .mode = S_IFREG};
	struct iovec part = {&fixed, sizeof(fixed)};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.align = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
	}
	assert_int_equal(sendmsg(theirs[channel], &m, 0), sizeof(fixed));
}

static void *ask(void *arg)
{
	struct asker *a = arg;
	struct stat st;

	a->error = opener_stat(a->path, a->whose, &st);
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
	answer(0, 0, -1); /* READY */
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

/* Lets time pass until the thread has ended. */
static int end_of(pthread_t thread)
{
	void *r;

	while (pthread_tryjoin_np(thread, &r) == EBUSY) {
		own_clock_advance(LIMIT_MS / 100);
		clock_rest_us(1000);
	}
	return (int)(intptr_t)r;
}

static void begin(unsigned i, enum opener_whose whose)
{
	struct asker *a = &askers[i];

	snprintf(a->path, sizeof(a->path), "/hung-%u", i);
	a->whose = whose;
	assert_int_equal(pthread_create(&a->thread, NULL, ask, a), 0);
	take_request((int)i);
}

/* Files that are no images leave channels for images. */
static void test_files_of_others(void **state)
{
	struct asker own = {.path = "/hung-0", .whose = OPENER_OURS};
	struct stat st;

	(void)state;
	for (unsigned i = 0; i < OPENER_OTHERS_MAX; i++)
		begin(i, OPENER_OTHERS);
	assert_int_equal(opener_stat("/other", OPENER_OTHERS, &st), -ENOBUFS);
	for (unsigned i = 0; i < OPENER_OTHERS_MAX; i++) {
		end_of(askers[i].thread);
		assert_int_equal(askers[i].error, -ETIMEDOUT);
	}
	assert_int_equal(opener_stat("/other", OPENER_OTHERS, &st), -ENOBUFS);
	assert_int_equal(opener_stat("/hung-0", OPENER_OTHERS, &st), -EBUSY);
	assert_int_equal(pthread_create(&own.thread, NULL, ask, &own), 0);
	take_request(OPENER_OTHERS_MAX);
	answer(OPENER_OTHERS_MAX, 0, -1);
	pthread_join(own.thread, NULL);
	assert_int_equal(own.error, 0);
	for (unsigned i = 0; i < OPENER_OTHERS_MAX; i++)
		answer((int)i, 0, -1);
}

static void test_nobody_waits_for_ever(void **state)
{
	pthread_t one_more;
	char *error = NULL;

	(void)state;
	for (unsigned i = 0; i < OPENER_CHANNELS; i++)
		begin(i, OPENER_OURS);
	assert_int_equal(pthread_create(&one_more, NULL, open_one_more, &error), 0);
	assert_int_equal(end_of(one_more), -ENOBUFS);
	assert_string_equal(error, "image /good: vread-opener waits for 16 other files, among them "
				   "/hung-0: check the storage below these");
	free(error);
	for (unsigned i = 0; i < OPENER_CHANNELS; i++) {
		end_of(askers[i].thread);
		assert_int_equal(askers[i].error, -ETIMEDOUT);
	}
}

/* A file that hangs keeps one channel, however often vreadd looks for it. */
static void test_a_file_that_hangs_is_asked_for_once(void **state)
{
	char *error = NULL;

	(void)state;
	assert_int_equal(opener_image("/hung-3", &error), -EBUSY);
	assert_string_equal(error,
			    "image /hung-3: vread-opener still waits for this file: check the "
			    "storage below it");
	free(error);
}

/* A late answer makes room. It is not taken for the answer of the next question. */
static void test_a_late_answer(void **state)
{
	pthread_t one_more;
	char *error = NULL, byte;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	answer(3, 0, ends[1]);
	close(ends[1]);
	assert_int_equal(pthread_create(&one_more, NULL, open_one_more, &error), 0);
	take_request(3);
	assert_int_equal(read(ends[0], &byte, 1), 0); /* its descriptor was closed */
	close(ends[0]);
	answer(3, -ENOENT, -1);
	assert_int_equal(end_of(one_more), -ENOENT);
	free(error);
}

static void test_an_answer_in_time(void **state)
{
	pthread_t one_more;
	char *error = NULL;
	int given = dup(STDERR_FILENO), fd;

	(void)state;
	assert_int_equal(pthread_create(&one_more, NULL, open_one_more, &error), 0);
	take_request(3);
	answer(3, 0, given);
	close(given);
	fd = end_of(one_more);
	assert_null(error);
	assert_true(fd > STDERR_FILENO);
	close(fd);
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

static void test_nonsense_ends_the_opener(void **state)
{
	char *error = NULL, byte;

	(void)state;
	assert_int_equal(send(theirs[5], "x", 1, 0), 1);
	assert_int_equal(opener_image("/good", &error), -EPIPE);
	assert_string_equal(error, "image /good: vread-opener has ended");
	free(error);
	for (unsigned i = 0; i < OPENER_CHANNELS; i++) /* it sees the end of each channel */
		assert_int_equal(recv(theirs[i], &byte, 1, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_of_others),
		cmocka_unit_test(test_nobody_waits_for_ever),
		cmocka_unit_test(test_a_file_that_hangs_is_asked_for_once),
		cmocka_unit_test(test_a_late_answer),
		cmocka_unit_test(test_an_answer_in_time),
		cmocka_unit_test(test_names_that_are_too_long),
		cmocka_unit_test(test_nonsense_ends_the_opener),
	};

	return cmocka_run_group_tests(tests, start, end);
}

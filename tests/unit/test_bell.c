// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests base/bell.h: eventfds are rung, and no eventfd makes the ringer wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bell.h"

#define FULL (UINT64_MAX - 1)

static int new_bell(void **state)
{
	return bell_new((struct bell **)state);
}

static int free_bell(void **state)
{
	bell_free(*state);
	return 0;
}

static void each_ring_counts(void **state)
{
	int fd = eventfd(0, EFD_NONBLOCK);
	eventfd_t count;

	for (unsigned i = 0; i < 1000; i++)
		bell_ring(*state, fd);
	assert_int_equal(eventfd_read(fd, &count), 0);
	assert_int_equal(count, 1000);
	assert_int_equal(eventfd_read(fd, &count), -1);
	close(fd);
}

/* A write(2) would wait here until somebody reads. */
static void a_full_counter_makes_nobody_wait(void **state)
{
	int fd = eventfd(0, 0);
	eventfd_t count;

	assert_int_equal(eventfd_write(fd, FULL), 0);
	bell_ring(*state, fd);
	bell_ring(*state, fd);
	assert_int_equal(eventfd_read(fd, &count), 0);
	assert_true(count >= FULL);
	bell_ring(*state, fd);
	assert_int_equal(eventfd_read(fd, &count), 0);
	assert_int_equal(count, 1);
	close(fd);
}

/* Whoever waits for edges gets one for each ring, without reading. */
static void each_ring_is_an_edge(void **state)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int fd = eventfd(0, EFD_NONBLOCK), epoll = epoll_create1(0);

	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
		bell_ring(*state, fd);
		assert_int_equal(epoll_wait(epoll, &event, 1, 0), 1);
	}
	close(epoll);
	close(fd);
}

/* As of a process that has closed its ends. */
static void what_is_no_eventfd_is_ignored(void **state)
{
	bell_ring(*state, -1);
	bell_ring(*state, STDERR_FILENO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_ring_counts),
		cmocka_unit_test(a_full_counter_makes_nobody_wait),
		cmocka_unit_test(each_ring_is_an_edge),
		cmocka_unit_test(what_is_no_eventfd_is_ignored),
	};

	return cmocka_run_group_tests(tests, new_bell, free_bell);
}

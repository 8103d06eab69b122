/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of port/doorbell.h: what a worker sees of an eventfd that the other end has, too. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "port/doorbell.h"

static int fd;

static int make_doorbell(void **state)
{
	(void)state;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return fd < 0;
}

static int close_doorbell(void **state)
{
	(void)state;
	return close(fd);
}

static void a_ring_is_counted(void **state)
{
	eventfd_t count;

	(void)state;
	doorbell_ring(fd);
	doorbell_ring(fd);
	assert_int_equal(eventfd_read(fd, &count), 0);
	assert_int_equal(count, 2);
}

static void a_full_doorbell_is_left_as_it_is(void **state)
{
	eventfd_t count;

	(void)state;
	assert_int_equal(eventfd_write(fd, UINT64_MAX - 1), 0);
	doorbell_ring(fd);
	assert_int_equal(eventfd_read(fd, &count), 0);
	assert_int_equal(count, UINT64_MAX - 1);
}

/* True if the epoll is readable; takes nothing. */
static bool is_readable(int epoll)
{
	struct epoll_event event;
	int outer = epoll_create1(EPOLL_CLOEXEC), n;

	event.events = EPOLLIN;
	assert_int_equal(epoll_ctl(outer, EPOLL_CTL_ADD, epoll, &event), 0);
	n = epoll_wait(outer, &event, 1, 0);
	close(outer);
	return n == 1;
}

static void each_write_is_an_edge(void **state)
{
	int epoll = doorbell_watch(fd);
	eventfd_t count;

	(void)state;
	assert_true(epoll >= 0);
	assert_false(is_readable(epoll));
	for (int i = 0; i < 3; i++) { /* nobody reads the eventfd meanwhile */
		assert_int_equal(eventfd_write(fd, 1), 0);
		assert_true(is_readable(epoll));
		assert_int_equal(doorbell_take(epoll), 0);
		assert_false(is_readable(epoll));
	}
	assert_int_equal(doorbell_take(epoll), 0); /* nothing is pending */
	assert_int_equal(eventfd_read(fd, &count), 0);
	assert_int_equal(count, 3);
	close(epoll);
}

static void what_is_no_eventfd_cannot_be_watched(void **state)
{
	(void)state;
	assert_int_equal(doorbell_watch(-1), -EBADF);
	assert_int_equal(doorbell_take(-1), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_ring_is_counted, make_doorbell, close_doorbell),
		cmocka_unit_test_setup_teardown(a_full_doorbell_is_left_as_it_is, make_doorbell,
						close_doorbell),
		cmocka_unit_test_setup_teardown(each_write_is_an_edge, make_doorbell,
						close_doorbell),
		cmocka_unit_test(what_is_no_eventfd_cannot_be_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests base/clock.h: a wait ends when its time has come, on the kernel's clock or on a test's, or
 * when the awaited event happens.
 *
 * A thread that waits for a time of the test's clock notes that clock's time when it wakes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/timer.h"
#include "eventually.h"
#include "own_clock.h"
#include "whole_file.h"

#define LIMIT 10000U /* ms */
#define SHORT 20U    /* ms */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static int setup_own(void **state)
{
	(void)state;
	own_clock_start();
	return 0;
}

static int teardown_own(void **state)
{
	(void)state;
	own_clock_end();
	return 0;
}

/* ---- the kernel's time ------------------------------------------------------------ */

static void test_the_kernels_time(void **state)
{
	uint64_t begun = clock_measure_ns(), until = clock_ms() + SHORT;
	uint64_t file = clock_file_ms(), wall = clock_wall_ms();

	(void)state;
	assert_int_equal(clock_poll(NULL, 0, until), 0);
	assert_true(clock_ms() >= until);
	assert_true(clock_measure_ns() - begun > (SHORT - 1) * 1000000ULL);
	assert_true(wall >= file);
	assert_null(clock_setting());
}

static void test_waits_by_the_kernels_time(void **state)
{
	struct epoll_event e;
	int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	uint64_t until = clock_ms() + SHORT, expired;

	(void)state;
	assert_int_equal(clock_epoll(epoll, &e, until), 0);
	assert_true(clock_ms() >= until);

	until = clock_ms() + SHORT;
	pthread_mutex_lock(&lock);
	while (clock_wait(&cond, &lock, until))
		;
	pthread_mutex_unlock(&lock);
	assert_true(clock_ms() >= until);

	until = clock_ms() + SHORT;
	assert_int_equal(clock_set_timerfd(timer, until), 0);
	assert_int_equal(clock_poll(&(struct pollfd){.fd = timer, .events = POLLIN}, 1,
				    CLOCK_NEVER),
			 1);
	assert_true(clock_ms() >= until);
	assert_int_equal(read(timer, &expired, sizeof(expired)), sizeof(expired));
	assert_int_equal(clock_set_timerfd(timer, CLOCK_NEVER), 0);
	assert_int_equal(clock_slice(CLOCK_NEVER), -1);
	assert_int_equal(clock_slice(0), 0);
	assert_in_range(clock_slice(clock_ms() + 1000000), 1, 1000000);
	close(timer);
	close(epoll);
}

/* ---- a test's time ------------------------------------------------------------------ */

static void test_the_time_stands_still(void **state)
{
	uint64_t now = clock_ms();

	(void)state;
	clock_rest_us(3000);
	assert_int_equal(clock_ms(), now);
	assert_int_equal(clock_wall_ms(), now);
	own_clock_advance(LIMIT);
	assert_int_equal(clock_ms(), now + LIMIT);
	assert_int_equal(clock_wall_ms(), now + LIMIT);
	assert_true(clock_file_ms() > now + LIMIT);
}

/* A thread that waits until a time in one of these ways, and the time at which it woke. */
struct waiter {
	enum { BY_POLL, BY_EPOLL, BY_COND, BY_TIMERFD, WAYS } way;
	int fd;
	uint64_t until, woken;
};

static void wait_for_timerfd(int fd, uint64_t until)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t expired;

	clock_set_timerfd(fd, until);
	while (clock_ms() < until)
		if (clock_poll(&p, 1, CLOCK_NEVER) == 1 &&
		    read(fd, &expired, sizeof(expired)) != sizeof(expired))
			break;
}

static void *wait_for_moment(void *arg)
{
	struct waiter *w = arg;
	struct epoll_event e;

	switch (w->way) {
	case BY_POLL:
		clock_poll(NULL, 0, w->until);
		break;
	case BY_EPOLL:
		clock_epoll(w->fd, &e, w->until);
		break;
	case BY_COND:
		pthread_mutex_lock(&lock);
		while (clock_wait(&cond, &lock, w->until))
			;
		pthread_mutex_unlock(&lock);
		break;
	default:
		wait_for_timerfd(w->fd, w->until);
	}
	w->woken = clock_ms();
	return NULL;
}

static void test_a_limit_passes_when_the_test_says_so(void **state)
{
	(void)state;
	for (int way = 0; way < WAYS; way++) {
		struct waiter w = {way, -1, clock_ms() + LIMIT, 0};
		pthread_t thread;

		if (way == BY_EPOLL)
			w.fd = epoll_create1(0);
		else if (way == BY_TIMERFD)
			w.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		assert_int_equal(pthread_create(&thread, NULL, wait_for_moment, &w), 0);
		own_clock_advance(LIMIT - 1);
		clock_rest_us(20000); /* a wake that was too early is noted by then */
		own_clock_advance(1);
		pthread_join(thread, NULL);
		assert_int_equal(w.woken, w.until);
		if (w.fd >= 0)
			close(w.fd);
	}
}

static void *signal_cond(void *unused)
{
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void test_what_happens_ends_a_wait_while_time_stands_still(void **state)
{
	int fd = eventfd(1, EFD_NONBLOCK), epoll = epoll_create1(0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
	pthread_t thread;

	(void)state;
	assert_int_equal(clock_poll(&p, 1, clock_ms() + LIMIT), 1);
	assert_int_equal(p.revents, POLLIN);
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e), 0);
	memset(&e, 0, sizeof(e));
	assert_int_equal(clock_epoll(epoll, &e, clock_ms() + LIMIT), 1);
	assert_int_equal(e.data.fd, fd);

	pthread_mutex_lock(&lock);
	assert_int_equal(pthread_create(&thread, NULL, signal_cond, NULL), 0);
	assert_true(clock_wait(&cond, &lock, clock_ms() + LIMIT));
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	close(epoll);
	close(fd);
}

struct late {
	bool waits, happened;
	atomic_bool over;
};

static void *wait_until_happened(void *arg)
{
	struct late *l = arg;

	pthread_mutex_lock(&lock);
	l->waits = true;
	while (!l->happened)
		clock_wait(&cond, &lock, clock_ms() + LIMIT);
	pthread_mutex_unlock(&lock);
	l->over = true;
	return NULL;
}

/* The waiter's slice of real time ends while the mutex is held.  Then the signal comes. */
static void test_a_signal_between_two_slices_is_not_lost(void **state)
{
	struct late l = {0};
	pthread_t thread;
	bool waits = false;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, wait_until_happened, &l), 0);
	while (!waits) {
		pthread_mutex_lock(&lock);
		waits = l.waits;
		if (waits) {
			clock_rest_us(50000);
			l.happened = true;
			pthread_cond_broadcast(&cond);
		}
		pthread_mutex_unlock(&lock);
	}
	eventually(l.over);
	pthread_join(thread, NULL);
}

/* ---- timers ---------------------------------------------------------------------------- */

static unsigned called;

static void on_time(void *timer)
{
	struct timer **t = timer;

	called++;
	*t = timer_free(*t);
}

/* Runs the loop long enough that it reads the clock a few times. */
static void run_a_while(sd_event *event)
{
	for (int i = 0; i < 4; i++)
		assert_true(sd_event_run(event, 8000) >= 0);
}

static void test_a_timer_goes_by_the_tests_time(void **state)
{
	struct timer *t = NULL;
	sd_event *event;

	(void)state;
	called = 0;
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(timer_start(&t, event, LIMIT, on_time, &t), 0);
	run_a_while(event);
	own_clock_advance(LIMIT - 1);
	run_a_while(event);
	assert_int_equal(called, 0);
	assert_int_equal(timer_start(&t, event, LIMIT, on_time, &t), 0);
	own_clock_advance(LIMIT - 1);
	run_a_while(event);
	assert_int_equal(called, 0);
	own_clock_advance(1);
	while (!called)
		assert_true(sd_event_run(event, UINT64_MAX) >= 0);
	assert_null(t);
	run_a_while(event);
	assert_int_equal(called, 1);
	sd_event_unref(event);
}

static void test_a_timer_goes_by_the_kernels_time(void **state)
{
	uint64_t until = clock_ms() + SHORT;
	struct timer *t = NULL;
	sd_event *event;

	(void)state;
	called = 0;
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(timer_start(&t, event, SHORT, on_time, &t), 0);
	while (!called)
		assert_true(sd_event_run(event, UINT64_MAX) >= 0);
	assert_true(clock_ms() >= until);
	assert_int_equal(timer_start(&t, event, LIMIT, on_time, &t), 0);
	t = timer_free(t); /* it may be freed while it runs */
	sd_event_unref(event);
}

/* ---- CPU time -------------------------------------------------------------------------- */

static void spin(uint64_t ms)
{
	while (clock_cpu_ms(getpid()) < ms)
		;
}

static void test_cpu_time_of_processes(void **state)
{
	siginfo_t end;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		spin(SHORT);
		_exit(0);
	}
	assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
	assert_true(clock_cpu_ms(child) >= SHORT); /* nobody has reaped it */
	assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED), 0);
	assert_int_equal(clock_cpu_ms(child), 0);
}

/* ---- the file ---------------------------------------------------------------------------- */

static void test_the_time_is_what_the_file_says(void **state)
{
	char path[] = "/tmp/test-clock-XXXXXX", expected[64];
	const uint64_t first[] = {12345678, 77}, then = first[0] + LIMIT;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	snprintf(expected, sizeof(expected), "VREAD_CLOCK=%s", path);
	setenv("VREAD_CLOCK", path, 1);
	assert_int_equal(clock_start(), -ENODATA); /* it is empty */
	whole_file_write(path, first, sizeof(first));
	assert_int_equal(clock_start(), 0);
	assert_string_equal(clock_setting(), expected);
	assert_int_equal(clock_ms(), first[0]);
	assert_int_equal(clock_cpu_ms(getpid()), 77);
	assert_int_equal(pwrite(fd, &then, sizeof(then), 0), sizeof(then));
	assert_int_equal(clock_ms(), then);
	assert_int_equal(clock_wall_ms(), then);
	clock_follow(NULL);
	close(fd);
	unlink(path);
	assert_int_equal(clock_start(), -ENOENT);
	unsetenv("VREAD_CLOCK");
	assert_int_equal(clock_start(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_kernels_time),
		cmocka_unit_test(test_waits_by_the_kernels_time),
		cmocka_unit_test(test_cpu_time_of_processes),
		cmocka_unit_test(test_a_timer_goes_by_the_kernels_time),
		cmocka_unit_test_setup_teardown(test_the_time_stands_still, setup_own,
						teardown_own),
		cmocka_unit_test_setup_teardown(test_a_limit_passes_when_the_test_says_so,
						setup_own, teardown_own),
		cmocka_unit_test_setup_teardown(
			test_what_happens_ends_a_wait_while_time_stands_still, setup_own,
			teardown_own),
		cmocka_unit_test_setup_teardown(test_a_signal_between_two_slices_is_not_lost,
						setup_own, teardown_own),
		cmocka_unit_test_setup_teardown(test_a_timer_goes_by_the_tests_time, setup_own,
						teardown_own),
		cmocka_unit_test(test_the_time_is_what_the_file_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's time, or a test's; see clock.h.  All files that need the time, or wait with a limit,
 * call it.
 */
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SLICE_MS 5U /* a wait sees the test's new time within this many ms */

/* A test's times; NULL: the kernel's. */
static const _Atomic uint64_t *given, *given_cpu;
static char *setting;

static uint64_t kernel_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

static uint64_t now_ms(clockid_t clock)
{
	return given ? atomic_load(given) : kernel_ns(clock) / 1000000;
}

static int map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	const _Atomic uint64_t *mapped = MAP_FAILED;
	size_t needed = 2 * sizeof(*mapped);
	int r = 0;

	if (fd >= 0)
		mapped = mmap(NULL, needed, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		r = -errno;
	} else if (size < (off_t)needed) {
		r = -ENODATA;
	} else {
		given = mapped;
		given_cpu = mapped + 1;
	}
	if (fd >= 0)
		close(fd);
	return r;
}

int clock_start(void)
{
	const char *path = secure_getenv(CLOCK_VARIABLE);
	int r = path ? map_file(path) : 0;

	if (path && r == 0 && asprintf(&setting, CLOCK_VARIABLE "=%s", path) < 0)
		r = -ENOMEM;
	return r;
}

void clock_follow(const _Atomic uint64_t *ms)
{
	given = ms;
	given_cpu = NULL;
}

const char *clock_setting(void)
{
	return setting;
}

uint64_t clock_ms(void)
{
	return now_ms(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ms(void)
{
	return now_ms(CLOCK_REALTIME);
}

uint64_t clock_cpu_ms(pid_t pid)
{
	clockid_t clock;

	if (given)
		return given_cpu ? atomic_load(given_cpu) : 0;
	return clock_getcpuclockid(pid, &clock) ? 0 : kernel_ns(clock) / 1000000;
}

int clock_slice(uint64_t until)
{
	uint64_t now, left;

	if (until == CLOCK_NEVER)
		return -1;
	now = clock_ms();
	left = until > now ? until - now : 0;
	if (given && left > SLICE_MS)
		left = SLICE_MS;
	return left > INT_MAX ? INT_MAX : (int)left;
}

/* True if a wait must go on: a signal ended it, or a slice passed without an event and `until` has
 * not come. */
static bool goes_on(int result, uint64_t until)
{
	return (result < 0 && errno == EINTR) || (result == 0 && clock_ms() < until);
}

int clock_poll(struct pollfd *fds, nfds_t count, uint64_t until)
{
	int r;

	do
		r = poll(fds, count, clock_slice(until));
	while (goes_on(r, until));
	return r;
}

int clock_epoll(int epoll, struct epoll_event *ret, uint64_t until)
{
	int r;

	do
		r = epoll_wait(epoll, ret, 1, clock_slice(until));
	while (goes_on(r, until));
	return r;
}

bool clock_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until)
{
	int slice = clock_slice(until);
	struct timespec end;

	if (slice < 0)
		return pthread_cond_wait(cond, mutex) == 0;
	end = timespec_of(kernel_ns(CLOCK_MONOTONIC) + (uint64_t)slice * 1000000);
	/* Return true at the end of a slice, too: the mutex was free meanwhile, so the awaited
	 * condition may hold although its signal found no waiter. */
	return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &end) != ETIMEDOUT ||
	       clock_ms() < until;
}

int clock_set_timerfd(int timerfd, uint64_t until)
{
	struct itimerspec at = {0};
	int flags = 0;

	if (until != CLOCK_NEVER && given) {
		at.it_value = at.it_interval = timespec_of(SLICE_MS * 1000000ULL);
	} else if (until != CLOCK_NEVER) {
		at.it_value = timespec_of(until * 1000000 + 1); /* 0 would disarm it */
		flags = TFD_TIMER_ABSTIME;
	}
	return timerfd_settime(timerfd, flags, &at, NULL) < 0 ? -errno : 0;
}

uint64_t clock_measure_ns(void)
{
	return kernel_ns(CLOCK_MONOTONIC);
}

uint64_t clock_file_ms(void)
{
	return kernel_ns(CLOCK_REALTIME) / 1000000;
}

void clock_rest_us(unsigned us)
{
	struct timespec t = timespec_of(us * 1000ULL);

	nanosleep(&t, NULL);
}

int clock_rest_poll(struct pollfd *fds, nfds_t count, int ms)
{
	return poll(fds, count, ms);
}

bool clock_rest_sem(sem_t *sem, unsigned ms)
{
	struct timespec end = timespec_of(kernel_ns(CLOCK_MONOTONIC) + ms * 1000000ULL);
	int r;

	do
		r = sem_clockwait(sem, CLOCK_MONOTONIC, &end);
	while (r < 0 && errno == EINTR);
	return r == 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements clock.h with the kernel's clock or a test's clock.
 *
 * With the kernel's clock, a wait is one system call.  With a test's clock, nobody wakes a waiting
 * thread when the test sets the clock forward.  So a wait is cut into brief ones of real time, and
 * the test's clock is read after each.
 */
#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ULL

static const uint64_t *test_ms; /* the test's clock; NULL: the kernel's clock counts */

__attribute__((constructor)) static void find_test_clock(void)
{
	const char *path = secure_getenv("VREAD_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	void *map;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size >= (off_t)sizeof(*test_ms)) {
		map = mmap(NULL, sizeof(*test_ms), PROT_READ, MAP_SHARED, fd, 0);
		test_ms = map == MAP_FAILED ? NULL : map;
	}
	close(fd);
}

uint64_t vclock_spinning(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t vclock_now(void)
{
	if (test_ms)
		return __atomic_load_n(test_ms, __ATOMIC_ACQUIRE) * VCLOCK_NS_PER_MS;
	return vclock_spinning();
}

uint64_t vclock_deadline(unsigned timeout_ms)
{
	return vclock_now() + timeout_ms * VCLOCK_NS_PER_MS;
}

static uint64_t ns_left(uint64_t deadline)
{
	uint64_t now = vclock_now();

	return now < deadline ? deadline - now : 0;
}

uint32_t vclock_ms_left(uint64_t deadline)
{
	uint64_t ns = ns_left(deadline), ms = ns / VCLOCK_NS_PER_MS + !!(ns % VCLOCK_NS_PER_MS);

	return ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

/* How long the kernel may wait before the clock is read again. */
static uint64_t wait_ns(uint64_t deadline, bool brief)
{
	uint64_t left = ns_left(deadline);

	return (test_ms || brief) && left > VCLOCK_BRIEF_NS ? VCLOCK_BRIEF_NS : left;
}

static struct timespec as_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

int vclock_poll(struct pollfd *fds, nfds_t count, uint64_t deadline, bool brief)
{
	int r;

	do {
		struct timespec limit = as_timespec(wait_ns(deadline, brief));

		r = ppoll(fds, count, &limit, NULL);
		if (r < 0 && errno == EINTR)
			r = 0;
	} while (!r && !brief && ns_left(deadline));
	return r;
}

void vclock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline, bool brief)
{
	bool cut = test_ms || brief;
	struct timespec until =
		as_timespec(cut ? vclock_spinning() + wait_ns(deadline, brief) : deadline);

	pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &until);
}

int vclock_connect(int sock, const struct sockaddr *address, socklen_t length, uint64_t deadline)
{
	do {
		uint64_t us = wait_ns(deadline, false) / 1000 + 1; /* 0 would mean no limit */
		struct timeval limit = {(time_t)(us / 1000000), (suseconds_t)(us % 1000000)};

		if (setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
			return -errno;
		if (!connect(sock, address, length))
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	} while (ns_left(deadline));
	return -ETIME;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements doorbell.h. */
#include "port/doorbell.h"

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <unistd.h>

int doorbell_watch(int eventfd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int epoll = epoll_create1(EPOLL_CLOEXEC), r;

	if (epoll < 0)
		return -errno;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, eventfd, &event) == 0)
		return epoll;
	r = -errno;
	close(epoll);
	return r;
}

int doorbell_take(int epoll)
{
	struct epoll_event event;

	while (epoll_wait(epoll, &event, 1, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Errors are ignored. EAGAIN: the counter is full, so the other end has an event anyway. EINTR: the
 * session is ending. */
void doorbell_ring(int eventfd)
{
	uint64_t one = 1;
	ssize_t n = write(eventfd, &one, sizeof(one));

	(void)n;
}

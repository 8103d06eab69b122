/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_port.c - link over a virtio-serial port.
 *
 * The port's driver reports POLLHUP, and read() returns 0, while nobody holds
 * the other end of the emulator's socket.
 */
#include "link_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A controller that did not come within a minute never will. */
#define CONNECT_TRIES 600
#define CONNECT_STEP_US 100000

static bool controller_present(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) >= 0 && !(p.revents & POLLHUP);
}

struct link *link_open_port(const char *path)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct link *link;

	if (fd < 0) {
		fprintf(stderr, "lab-agent: cannot open port %s: %s\n", path, strerror(errno));
		return NULL;
	}
	for (int i = 0; !controller_present(fd); i++) {
		if (i == CONNECT_TRIES) {
			fprintf(stderr, "lab-agent: nobody at the other end of %s\n", path);
			close(fd);
			return NULL;
		}
		usleep(CONNECT_STEP_US);
	}
	link = calloc(1, sizeof(*link));
	if (!link) {
		close(fd);
		return NULL;
	}
	link->fd = fd;
	return link;
}

ssize_t port_recv(struct link *link, void *data, size_t size)
{
	ssize_t n = read(link->fd, data, size);

	if (n > 0)
		return n;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

ssize_t port_send(struct link *link, const void *data, size_t size)
{
	ssize_t n = write(link->fd, data, size);

	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

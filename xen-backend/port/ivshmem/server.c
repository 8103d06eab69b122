// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements server.h. The event loop calls it. While there is no connection, it tries to connect
 * once a second.
 */
#include "port/ivshmem/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/timer.h"

#define RETRY_MS 1000U
#define MESSAGES_AT_ONCE 16U

static void try_later(struct ivshmem_server *s);

static void disconnect(struct ivshmem_server *s)
{
	s->io = sd_event_source_disable_unref(s->io);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static void lose(struct ivshmem_server *s, const char *why)
{
	disconnect(s);
	snprintf(s->last_error, sizeof(s->last_error), "%s", why);
	log_error("%s: %s: guests of KVM lose their devices until their QEMUs start again", s->path,
		  why);
	s->told = true;
	s->handlers->lost(s->ctx);
	try_later(s);
}

/* ---- messages ---------------------------------------------------------------------- */

/* Copies the descriptors of a message to fds; returns their number. */
static unsigned take_fds(struct msghdr *h, int fds[IVSHMEM_MAX_FDS])
{
	unsigned count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), count * sizeof(int));
	}
	return count;
}

/* Returns 1: a message was handled; 0: there is none; negative: the connection has ended. */
static int take_message(struct ivshmem_server *s)
{
	struct ivshmem_message m;
	struct iovec part = {&m, sizeof(m)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int) * IVSHMEM_MAX_FDS)];
	} rights;
	struct msghdr h = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = &rights,
			   .msg_controllen = sizeof(rights)};
	ssize_t n = recvmsg(s->fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fds[IVSHMEM_MAX_FDS];
	unsigned num_fds;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	num_fds = take_fds(&h, fds);
	if (n == sizeof(m) && !(h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
	    memchr(m.name, '\0', sizeof(m.name)))
		return s->handlers->message(s->ctx, &m, fds, num_fds) ? 1 : -EPROTO;
	for (unsigned i = 0; i < num_fds; i++)
		close(fds[i]);
	return n == 0 ? -ECONNRESET : -EPROTO;
}

static int on_server(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct ivshmem_server *s = userdata;
	int r = 1;

	(void)source, (void)fd, (void)events;
	for (unsigned i = 0; r == 1 && i < MESSAGES_AT_ONCE; i++)
		r = take_message(s);
	if (r < 0)
		lose(s, r == -EPROTO ? "vread-ivshmem sent a wrong message"
				     : "vread-ivshmem has ended");
	return 0;
}

/* ---- connecting -------------------------------------------------------------------- */

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	r = -errno;
	close(fd);
	return r;
}

static void try_now(void *server)
{
	struct ivshmem_server *s = server;
	int r = connect_to(s->path);

	if (r >= 0) {
		s->fd = r;
		r = sd_event_add_io(s->event, &s->io, s->fd, EPOLLIN, on_server, s);
	}
	/* GONE comes before what the workers find in memory that vread-ivshmem frees then. */
	if (r >= 0)
		r = sd_event_source_set_priority(s->io, SD_EVENT_PRIORITY_IMPORTANT);
	if (r >= 0) {
		log_info("%s: connected to vread-ivshmem", s->path);
		s->told = false;
		s->last_error[0] = '\0';
		return;
	}
	disconnect(s);
	snprintf(s->last_error, sizeof(s->last_error), "cannot connect to vread-ivshmem: %s",
		 strerror(-r));
	if (!s->told)
		log_warn("%s: %s; is vread-ivshmem.service running? vreadd tries again", s->path,
			 s->last_error);
	s->told = true;
	try_later(s);
}

static void try_later(struct ivshmem_server *s)
{
	int r;

	if (!s->started)
		return;
	r = timer_start(&s->retry, s->event, RETRY_MS, try_now, s);
	if (r)
		log_error("%s: cannot start a timer, so no guest of KVM is served: %s", s->path,
			  strerror(-r));
}

int ivshmem_server_prepare(struct ivshmem_server *s, sd_event *event, const char *path,
			   const struct ivshmem_server_handlers *handlers, void *ctx)
{
	*s = (struct ivshmem_server){.event = event, .handlers = handlers, .ctx = ctx, .fd = -1};
	s->path = strdup(path);
	return s->path ? 0 : -ENOMEM;
}

void ivshmem_server_start(struct ivshmem_server *s)
{
	if (s->started || !s->path[0])
		return;
	s->started = true;
	try_now(s);
}

void ivshmem_server_stop(struct ivshmem_server *s)
{
	s->started = false;
	s->retry = timer_free(s->retry);
}

void ivshmem_server_close(struct ivshmem_server *s)
{
	ivshmem_server_stop(s);
	disconnect(s);
	free(s->path);
	s->path = NULL;
}

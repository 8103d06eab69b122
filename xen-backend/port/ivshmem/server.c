// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements server.h. The event loop calls it. While there is no connection, it tries to connect
 * once a second.
 */
#include "port/ivshmem/server.h"

#include <errno.h>
#include <fcntl.h>
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
	s->waits = false;
	snprintf(s->last_error, sizeof(s->last_error), "%s", why);
	log_error("%s: %s: guests of KVM lose their devices until their QEMUs start again", s->path,
		  why);
	s->told = true;
	s->refused = false;
	s->handlers->lost(s->ctx);
	try_later(s);
}

/* Another vreadd has the guests. This one tries again, in case that the other one ends. */
static void be_refused(struct ivshmem_server *s)
{
	disconnect(s);
	snprintf(s->last_error, sizeof(s->last_error),
		 "another vreadd is connected to vread-ivshmem, and serves the guests of KVM");
	if (!s->refused)
		log_error("%s: %s; stop one of the two", s->path, s->last_error);
	s->told = s->refused = true;
	try_later(s);
}

/* ---- messages ---------------------------------------------------------------------- */

/* True if the descriptors of a message can be taken. Otherwise the kernel would drop some. */
static bool has_room(const struct ivshmem_server *s)
{
	int fds[IVSHMEM_MAX_FDS];
	unsigned n = 0;

	while (n < IVSHMEM_MAX_FDS && (fds[n] = fcntl(s->fd, F_DUPFD_CLOEXEC, 0)) >= 0)
		n++;
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
	return n == IVSHMEM_MAX_FDS;
}

/* True if the next message has descriptors, and there is no room for them. */
static bool must_wait(const struct ivshmem_server *s)
{
	struct ivshmem_message m;

	return recv(s->fd, &m, sizeof(m), MSG_PEEK | MSG_DONTWAIT) == sizeof(m) &&
	       m.kind == IVSHMEM_COME && !has_room(s);
}

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
	bool busy;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	num_fds = take_fds(&h, fds);
	busy = n == sizeof(m) && m.kind == IVSHMEM_BUSY;
	if (n == sizeof(m) && !busy && !(h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
	    memchr(m.name, '\0', sizeof(m.name)))
		return s->handlers->message(s->ctx, &m, fds, num_fds) ? 1 : -EPROTO;
	for (unsigned i = 0; i < num_fds; i++)
		close(fds[i]);
	if (busy)
		return -EBUSY;
	return n == 0 ? -ECONNRESET : -EPROTO;
}

static void go_on(void *server)
{
	struct ivshmem_server *s = server;

	sd_event_source_set_enabled(s->io, SD_EVENT_ON);
}

/* The guests that are there go on. Who comes or goes now waits for descriptors, too. */
static void wait_for_room(struct ivshmem_server *s)
{
	if (!s->waits) {
		snprintf(s->last_error, sizeof(s->last_error),
			 "out of file descriptors: a guest that has come waits; raise LimitNOFILE");
		log_error("%s: %s", s->path, s->last_error);
	}
	s->waits = true;
	if (timer_start(&s->retry, s->event, RETRY_MS, go_on, s) == 0)
		sd_event_source_set_enabled(s->io, SD_EVENT_OFF);
}

/* A message has come, so this is the vreadd that vread-ivshmem serves. */
static void end_waiting(struct ivshmem_server *s)
{
	if (s->waits)
		s->last_error[0] = '\0';
	s->waits = s->refused = false;
}

static int on_server(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct ivshmem_server *s = userdata;
	int r = 1;

	(void)source, (void)fd, (void)events;
	for (unsigned i = 0; r == 1 && i < MESSAGES_AT_ONCE; i++) {
		if (must_wait(s)) {
			wait_for_room(s);
			return 0;
		}
		r = take_message(s);
		if (r == 1)
			end_waiting(s);
	}
	if (r == -EBUSY)
		be_refused(s);
	else if (r < 0)
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
		if (!s->refused)
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

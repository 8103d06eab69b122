// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * connect.c - connects to the peer, authenticates both hosts and sends HELLO.
 *
 * Called by connection.c, on the link's thread.
 *
 * While the thread waits here, requests that are stopped or overdue are ended.
 */
#include "peer/asking/link_private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "peer/wire/socket.h"
#include "peer/wire/stream.h"
#include "peer/wire/tls.h"

/* Waits until fd is ready, or fails at the deadline. */
static int wait_connecting(struct link *l, int fd, short events, uint64_t deadline)
{
	for (;;) {
		struct pollfd fds[2] = {{.fd = fd, .events = events}};
		uint64_t next;
		int r = link_end_stopped(l);

		if (!r)
			r = link_end_overdue(l, &next);
		if (!r)
			r = link_wait_ready(l, fds, 1, next < deadline ? next : deadline);
		if (r)
			return r;
		if (fds[0].revents)
			return 0;
		if (clock_ms() >= deadline)
			return link_failed(l, -ETIMEDOUT, "no connection within %u ms",
					   l->settings.answer_timeout);
	}
}

/* A connected socket, or negative errno. */
static int connect_socket(struct link *l, uint64_t deadline)
{
	const struct address *a = &l->to;
	int fd = socket(a->socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error = 0, r = 0;
	socklen_t size = sizeof(error);

	if (fd < 0)
		return link_failed(l, -errno, "cannot create a socket: %s", strerror(errno));
	socket_set_options(fd, 10 * l->settings.answer_timeout);
	if (connect(fd, (const struct sockaddr *)&a->socket, a->length) < 0) {
		if (errno == EINPROGRESS) {
			r = wait_connecting(l, fd, POLLOUT, deadline);
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
		} else {
			error = errno;
		}
	}
	if (!r && error)
		r = link_failed(l, -error, "cannot connect: %s", strerror(error));
	if (!r)
		return fd;
	close(fd);
	return r;
}

static int authenticate(struct link *l, struct tls *tls, uint64_t deadline)
{
	for (;;) {
		int r = tls_handshake(tls);

		if (r < 0)
			return link_failed(l, r, "not accepted as %s: %s", l->settings.name,
					   tls_error(tls));
		if (r > 0)
			return 0;
		r = wait_connecting(l, tls_fd(tls), (short)(POLLIN | tls_wants(tls)), deadline);
		if (r)
			return r;
	}
}

static int say_hello(struct link *l)
{
	uint8_t message[MESSAGE_MAX];
	struct message_hello m = {MESSAGE_VERSION, 0, 0};

	m.transports = (uint16_t)l->asked_transports;
	return link_send(l, message, message_put_hello(message, &m));
}

static void set_state(struct link *l, enum link_state state)
{
	pthread_mutex_lock(&l->lock);
	l->state = state;
	pthread_mutex_unlock(&l->lock);
}

int link_open_connection(struct link *l, uint64_t deadline)
{
	int fd = connect_socket(l, deadline), r;
	struct tls *tls;

	if (fd < 0)
		return fd;
	l->asked_transports = link_usable_transports(l);
	tls = tls_new(l->settings.tls, fd, l->settings.name);
	if (!tls)
		return link_failed(l, -ENOMEM, "out of memory");
	if ((l->asked_transports & MESSAGE_TRANSPORT_FRAMES) && !tls_expect_frames(tls)) {
		tls_free(tls);
		return link_failed(l, -ENOMEM, "out of memory");
	}
	r = authenticate(l, tls, deadline);
	if (r) {
		tls_free(tls);
		return r;
	}
	set_state(l, LINK_AUTHENTICATED);
	if (tls_export(tls, RDMA_SECRET_LABEL, (uint8_t *)&l->secret, sizeof(l->secret))) {
		r = link_failed(l, -EIO, "cannot derive the secret of RDMA: %s", tls_error(tls));
		tls_free(tls);
		return r;
	}
	l->transport = stream_new(tls, &link_transport_user, l);
	if (!l->transport) {
		tls_free(tls);
		return link_failed(l, -ENOMEM, "out of memory");
	}
	return say_hello(l);
}
